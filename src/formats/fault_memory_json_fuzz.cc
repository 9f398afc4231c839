// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "formats/fault_memory_json.h"

// A file that is parsed survives a round trip.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto state =
      tranche::formats::parse_fault_memory({reinterpret_cast<const char*>(data), size});
  if (!state) return 0;
  const std::string once = tranche::formats::to_fault_memory(*state);
  const auto again = tranche::formats::parse_fault_memory(once);
  if (!again || tranche::formats::to_fault_memory(*again) != once) std::abort();
  return 0;
}
