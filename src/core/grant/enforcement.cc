// SPDX-License-Identifier: Apache-2.0
#include "core/grant/enforcement.h"

#include <fmt/core.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "core/grant/mps_grant.h"
#include "core/grant/parts.h"

namespace tranche::core {
namespace {

// A hook of NVIDIA's container toolkit: it reads a container's variables and has the driver limit
// the container's cgroup.
constexpr std::string_view kLimitHook = "apply-cuda-memory-limits";

bool has_mig(const Offer& offer) {
  return std::ranges::any_of(offer.devices, &OfferedDevice::is_mig);
}

bool counts_memory(const Offer& offer) {
  return std::ranges::all_of(offer.devices,
                             [](const OfferedDevice& device) { return device.share_bytes > 0; });
}

// Resources that NVIDIA's plugin would offer under the same ids: containers must get the
// same as with that plugin.
bool is_nvidias_own(const Offer& offer) {
  const Terms& terms = offer.terms;
  return terms.dialect == Dialect::kNvidia && terms.form != ShareForm::kMemory && !terms.demanded &&
         std::ranges::all_of(offer.devices,
                             [](const OfferedDevice& device) { return device.tag.empty(); });
}

// A whole device needs no limit, unless only a part of it was granted to us. Only a policy
// can demand one nevertheless.
bool needs_no_limit(const Offer& offer) {
  if (std::ranges::any_of(offer.devices, &OfferedDevice::partial)) return false;
  return offer.terms.form == ShareForm::kWhole || is_nvidias_own(offer);
}

bool gets_bare_nodes(Dialect dialect) {
  return dialect == Dialect::kDeepomatic || dialect == Dialect::kGcp;
}

std::string driver_problem(const Offer& offer, const Enforcers& node) {
  if (!node.driver_limits_memory) {
    const std::string driver =
        node.driver_version.empty() ? "the driver" : "driver " + node.driver_version;
    if (!node.limits_unknown.empty()) {
      return fmt::format("it is not known whether {} limits memory: {}; it is asked again", driver,
                         node.limits_unknown);
    }
    return driver + " has no nvmlDeviceSetMemoryLimits_v1; r615 or newer has";
  }
  if (!node.no_driver_hook.empty()) return node.no_driver_hook;
  if (gets_bare_nodes(offer.terms.dialect) && !node.by_cdi) {
    return "its containers get device nodes and pass no hook that would set the limit; use the "
           "device list strategy cdi-cri";
  }
  if (has_mig(offer)) return "the driver sets no such limits on MIG devices";
  if (!counts_memory(offer)) return "its shares have no memory size";
  return {};
}

std::string exclusive_problem(const Offer& offer, const Enforcers& node) {
  if (!node.no_mps.empty()) return node.no_mps;
  if (has_mig(offer)) return "MIG devices have no compute mode";
  return node.no_exclusive;
}

// Why the node cannot enforce this level for the offer; empty: it can.
std::string problem(Enforcement enforcement, const Offer& offer, const Enforcers& node) {
  switch (enforcement) {
    case Enforcement::kNone: return {};
    case Enforcement::kMps: return node.no_mps;
    case Enforcement::kMpsExclusive: return exclusive_problem(offer, node);
    case Enforcement::kDriver: return driver_problem(offer, node);
  }
  return "there is no such enforcement";
}

// The hook sets one limit on all of the container's GPUs, so it is the smallest share.
std::string smallest_mib(const GrantRequest& request) {
  const auto smallest = std::ranges::min_element(request.devices, {}, &HeldDevice::bytes);
  return std::to_string(smallest->mib());
}

Status add_driver_limits(const GrantRequest& request, ContainerGrant& grant) {
  if (!request.facts.driver_limits_memory) {
    return unavailable(request.offer,
                       "the driver must limit its shares, and this driver no longer can; r615 or "
                       "newer does");
  }
  if (!counts_memory(request.offer)) {
    return unavailable(request.offer,
                       "the driver must limit its shares, and their memory size is not known");
  }
  // The hook needs both variables.
  grant.env["NVIDIA_GPU_MEMORY_REQUEST"] = smallest_mib(request);
  grant.env["NVIDIA_GPU_MEMORY_LIMIT"] = smallest_mib(request);
  return Done{};
}

// "aliyun.com/gpu-mem" to "ALIYUN_COM_GPU_MEM".
std::string as_variable(std::string_view resource) {
  std::string name;
  for (const char c : resource) {
    const bool is_lower = c >= 'a' && c <= 'z';
    const bool is_kept = (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (is_lower) {
      name += static_cast<char>(c - 'a' + 'A');
    } else {
      name += is_kept ? c : '_';
    }
  }
  return name;
}

// Variables of the same name from two resources of one container collide at the kubelet,
// which keeps one of them. So each is set twice: by its plain name, and by a name with the
// resource in it, which cannot collide.
void add_variables(const GrantRequest& request, ContainerGrant& grant) {
  const std::string suffix = "_" + as_variable(request.offer.name.text);
  for (const auto& [name, value] :
       {std::pair{std::string("TRANCHE_MEMORY_ENFORCEMENT"),
                  std::string(to_string(request.offer.terms.enforcement))},
        std::pair{std::string("TRANCHE_MEMORY_LIMIT_MIB"), smallest_mib(request)}}) {
    grant.env[name] = value;
    grant.env[name + suffix] = value;
  }
}

bool limits_are_the_daemons(const GrantRequest& request) {
  const auto wiring = request.facts.mps.find(request.devices.front().device->uuid);
  return wiring != request.facts.mps.end() && wiring->second.limits_are_the_daemons;
}

}  // namespace

Enforcers enforcers(const Inventory& inventory, const GrantOptions& options,
                    const std::vector<std::string>& disabled_hooks) {
  Enforcers node{.driver_version = inventory.driver_version,
                 .driver_limits_memory = inventory.limits_memory,
                 .limits_unknown = inventory.limits_unknown,
                 .by_cdi = options.list.any_cdi()};
  const bool is_disabled = std::ranges::any_of(
      disabled_hooks, [](const std::string& hook) { return hook == kLimitHook || hook == "all"; });
  if (only_by_cdi(options.list) && is_disabled) {
    node.no_driver_hook =
        fmt::format("--cdi-disable-hooks leaves out {}, which sets the limit", kLimitHook);
  }
  return node;
}

Result<Enforcement> settle(const Offer& offer, const Enforcers& node) {
  if (const std::optional<Enforcement> demanded = offer.terms.demanded) {
    const std::string why = problem(*demanded, offer, node);
    if (why.empty()) return *demanded;
    return Error{
        ErrorCode::kUnavailable,
        fmt::format("enforcement {} is demanded of {}, and this node does not support it: {}",
                    to_string(*demanded), offer.name.text, why)};
  }
  if (needs_no_limit(offer) || !counts_memory(offer)) return Enforcement::kNone;
  if (driver_problem(offer, node).empty()) return Enforcement::kDriver;
  // An external daemon serves whole GPUs, as far as we can know.
  if (node.external_mps && node.no_mps.empty() && !has_mig(offer)) return Enforcement::kMps;
  return Enforcement::kNone;
}

std::string unenforced_memory(const Offer& offer, Enforcement enforcement, const Enforcers& node) {
  if (offer.terms.form != ShareForm::kMemory || offer.terms.demanded ||
      enforcement != Enforcement::kNone) {
    return {};
  }
  std::string why = driver_problem(offer, node);
  if (!node.no_mps.empty()) {
    why += "; " + node.no_mps;
  } else {
    why += node.external_mps ? "; and external MPS daemons do not serve MIG devices"
                             : "; and nothing asks for MPS";
  }
  return fmt::format(
      "{}: nothing limits containers to their share of memory: {}. Set enforcement: mps in its "
      "policy, or none if that is intended",
      offer.name.text, why);
}

Status add_enforcement(const GrantRequest& request, ContainerGrant& grant) {
  const Enforcement enforcement = request.offer.terms.enforcement;
  if (needs_no_limit(request.offer) && enforcement == Enforcement::kNone) return Done{};
  if (enforcement == Enforcement::kMps || enforcement == Enforcement::kMpsExclusive) {
    if (Status wired = add_mps(request, grant); !wired) return wired;
    if (limits_are_the_daemons(request)) return Done{};
  }
  if (enforcement == Enforcement::kDriver) {
    if (Status limited = add_driver_limits(request, grant); !limited) return limited;
  }
  if (counts_memory(request.offer)) add_variables(request, grant);
  return Done{};
}

}  // namespace tranche::core
