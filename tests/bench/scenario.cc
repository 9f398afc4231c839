// SPDX-License-Identifier: Apache-2.0
#include "bench/scenario.h"

namespace tranche::bench {
namespace {

// Longer than anything the agent does now and then takes to come round.
constexpr std::chrono::seconds kRest{30};

// The agent's heartbeat at the API server comes once in this time.
constexpr std::chrono::minutes kHeartbeat{3};

Scenario small(Scenario scenario) {
  scenario.starts = 1;
  scenario.allocations = 20;
  scenario.preferences = 20;
  scenario.settle = std::chrono::milliseconds(0);
  if (scenario.rest.count() > 0) scenario.rest = std::chrono::milliseconds(100);
  return scenario;
}

}  // namespace

std::vector<Scenario> scenarios(bool quick) {
  const Scenario whole{.name = "8 GPUs", .world = "hgx-h200", .wanted = 4, .rest = kRest};
  const Scenario hundred{.name = "8 GPUs x 100", .world = "hgx-h200", .replicas = 100};
  const Scenario linked{.name = "16 GPUs, full topology", .world = "dgx2-v100", .wanted = 8};
  // A container's units come from one GPU: the one that they fit best.
  const Scenario memory{.name = "8 GPUs by GiB", .world = "hgx-h200", .unit = "1GiB", .wanted = 40};
  if (quick) return {small(whole), small(hundred), small(memory), small(linked)};
  const Scenario thousand{
      .name = "8 GPUs x 1,000", .world = "hgx-h200", .replicas = 1000, .preferences = 1000};
  // As many as the kubelet takes in one message, but for a few hundred.
  const Scenario most{.name = "8 GPUs x 7,000",
                      .world = "hgx-h200",
                      .replicas = 7000,
                      .preferences = 300,
                      .rest = kRest};
  const Scenario fine_memory{.name = "8 GPUs by 256 MiB",
                             .world = "hgx-h200",
                             .unit = "256MiB",
                             .wanted = 160,
                             .preferences = 1000};
  return {whole, hundred, thousand, most, memory, fine_memory, linked};
}

ApiScenario api_scenario(bool quick) {
  const Scenario node{.world = "hgx-h200", .replicas = 100, .rest = kHeartbeat};
  if (quick) return {.name = "8 GPUs x 100, 8 pods", .node = small(node), .pods = 8};
  return {.name = "8 GPUs x 100, 100 pods", .node = node, .pods = 100};
}

std::string config_of(const Scenario& scenario) {
  if (!scenario.unit.empty()) {
    return "version: v1\ntranche: {policies: [{resource: example.com/gpu-memory, share: memory, "
           "unit: " +
           scenario.unit + "}]}\n";
  }
  if (scenario.replicas == 0) return {};
  return "version: v1\nsharing: {timeSlicing: {resources: [{name: gpu, replicas: " +
         std::to_string(scenario.replicas) + "}]}}\n";
}

}  // namespace tranche::bench
