// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "nested/nested_grant.h"

// What is read is written the same way again.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto grant =
      tranche::parse_nested_grant(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!grant) return 0;
  const auto again = tranche::parse_nested_grant(tranche::to_json(*grant));
  if (!again || tranche::to_json(*again) != tranche::to_json(*grant)) std::abort();
  return 0;
}
