// SPDX-License-Identifier: Apache-2.0
//
// The part of the configuration that turns an Inventory into a Catalog: how GPUs are offered, and
// under which names.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/gpu/pci_address.h"
#include "core/sharing/resource_name.h"
#include "core/sharing/terms.h"

namespace tranche::core {

// How GPUs with MIG devices are offered; NVIDIA's three strategies.
enum class MigStrategy {
  kNone,    // every GPU is offered as a whole, with or without MIG devices
  kSingle,  // MIG devices are offered as nvidia.com/gpu; all must be of one profile
  kMixed,   // MIG devices are offered as nvidia.com/mig-<profile>
};

// One row of the `resources` section: devices that match `pattern` get `name`. `*` matches any
// text; a GPU is matched by its model, a MIG device by its profile. The first matching row wins.
struct NameRule {
  std::string pattern;
  ResourceName name;

  bool operator==(const NameRule&) const = default;
};

// One device in a `devices` list.
struct GpuIndex {
  unsigned index = 0;
  bool operator==(const GpuIndex&) const = default;
};
struct MigIndex {  // "0:1": MIG device 1 of GPU 0
  unsigned gpu = 0;
  unsigned mig = 0;
  bool operator==(const MigIndex&) const = default;
};
struct AnyUuid {  // of a GPU or of a MIG device
  std::string text;
  bool operator==(const AnyUuid&) const = default;
};
using DeviceRef = std::variant<GpuIndex, MigIndex, AnyUuid>;

// Selects devices of a resource.
struct AllDevices {
  bool operator==(const AllDevices&) const = default;
};
struct FirstDevices {
  unsigned count = 0;
  bool operator==(const FirstDevices&) const = default;
};
using DeviceSelection = std::variant<AllDevices, FirstDevices, std::vector<DeviceRef>>;

// One row of sharing.timeSlicing.resources: the selected devices of `resource` are offered
// `replicas` times each, as `rename` if given.
struct Replication {
  ResourceName resource;
  std::optional<ResourceName> rename;
  DeviceSelection devices = AllDevices{};
  unsigned replicas = 1;

  bool operator==(const Replication&) const = default;
};

// A GPU that is not offered at all.
struct ModelPattern {
  std::string pattern;
  bool operator==(const ModelPattern&) const = default;
};
using Exclusion = std::variant<GpuIndex, AnyUuid, PciAddress, ModelPattern>;

// One entry of `tranche.policies`: the devices that meet all of its conditions are offered
// as `resource`. A device that several entries select is offered by each of them; what is
// held under one name is subtracted from the others. Devices that no entry selects are
// offered as the rest of the policy says.
struct ResourcePolicy {
  ResourceName resource;
  // An entry with a MIG profile selects MIG devices only, one without
  // selects GPUs that are not partitioned.
  DeviceSelection devices = AllDevices{};
  std::optional<std::string> model;        // of the GPU, with * for any text
  std::optional<std::string> mig_profile;  // "1g.*"
  Terms terms;
  unsigned replicas = 1;                        // of the form kReplicas
  std::optional<std::uint64_t> replica_memory;  // that one covers; else its part of the total
  // Of the form kMemory; in bytes. Empty: the smallest that the kubelet can take.
  std::optional<std::uint64_t> unit;
  std::uint64_t kept_unit = 0;  // minimum if `unit` is empty: the unit chosen before

  bool operator==(const ResourcePolicy&) const = default;
};

struct SharingPolicy {
  MigStrategy mig = MigStrategy::kNone;
  std::vector<NameRule> gpu_names;  // before the default, * -> nvidia.com/gpu
  std::vector<NameRule> mig_names;  // before the strategy's own
  std::vector<ResourcePolicy> policies;
  std::vector<Replication> replications;
  // The replications come from sharing.mps: their containers use MPS.
  bool replicas_use_mps = false;
  SharePlacement replica_placement = SharePlacement::kDistributed;  // of these
  // A request for more than one replica is refused, because the container would not get
  // more of the GPU.
  bool fail_requests_greater_than_one = false;
  std::vector<Exclusion> excluded;
  // For everything that no entry of `policies` offers.
  Dialect usual_dialect = Dialect::kNvidia;
  Exposure usual_exposure = Exposure::kEnvvar;

  bool operator==(const SharingPolicy&) const = default;
};

}  // namespace tranche::core
