// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "os/settings/memory_size.h"

// A size that is accepted is in bounds, and survives a round trip.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto bytes = tranche::os::parse_memory_size(text);
  if (!bytes) return 0;
  if (*bytes == 0 || *bytes > tranche::os::kMostMemory) std::abort();
  const auto again = tranche::os::parse_memory_size(tranche::os::memory_size_text(*bytes));
  if (!again || *again != *bytes) std::abort();
  return 0;
}
