// SPDX-License-Identifier: Apache-2.0
//
// Any file content gives an error or a sorted list without empty holdings; the holdings of one
// resource are a part of those of all.
#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "formats/checkpoint.h"

// NOLINTNEXTLINE(readability-identifier-naming)
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast)
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto all = tranche::formats::parse_checkpoint(text, {});
  if (!all) return 0;
  if (!std::ranges::is_sorted(*all)) std::abort();
  for (const tranche::formats::Holding& holding : *all) {
    if (holding.shares.empty() || holding.resource.empty()) std::abort();
  }
  if (all->empty()) return 0;
  const std::string name = all->front().resource;
  const auto some = tranche::formats::parse_checkpoint(text, {name});
  if (!some) std::abort();
  const auto count = std::ranges::count(*all, name, &tranche::formats::Holding::resource);
  if (some->size() != static_cast<std::size_t>(count)) std::abort();
  return 0;
}
