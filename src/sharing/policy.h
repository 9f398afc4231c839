// SPDX-License-Identifier: Apache-2.0
//
// Which GPUs are offered how, and under which names: the part of the
// configuration that turns an Inventory into a Catalog.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "gpu/pci_address.h"
#include "sharing/resource_name.h"

namespace tranche {

// What becomes of GPUs that are cut with MIG; NVIDIA's three ways.
enum class MigStrategy {
  kNone,    // every GPU is offered as a whole, cut or not
  kSingle,  // MIG devices are offered as nvidia.com/gpu; all must be of one profile
  kMixed,   // MIG devices are offered as nvidia.com/mig-<profile>
};

// One row of the `resources` section: what matches `pattern` gets `name`.
// `*` stands for any text; a GPU is matched by its model, a MIG device by its
// profile. The first row that matches wins.
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

// Which devices of a resource are meant.
struct AllDevices {
  bool operator==(const AllDevices&) const = default;
};
struct FirstDevices {
  unsigned count = 0;
  bool operator==(const FirstDevices&) const = default;
};
using DeviceSelection = std::variant<AllDevices, FirstDevices, std::vector<DeviceRef>>;

// One row of sharing.timeSlicing.resources: the selected devices of `resource`
// are offered `replicas` times each, as `rename` if that is given.
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

struct SharingPolicy {
  MigStrategy mig = MigStrategy::kNone;
  std::vector<NameRule> gpu_names;  // before the default, * -> nvidia.com/gpu
  std::vector<NameRule> mig_names;  // before the strategy's own
  std::vector<Replication> replications;
  // A container that asks for more than one replica is refused: it would get
  // no more of the GPU for it.
  bool fail_requests_greater_than_one = false;
  std::vector<Exclusion> excluded;

  bool operator==(const SharingPolicy&) const = default;
};

}  // namespace tranche
