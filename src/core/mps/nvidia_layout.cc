// SPDX-License-Identifier: Apache-2.0
#include "core/mps/nvidia_layout.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "base/text.h"
#include "core/mps/client_limits.h"

namespace tranche::core {
namespace {

// NVIDIA's default, if the memory is not known.
constexpr const char* kSmallestShm = "65536k";

MpsDaemonPlan daemon_for(const Offer& offer, const std::string& root) {
  MpsDaemonPlan daemon{.name = offer.name.text,
                       .folder = fmt::format("{}/{}", root, offer.name.text),
                       .keep_pipe = true};
  // As NVIDIA's: these GPUs can be used only through the daemon.
  daemon.exclusive = true;
  unsigned replicas = 1;
  for (const OfferedDevice& device : offer.devices) {
    if (device.is_mig()) continue;
    daemon.devices.push_back(device.uuid);
    const std::uint64_t part = device.memory_bytes / device.shares();
    daemon.limits.push_back(part > 0 ? std::optional(part) : std::nullopt);
    // One percentage for all devices: that of the device with the fewest shares would let clients
    // of the others overlap.
    replicas = std::max(replicas, device.shares());
  }
  daemon.thread_percentage = nvidia_thread_percentage(replicas);
  return daemon;
}

bool is_ready(const MpsReport& report, const MpsDaemonPlan& plan) {
  return std::ranges::any_of(report.daemons, [&](const MpsDaemonStatus& status) {
    return status.plan == plan && status.state == MpsState::kReady;
  });
}

}  // namespace

MpsPlan plan_nvidia_layout(const Catalog& catalog, const std::string& root) {
  MpsPlan plan;
  for (const Offer& offer : catalog.offers) {
    if (!offer.is_replicated()) continue;
    MpsDaemonPlan daemon = daemon_for(offer, root);
    if (!daemon.devices.empty()) plan.daemons.push_back(std::move(daemon));
  }
  return plan;
}

NvidiaMarkers nvidia_markers(const MpsPlan& plan, const MpsReport& report,
                             const std::string& root) {
  NvidiaMarkers markers;
  bool all = !plan.daemons.empty();
  for (const MpsDaemonPlan& daemon : plan.daemons) {
    const bool ready = is_ready(report, daemon);
    (ready ? markers.present : markers.absent).push_back(daemon.folder + "/.started");
    all = all && ready;
  }
  (all ? markers.present : markers.absent).push_back(root + "/.ready");
  return markers;
}

std::string shm_options(std::string_view meminfo) {
  std::string size = kSmallestShm;
  for (const std::string& line : split(meminfo, '\n')) {
    if (!line.starts_with("MemTotal:") || !line.ends_with(" kB")) continue;
    const std::string_view number = trim(std::string_view(line).substr(9, line.size() - 9 - 3));
    const auto total = parse_number<std::uint64_t>(number);
    if (total && *total > 1) size = fmt::format("{}k", *total / 2);
  }
  return "size=" + size;
}

}  // namespace tranche::core
