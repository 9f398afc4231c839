// SPDX-License-Identifier: Apache-2.0
#include "core/grant/mps_grant.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/text.h"

namespace tranche::core {
namespace {

// One number for all of the container's devices, so it is the smallest share.
std::string smallest_percentage(const GrantRequest& request) {
  const auto smallest =
      std::ranges::min_element(request.devices, [](const HeldDevice& a, const HeldDevice& b) {
        return std::uint64_t{a.shares} * b.device->shares() <
               std::uint64_t{b.shares} * a.device->shares();
      });
  return thread_percentage(smallest->shares, smallest->device->shares());
}

// "0=20480M", or by uuid where the daemon's numbering is not known.
std::string memory_limit(const HeldDevice& held, const MpsWiring& wiring) {
  return fmt::format("{}={}M", wiring.ordinal ? std::to_string(*wiring.ordinal) : held.device->uuid,
                     held.mib());
}

std::string small_share(const HeldDevice& held) {
  return fmt::format(
      "{} MiB of {} are requested, and a CUDA context alone takes up to about 520 MiB of them; a "
      "process may find no memory left",
      held.mib(), describe(*held.device));
}

Result<const MpsWiring*> wiring_of(const GrantRequest& request, const OfferedDevice& device) {
  const auto found = request.facts.mps.find(device.uuid);
  if (found == request.facts.mps.end()) {
    return unavailable(
        request.offer,
        fmt::format("no MPS daemon serves {}, and MPS must limit its shares: see the agent's log",
                    describe(device)));
  }
  if (!found->second.problem.empty()) {
    return unavailable(request.offer, fmt::format("the MPS daemon of {}: {}", describe(device),
                                                  found->second.problem));
  }
  return &found->second;
}

bool is_same_daemon(const MpsWiring& a, const MpsWiring& b) {
  return a.pipe_directory == b.pipe_directory && a.mounts == b.mounts;
}

}  // namespace

std::string thread_percentage(unsigned part, unsigned whole) {
  const std::uint64_t tenths =
      std::clamp<std::uint64_t>(std::uint64_t{1000} * part / std::max(whole, 1U), 1, 1000);
  std::string text = std::to_string(tenths / 10);
  if (tenths % 10 != 0) text += fmt::format(".{}", tenths % 10);
  return text;
}

Status add_mps(const GrantRequest& request, ContainerGrant& grant) {
  const MpsWiring* first = nullptr;
  std::vector<std::string> limits;
  for (const HeldDevice& held : request.devices) {
    const Result<const MpsWiring*> wiring = wiring_of(request, *held.device);
    if (!wiring) return wiring.error();
    if (first == nullptr) first = *wiring;
    if (!is_same_daemon(*first, **wiring)) {
      return refusal(
          request.offer,
          fmt::format("{} and {} have an MPS daemon each, and a container can use only one: "
                      "request shares that one GPU has free, or run one daemon for the node",
                      describe(*request.devices.front().device), describe(*held.device)));
    }
    if (held.bytes() > 0) limits.push_back(memory_limit(held, **wiring));
    // For replicas the note is made once, when they are offered.
    if (request.offer.terms.form == ShareForm::kMemory && held.bytes() < kSmallShareBytes) {
      grant.warnings.push_back(small_share(held));
    }
  }
  grant.env["CUDA_MPS_PIPE_DIRECTORY"] = first->pipe_directory;
  for (const MpsWiring::Mount& mount : first->mounts) {
    grant.mounts.push_back({mount.container_path, mount.host_path, mount.read_only});
  }
  if (first->limits_are_the_daemons) return Done{};
  grant.env["CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"] = smallest_percentage(request);
  if (!limits.empty()) grant.env["CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"] = join(limits, ",");
  return Done{};
}

}  // namespace tranche::core
