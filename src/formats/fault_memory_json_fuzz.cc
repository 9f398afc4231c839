// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "inventory/fault_memory.h"

// A file that is understood says the same when it is written again.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto state = tranche::parse_fault_memory({reinterpret_cast<const char*>(data), size});
  if (!state) return 0;
  const std::string once = tranche::to_fault_memory(*state);
  const auto again = tranche::parse_fault_memory(once);
  if (!again || tranche::to_fault_memory(*again) != once) std::abort();
  return 0;
}
