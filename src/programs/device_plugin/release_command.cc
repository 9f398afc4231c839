// SPDX-License-Identifier: Apache-2.0
#include "programs/device_plugin/release_command.h"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "base/text.h"
#include "programs/device_plugin/gpu_words.h"

namespace tranche::programs {
namespace {

// Those of ours that have one of the GPUs, or a MIG device of one.
std::vector<std::string> daemons_on(const std::vector<Gpu>& gpus, const NodeStatus& status) {
  std::vector<std::string> names;
  for (const MpsDaemonStatus& daemon : status.mps) {
    const bool is_here = std::ranges::any_of(daemon.plan.devices, [&](const std::string& device) {
      return std::ranges::any_of(gpus, [&](const Gpu& gpu) {
        return gpu.uuid.text == device ||
               std::ranges::find(gpu.mig, MigUuid(device), &MigDevice::uuid) != gpu.mig.end();
      });
    });
    if (is_here) names.push_back(daemon.plan.name);
  }
  return names;
}

std::optional<std::vector<PlacedHolding>> holdings_in(const NodeStatus& status) {
  if (!status.ledger) return std::nullopt;
  return placed_holdings(status.catalog, *status.ledger);
}

ReleaseReport report_on(const std::vector<GpuUuid>& named, const Inventory& inventory,
                        const NodeStatus& status) {
  ReleaseReport report{.node = status.node_name};
  for (const Gpu& gpu : inventory.gpus) {
    const bool is_named = named.empty() || std::ranges::find(named, gpu.uuid) != named.end();
    if (is_named) report.gpus.push_back(gpu);
  }
  report.all_gpus = report.gpus.size() == inventory.gpus.size();
  report.holdings = holdings_in(status);
  report.mps_daemons = daemons_on(report.gpus, status);
  return report;
}

// The kubelet's records show that a pod has ended some seconds after it has.
constexpr std::chrono::seconds kEndedPods{6};
// How long an end of ours may have to wait.
constexpr std::chrono::milliseconds kSlice{100};

}  // namespace

// The pods that somebody deleted just before are not to be named.
void ReleaseCommand::wait_for_ended_pods(ReleaseReport& report) {
  const auto end = std::chrono::steady_clock::now() + kEndedPods;
  std::uint64_t seen = 0;
  sources_.ask_kubelet_soon();
  while (is_held(report) && !is_ending_ && std::chrono::steady_clock::now() < end) {
    const LatestStatus::Versioned latest = sources_.status.wait_newer(seen, kSlice);
    if (latest.version != seen) report.holdings = holdings_in(**latest.value);
    seen = latest.version;
  }
}

void ReleaseCommand::end() {
  is_ending_ = true;
  scanner_.end_waits();
}

Result<std::string> ReleaseCommand::release(const std::vector<std::string>& words) {
  const Inventory inventory = *sources_.inventory.get().value;
  Result<std::vector<GpuUuid>> named = gpus_named(words, inventory);
  if (!named) return named.error().in("node " + (*sources_.status.get().value)->node_name);
  // Before the driver is closed: the log has who was on the GPUs at that moment.
  ReleaseReport report = report_on(*named, inventory, **sources_.status.get().value);
  for (const Gpu& gpu : report.gpus) {
    log_.info("release asked for", {{"gpu", gpu.uuid.text},
                                    {"index", std::to_string(gpu.index)},
                                    {"pci", gpu.pci ? to_string(*gpu.pci) : "not known"},
                                    {"held", join(holders_on(gpu, report), "; ")}});
  }
  report.patience = patience_;
  report.follows_kernel_log = scanner_.follows_kernel_log();
  report.still_open = scanner_.wait_for(scanner_.release(*std::move(named)), patience_);
  wait_for_ended_pods(report);
  report.not_kept = scanner_.release_not_kept();
  report.users = device_users(host_.root(), device_nodes_of(report.gpus));
  return release_answer(report);
}

Result<std::string> ReleaseCommand::resume() {
  ResumeReport report{.node = (*sources_.status.get().value)->node_name,
                      .was_released = scanner_.is_released(),
                      .released = sources_.inventory.get().value->released};
  if (!report.was_released) return resume_answer(report);
  report.waits_for = scanner_.wait_for(scanner_.resume(), patience_);
  report.inventory = *sources_.inventory.get().value;
  return resume_answer(report);
}

}  // namespace tranche::programs
