// SPDX-License-Identifier: Apache-2.0
//
// Every listed path is absolute and contained in the bytes.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "formats/ld_cache.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  for (const std::string& path : tranche::formats::ld_cache_libraries(bytes)) {
    if (!path.starts_with('/') || bytes.find(path) == std::string_view::npos) std::abort();
  }
  return 0;
}
