// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "core/grant/grant.h"

namespace {

using namespace tranche::core;  // NOLINT(google-build-using-namespace)

constexpr std::uint64_t kGiB = 1ULL << 30;

const NodeFacts& facts() {
  static const NodeFacts node{
      .control_nodes = {"/dev/nvidiactl", "/dev/nvidia-uvm"},
      .mps = {{"GPU-a", {.pipe_directory = "/a"}}, {"GPU-b", {.pipe_directory = "/b"}}},
      .driver_limits_memory = true};
  return node;
}

Offer offer_on(const Terms& terms) {
  return {.name = ResourceName("nvidia.com/gpu"),
          .devices = {{.uuid = "GPU-a",
                       .gpu = GpuUuid("GPU-a"),
                       .minor = 0,
                       .replicas = 3,
                       .share_bytes = kGiB},
                      {.uuid = "GPU-b", .gpu = GpuUuid("GPU-b"), .minor = 1, .share_bytes = kGiB}},
          .terms = terms};
}

// A grant names only requested devices, each once, with limits that are not 0; an error fits into
// a status message.
void check(const Terms& terms, const std::vector<std::string_view>& ids) {
  const Offer offer = offer_on(terms);
  const auto granted = grant(offer, {.pass_device_specs = true}, facts(), ids);
  if (!granted) {
    if (granted.error().message.size() > 1000) std::abort();
    return;
  }
  const std::size_t devices = granted->nodes.size() - facts().control_nodes.size();
  if (devices < 1 || devices > 2) std::abort();
  // Two devices have two daemons here, and a container talks to one.
  const bool one_only =
      terms.enforcement == Enforcement::kMps || terms.enforcement == Enforcement::kMpsExclusive;
  if (one_only && devices != 1) std::abort();
  for (const auto& [name, value] : granted->env) {
    if (name.empty() || value.empty() || value == "0") {
      if (name != "ALIYUN_COM_GPU_MEM_IDX") std::abort();
    }
  }
}

}  // namespace

// Any ids against a resource of two devices, in every convention and with every enforcement
// level.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::vector<std::string> words =
      tranche::core::split({reinterpret_cast<const char*>(data), size}, '\n');
  const std::vector<std::string_view> ids(words.begin(), words.end());
  for (const Dialect dialect :
       {Dialect::kNvidia, Dialect::kDeepomatic, Dialect::kGcp, Dialect::kGpushare}) {
    for (const Enforcement enforcement : {Enforcement::kNone, Enforcement::kMps,
                                          Enforcement::kMpsExclusive, Enforcement::kDriver}) {
      for (const ShareForm form : {ShareForm::kReplicas, ShareForm::kMemory}) {
        check({.form = form, .dialect = dialect, .enforcement = enforcement}, ids);
      }
    }
  }
  return 0;
}
