// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "core/report/prediction.h"
#include "formats/gpu_node_json.h"

// A status that is parsed survives a round trip, and can be used for predictions.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tranche::formats;  // NOLINT(google-build-using-namespace)
  const auto reading = parse_gpu_node_status({reinterpret_cast<const char*>(data), size});
  if (!reading) return 0;
  const std::string once = gpu_node_status(reading->node);
  const auto again = parse_gpu_node_status(once);
  if (!again || gpu_node_status(again->node) != once) std::abort();
  std::size_t shares = 0;
  for (const tranche::core::ReportedResource& resource : reading->node.resources) {
    shares += resource.offer.shares();
    if (shares > 10'000) break;
    shares += tranche::core::predict(resource, reading->node.topology, 2) ? 1 : 0;
  }
  return 0;
}
