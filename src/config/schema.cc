// SPDX-License-Identifier: Apache-2.0
#include "config/schema.h"

#include <algorithm>

namespace tranche {
namespace {

KeyKind kind_of(ValueType type) {
  switch (type) {
    case ValueType::kBool: return KeyKind::kBool;
    case ValueType::kNumber: return KeyKind::kNumber;
    case ValueType::kDuration: return KeyKind::kDuration;
    case ValueType::kTextList: return KeyKind::kTextList;
    case ValueType::kNumberList: return KeyKind::kNumberList;
    case ValueType::kText:
    case ValueType::kChoice:
    case ValueType::kPath: break;
  }
  return KeyKind::kText;
}

using enum KeyKind;
constexpr KeyOwner kOther = KeyOwner::kOtherProgram;

// What is no flag of ours, in the file's order. Keys of flags are put in
// behind the section that they lie in.
constexpr KeySpec kStructure[] = {
    {.path = "version", .fallback = "v1", .help = "The format of the file: v1."},
    {.path = "flags", .kind = kSection, .help = "Settings that are flags too."},
    {.path = "flags.plugin", .kind = kSection, .help = "Those of the device plugin alone."},
    {.path = "flags.useNodeFeatureAPI", .kind = kBool, .owner = kOther},
    {.path = "flags.gfd", .kind = kSection, .owner = kOther},
    {.path = "flags.gfd.oneshot", .kind = kBool, .owner = kOther},
    {.path = "flags.gfd.noTimestamp", .kind = kBool, .owner = kOther},
    {.path = "flags.gfd.noCleanupOnExit", .kind = kBool, .owner = kOther},
    {.path = "flags.gfd.sleepInterval", .kind = kAnyDuration, .owner = kOther},
    {.path = "flags.gfd.outputFile", .owner = kOther},
    {.path = "flags.gfd.machineTypeFile", .owner = kOther},
    {.path = "resources",
     .kind = kSection,
     .help = "Names of resources by GPU model or MIG profile. The first row that matches wins; "
             "what no row matches keeps its usual name."},
    {.path = "resources.gpus", .kind = kRows, .help = "For whole GPUs."},
    {.path = "resources.gpus[].pattern",
     .help = "GPU model, with * for any text: \"*A100*\". Required."},
    {.path = "resources.gpus[].name",
     .help = "Name of the resource. Without a domain it gets nvidia.com/. Required."},
    {.path = "resources.mig", .kind = kRows, .help = "For MIG devices."},
    {.path = "resources.mig[].pattern",
     .help = "MIG profile, with * for any text: \"1g.*\". Required."},
    {.path = "resources.mig[].name",
     .help = "Name of the resource. Without a domain it gets nvidia.com/. Required."},
    {.path = "sharing", .kind = kSection, .help = "GPUs that several containers use at once."},
    {.path = "sharing.timeSlicing",
     .kind = kSection,
     .help = "Replicas: a GPU is offered several times; its users take turns."},
    {.path = "sharing.timeSlicing.renameByDefault",
     .kind = kBool,
     .fallback = "false",
     .help = "Whether a row without rename gets <name>.shared."},
    {.path = "sharing.timeSlicing.failRequestsGreaterThanOne",
     .kind = kBool,
     .fallback = "false",
     .help = "Whether a container that asks for more than one replica is refused."},
    {.path = "sharing.timeSlicing.resources",
     .kind = kRows,
     .help = "What is replicated. At least one row; no device in two rows."},
    {.path = "sharing.timeSlicing.resources[].name",
     .help = "Resource whose devices are replicated. Required."},
    {.path = "sharing.timeSlicing.resources[].rename",
     .fallback = "the name",
     .help = "What the replicas are called instead."},
    {.path = "sharing.timeSlicing.resources[].devices",
     .kind = kDevices,
     .fallback = "all",
     .help = "Which devices: all; a number, for the first so many; or a list of indexes (0), MIG "
             "indexes (\"0:1\") and uuids (GPU-..., MIG-...)."},
    {.path = "sharing.timeSlicing.resources[].replicas",
     .kind = kNumber,
     .help = "How often each is offered: 1 to 1000000. Required."},
    {.path = "sharing.mps",
     .kind = kSection,
     .help = "Replicas whose users go through MPS, each held to its part of the memory. With rows "
             "in both sections those of timeSlicing have no effect, as in NVIDIA's plugin."},
    {.path = "sharing.mps.renameByDefault",
     .kind = kBool,
     .fallback = "false",
     .help = "Whether a row without rename gets <name>.shared."},
    {.path = "sharing.mps.failRequestsGreaterThanOne",
     .kind = kBool,
     .fallback = "true",
     .help = "Whether a container that asks for more than one replica is refused."},
    {.path = "sharing.mps.resources",
     .kind = kRows,
     .help = "What is replicated. At least one row; no device in two rows."},
    {.path = "sharing.mps.resources[].name",
     .help = "Resource whose devices are replicated. Required."},
    {.path = "sharing.mps.resources[].rename",
     .fallback = "the name",
     .help = "What the replicas are called instead."},
    {.path = "sharing.mps.resources[].devices",
     .kind = kDevices,
     .fallback = "all",
     .help = "Which devices: all; a number, for the first so many; or a list of indexes (0), MIG "
             "indexes (\"0:1\") and uuids (GPU-..., MIG-...)."},
    {.path = "sharing.mps.resources[].replicas",
     .kind = kNumber,
     .help = "How often each is offered: 1 to 1000000. Required."},
    {.path = "imex", .kind = kSection, .help = "IMEX channels for containers."},
    {.path = "tranche", .kind = kSection, .help = "Settings that NVIDIA's plugin does not have."},
    {.path = "tranche.mps", .kind = kSection, .help = "How containers reach MPS."},
    {.path = "tranche.nested",
     .kind = kSection,
     .help = "Clusters whose nodes are pods of this one, or of which this is a pod."},
    {.path = "tranche.policies",
     .kind = kRows,
     .help = "Which devices are offered how: a device is offered by each row that it fits. Those "
             "that fit none are offered as the rest of the file says. Rows take the place of the "
             "profile's own."},
    {.path = "tranche.policies[].resource",
     .help = "Name of the resource. Without a domain it gets nvidia.com/. Rows of one name must "
             "offer on the same terms. Required."},
    {.path = "tranche.policies[].devices",
     .kind = kDevices,
     .fallback = "all",
     .help = "Which devices: all; a number, for the first so many; or a list of indexes (0), MIG "
             "indexes (\"0:1\") and uuids (GPU-..., MIG-...)."},
    {.path = "tranche.policies[].model",
     .fallback = "any",
     .help = "Only GPUs of this model, with * for any text: \"*A100*\"."},
    {.path = "tranche.policies[].migProfile",
     .help = "MIG devices of this profile, with * for any text: \"1g.*\". A row without it is for "
             "GPUs that are not cut."},
    {.path = "tranche.policies[].share",
     .fallback = "whole",
     .help = "How a device is cut. whole: one share. replicas: so many that say nothing of size. "
             "memory: one for each unit of its memory."},
    {.path = "tranche.policies[].replicas",
     .kind = kNumber,
     .help = "How often each device is offered: 1 to 1000000. Required for replicas."},
    {.path = "tranche.policies[].memory",
     .kind = kMemory,
     .fallback = "the device's memory divided by its replicas",
     .help = "Memory that one replica covers."},
    {.path = "tranche.policies[].unit",
     .kind = kMemory,
     .fallback = "GiB",
     .help = "Memory that is counted as one: GiB, MiB, any size such as 256MiB, or auto for the "
             "smallest that the kubelet can take. For memory."},
    {.path = "tranche.policies[].offer",
     .fallback = "sum",
     .help = "How many free units the scheduler is shown. sum: all; a pod can fit the sum and no "
             "GPU, and is refused then. largest-block: no more than the GPU with the most has "
             "free. For memory."},
    {.path = "tranche.policies[].placement",
     .fallback = "spread for replicas, pack for memory",
     .help =
         "Which free shares a container gets. spread: on as many different GPUs as there are "
         "shares. pack: on as few GPUs as will do. distributed, packed: each from the GPU with "
         "the fewest or the most taken, as in NVIDIA's plugin. The units of a memory resource "
         "always come from one GPU: the emptiest (spread) or the fullest that has room (pack)."},
    {.path = "tranche.policies[].distinctGpus",
     .kind = kBool,
     .fallback = "false",
     .help = "Whether a container whose shares cannot all be on different GPUs is refused."},
    {.path = "tranche.policies[].failRequestsGreaterThanOne",
     .kind = kBool,
     .fallback = "false",
     .help = "Whether a container that asks for more than one share is refused."},
    {.path = "tranche.policies[].dialect",
     .fallback = "nvidia",
     .help = "Whose variables and mounts a container gets: nvidia, deepomatic, gcp, gpushare (for "
             "memory only), or nested-host for pods that are themselves nodes."},
    {.path = "tranche.policies[].exposure",
     .fallback = "envvar",
     .help = "What a node pod sees of GPUs that it was not granted. envvar: NVIDIA_VISIBLE_DEVICES "
             "lists all GPUs of the node. all: device nodes, mounts and CDI names are of all, too. "
             "granted: nothing of the others. For nested-host."},
    {.path = "tranche.policies[].enforcement",
     .fallback = "auto",
     .help = "What must hold a container to its share: driver, mps-exclusive, mps or none. Where "
             "the node cannot, its shares are listed unhealthy. auto: whatever the node has."},
};

}  // namespace

Schema::Schema() {
  for (const KeySpec& key : kStructure) {
    keys_.push_back(key);
    if (key.kind != KeyKind::kSection) continue;
    for (const FlagSpec& flag : flag_table()) {
      if (flag.key.empty() || parent_path(flag.key) != key.path) continue;
      keys_.push_back({.path = flag.key,
                       .kind = kind_of(flag.type),
                       .flag = &flag,
                       .fallback = flag.fallback_note.empty() ? flag.fallback : flag.fallback_note,
                       .help = flag.help});
    }
  }
}

const KeySpec* Schema::find(std::string_view path) const {
  const auto found = std::ranges::find(keys_, path, &KeySpec::path);
  return found == keys_.end() ? nullptr : &*found;
}

std::vector<std::string> Schema::names_below(std::string_view path) const {
  std::vector<std::string> names;
  for (const KeySpec& key : keys_) {
    if (parent_path(key.path) == path) names.emplace_back(last_name(key.path));
  }
  return names;
}

std::string_view expected(KeyKind kind) {
  switch (kind) {
    case KeyKind::kSection: return "a section with keys";
    case KeyKind::kRows: return "a list of sections";
    case KeyKind::kBool: return "true or false";
    case KeyKind::kNumber: return "a whole number";
    case KeyKind::kText: return "text";
    case KeyKind::kDuration: return "a duration with its unit, such as 5s";
    case KeyKind::kAnyDuration: return "a duration such as 60s";
    case KeyKind::kTextList: return "text or a list of texts";
    case KeyKind::kNumberList: return "a list of whole numbers";
    case KeyKind::kDevices: return "all, a number or a list of devices";
    case KeyKind::kMemory: return "a size with its unit, such as 4GiB";
  }
  return "";
}

std::string_view last_name(std::string_view path) {
  const std::size_t dot = path.rfind('.');
  return dot == std::string_view::npos ? path : path.substr(dot + 1);
}

std::string_view parent_path(std::string_view path) {
  const std::size_t dot = path.rfind('.');
  return dot == std::string_view::npos ? std::string_view() : path.substr(0, dot);
}

}  // namespace tranche
