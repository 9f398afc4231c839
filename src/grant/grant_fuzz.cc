// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "grant/grant.h"

// Any ids against a resource of two devices: a grant names only devices that
// were asked for, each once, and an error fits into a status message.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::vector<std::string> words =
      tranche::split({reinterpret_cast<const char*>(data), size}, '\n');
  const tranche::Offer offer{
      .name = tranche::ResourceName("nvidia.com/gpu"),
      .devices = {{.uuid = "GPU-a", .gpu = tranche::GpuUuid("GPU-a"), .minor = 0, .replicas = 3},
                  {.uuid = "GPU-b", .gpu = tranche::GpuUuid("GPU-b"), .minor = 1}}};
  const auto granted =
      tranche::grant(offer, {.pass_device_specs = true}, {}, {words.begin(), words.end()});
  if (!granted) {
    if (granted.error().message.size() > 1000) std::abort();
    return 0;
  }
  if (granted->nodes.empty() || granted->nodes.size() > 2) std::abort();
  return 0;
}
