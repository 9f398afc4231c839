// SPDX-License-Identifier: Apache-2.0
//
// For any bytes, the name is one in them or the file's own, and no path.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "node/cdi/elf_soname.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const tranche::node::ReadAt read_at = [&](std::uint64_t offset, std::size_t count) {
    return offset > bytes.size() ? std::string() : std::string(bytes.substr(offset, count));
  };
  const auto name = tranche::node::elf_soname(read_at, "own");
  if (name && (name->empty() || name->find('/') != std::string::npos)) std::abort();
  if (name && *name != "own" && bytes.find(*name) == std::string_view::npos) std::abort();
  return 0;
}
