// SPDX-License-Identifier: Apache-2.0
#include "programs/device_plugin/release.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "programs/device_plugin/gpu_words.h"

namespace tranche::programs {
namespace {

void add_processes(const ReleaseReport& report, std::vector<std::string>& lines) {
  for (const DeviceUser& user : report.users.found) {
    lines.push_back(
        fmt::format("{} is open in process {} ({})", user.node, user.pid, user.program));
  }
  const std::vector<std::string> nodes = device_nodes_of(report.gpus);
  if (report.users.is_complete || nodes.empty()) return;
  lines.push_back("not every process of the node can be seen from here; on the node, `fuser -v " +
                  join(nodes, " ") + "` shows all that have the GPU open");
}

std::string health_line(const Gpu& gpu, const Inventory& inventory) {
  if (gpu.health.ok()) return gpu_title(gpu) + ": healthy";
  std::string line = gpu_title(gpu) + ": unhealthy";
  for (const std::string& trouble : gpu.health.troubles) {
    line += "\n  " + trouble;
    const auto remedy = std::ranges::find_if(inventory.remedies, [&](const Remedy& candidate) {
      return candidate.device == gpu.uuid.text && candidate.trouble == trouble;
    });
    if (remedy != inventory.remedies.end()) line += "\n    cleared by: " + remedy->what;
  }
  return line;
}

bool is_on(const Gpu& gpu, const PlacedHolding& placed) {
  return std::ranges::any_of(placed.devices, [&](const DeviceHolding& device) {
    return device.gpu == gpu.uuid.text || device.device == gpu.uuid.text;
  });
}

}  // namespace

bool is_held(const ReleaseReport& report) {
  return report.holdings && std::ranges::any_of(report.gpus, [&](const Gpu& gpu) {
           return std::ranges::any_of(
               *report.holdings, [&](const PlacedHolding& placed) { return is_on(gpu, placed); });
         });
}

std::vector<std::string> holders_on(const Gpu& gpu, const ReleaseReport& report) {
  if (!report.holdings) return {"which pods hold it is not known"};
  std::vector<std::string> lines;
  for (const PlacedHolding& placed : *report.holdings) {
    if (!is_on(gpu, placed)) continue;
    lines.push_back("held by " + to_string(placed.holding.holder) + ", as " +
                    placed.holding.resource + "; delete this pod before a reset");
  }
  if (lines.empty()) lines.emplace_back("no pod holds it");
  return lines;
}

std::vector<std::string> device_nodes_of(const std::vector<Gpu>& gpus) {
  std::vector<std::string> nodes;
  for (const Gpu& gpu : gpus) {
    if (gpu.minor) nodes.push_back("/dev/nvidia" + std::to_string(*gpu.minor));
  }
  return nodes;
}

std::chrono::milliseconds release_patience(std::chrono::milliseconds driver_call_timeout) {
  return std::min<std::chrono::milliseconds>(driver_call_timeout * 4, std::chrono::seconds(20));
}

Result<std::string> release_answer(const ReleaseReport& report) {
  std::vector<std::string> lines{"node " + report.node};
  for (const Gpu& gpu : report.gpus) {
    lines.push_back("released " + gpu_title(gpu));
    for (const std::string& holder : holders_on(gpu, report)) lines.push_back("  " + holder);
  }
  for (const std::string& daemon : report.mps_daemons) {
    lines.push_back("MPS daemon " + daemon +
                    " stays on its GPU, for its clients; to reset the GPU, take MPS off it in the "
                    "configuration first, or drain the node and reboot it");
  }
  add_processes(report, lines);
  if (!report.still_open.empty()) {
    lines.push_back(
        fmt::format("driver NOT closed after {} ms: {}; do not reset yet. The release is in force: "
                    "the driver is closed when the call returns, and 'release' again says so",
                    report.patience.count(), report.still_open));
    return Error{ErrorCode::kUnavailable, join(lines, "\n")};
  }
  lines.emplace_back("driver closed");
  if (!report.all_gpus) {
    lines.emplace_back(
        report.follows_kernel_log
            ? "the other GPUs stay offered; until 'resume' their faults are read from the kernel "
              "log only"
            : "the kernel's log cannot be read, so no GPU is healthy until 'resume'");
  }
  lines.push_back(report.not_kept.empty()
                      ? "'resume' reopens it; restarting the agent does not"
                      : "run 'resume' to reopen it. A restart of the agent would, too, because the "
                        "release cannot be kept: " +
                            report.not_kept);
  return join(lines, "\n");
}

Result<std::string> resume_answer(const ResumeReport& report) {
  const std::string node = "node " + report.node + "\n";
  if (!report.was_released) return node + "nothing is released here, so there is nothing to resume";
  const std::string& trouble =
      report.waits_for.empty() ? report.inventory.driver_trouble : report.waits_for;
  if (!trouble.empty()) {
    return Error{ErrorCode::kUnavailable,
                 node + "the release has ended, but the driver cannot be read yet: " + trouble +
                     "; the agent keeps trying"};
  }
  std::vector<std::string> lines{"driver open"};
  for (const GpuUuid& uuid : report.released) {
    const Gpu* gpu = find_gpu(report.inventory, uuid);
    lines.push_back(gpu != nullptr ? health_line(*gpu, report.inventory)
                                   : uuid.text + " is no longer in this node");
  }
  return node + join(lines, "\n");
}

}  // namespace tranche::programs
