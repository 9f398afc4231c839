// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "core/sharing/share_id.h"

// An id that is parsed is written the same way.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto parsed = tranche::core::parse_share_id(text);
  if (parsed && tranche::core::share_id(parsed->device, parsed->tag, parsed->replica) != text) {
    std::abort();
  }
  return 0;
}
