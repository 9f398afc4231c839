// SPDX-License-Identifier: Apache-2.0
//
// Only a virtual GPU has a host, and its texts are contained in the bytes.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "formats/pci_config.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto found = tranche::formats::parse_vgpu_capability(bytes);
  if (!found) return 0;
  if (!found->is_vgpu && found->host != tranche::core::VgpuHost{}) std::abort();
  if (bytes.find(found->host.driver_version) == std::string_view::npos) std::abort();
  if (bytes.find(found->host.driver_branch) == std::string_view::npos) std::abort();
  return 0;
}
