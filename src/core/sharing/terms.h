// SPDX-License-Identifier: Apache-2.0
//
// The terms on which a resource is offered: how devices are divided into shares, which
// shares a container gets, what limits it to them, and in which convention devices are
// passed. Each resource has its own terms, so one node can offer GPUs in several ways at
// once.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/words.h"

namespace tranche::core {

// How a device is divided into shares.
enum class ShareForm {
  kWhole,     // one share: the device
  kReplicas,  // a number of shares without a size
  kMemory,    // one share for each unit of the device's memory
};

// Which of the free shares a container gets.
enum class SharePlacement {
  kDistributed,  // NVIDIA's: each from the GPU with the fewest taken
  kPacked,       // NVIDIA's: each from the GPU with the most
  kSpread,       // on as many different GPUs as shares, where there are as many
  kPack,         // on as few GPUs as possible, the fullest first
};

// How many of a memory resource's free units are shown to the scheduler. It sees one number
// for the node, and a container's units come from one GPU.
enum class ShownSize {
  kSum,           // all; a pod can fit the sum but no GPU, and is refused then
  kLargestBlock,  // no more than the GPU with the most has free
};

// The convention: which plugin's variables and mounts a container gets.
enum class Dialect { kNvidia, kDeepomatic, kGcp, kGpushare, kNestedHost };

// What a node pod sees of the host's GPUs, besides the list of its own.
enum class Exposure {
  kEnvvar,   // NVIDIA_VISIBLE_DEVICES lists all; all else is of the granted ones
  kAll,      // device nodes, mounts and CDI names are of all as well
  kGranted,  // nothing of any other
};

// The enforcement level: what limits a container to its share of memory; the weakest first.
enum class Enforcement {
  kNone,          // nothing
  kMps,           // the MPS daemon, unless the container bypasses it
  kMpsExclusive,  // the same, on a GPU that only the daemon may use
  kDriver,        // the driver, by cgroup (r615 and newer)
};

struct Terms {
  ShareForm form = ShareForm::kWhole;
  SharePlacement placement = SharePlacement::kDistributed;
  // A container whose shares cannot all be on different physical GPUs is refused.
  bool distinct_gpus = false;
  // All of a container's shares come from one device.
  bool one_device = false;
  // A container may have one share at most.
  bool one_share_only = false;
  ShownSize shown = ShownSize::kSum;
  std::uint64_t unit_bytes = 0;  // of a memory resource
  Dialect dialect = Dialect::kNvidia;
  Exposure exposure = Exposure::kEnvvar;  // of the dialect kNestedHost
  // The level that the policy demands; if the node does not support it, the resource is not
  // offered. Empty: the best level that the node has.
  std::optional<Enforcement> demanded;
  // The level in effect, once it is decided.
  Enforcement enforcement = Enforcement::kNone;

  bool operator==(const Terms&) const = default;
};

// As they are written in a configuration, in the order in which people read them.
inline constexpr Word<ShareForm> kShareForms[] = {{"whole", ShareForm::kWhole},
                                                  {"replicas", ShareForm::kReplicas},
                                                  {"memory", ShareForm::kMemory}};
inline constexpr Word<SharePlacement> kPlacements[] = {
    {"spread", SharePlacement::kSpread},
    {"pack", SharePlacement::kPack},
    {"distributed", SharePlacement::kDistributed},
    {"packed", SharePlacement::kPacked}};
inline constexpr Word<ShownSize> kShownSizes[] = {{"sum", ShownSize::kSum},
                                                  {"largest-block", ShownSize::kLargestBlock}};
inline constexpr Word<Dialect> kDialects[] = {{"nvidia", Dialect::kNvidia},
                                              {"deepomatic", Dialect::kDeepomatic},
                                              {"gcp", Dialect::kGcp},
                                              {"gpushare", Dialect::kGpushare},
                                              {"nested-host", Dialect::kNestedHost}};
inline constexpr Word<Exposure> kExposures[] = {
    {"envvar", Exposure::kEnvvar}, {"all", Exposure::kAll}, {"granted", Exposure::kGranted}};
inline constexpr Word<std::optional<Enforcement>> kDemands[] = {
    {"auto", std::nullopt},
    {"none", Enforcement::kNone},
    {"mps", Enforcement::kMps},
    {"mps-exclusive", Enforcement::kMpsExclusive},
    {"driver", Enforcement::kDriver}};

constexpr std::string_view to_string(ShareForm form) { return text_of(kShareForms, form); }
constexpr std::string_view to_string(SharePlacement placement) {
  return text_of(kPlacements, placement);
}
constexpr std::string_view to_string(ShownSize shown) { return text_of(kShownSizes, shown); }
constexpr std::string_view to_string(Dialect dialect) { return text_of(kDialects, dialect); }
constexpr std::string_view to_string(Exposure exposure) { return text_of(kExposures, exposure); }
constexpr std::string_view to_string(Enforcement enforcement) {
  return text_of(kDemands, std::optional(enforcement));
}

}  // namespace tranche::core
