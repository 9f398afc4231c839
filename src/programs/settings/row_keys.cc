// SPDX-License-Identifier: Apache-2.0
#include "programs/settings/row_keys.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <utility>
#include <variant>
#include <vector>

#include "base/text.h"
#include "os/settings/memory_size.h"
#include "programs/settings/device_words.h"

namespace tranche::programs {
namespace {

std::optional<ResourceName> read_name(RowValue& value) {
  const ConfigNode& node = value.node();
  if (!is_text(node)) return value.reject(), std::nullopt;
  Result<ResourceName> name = parse_resource_name(node.text);
  if (name) return *name;
  std::string plain = lower(node.text);
  std::ranges::replace(plain, '_', '-');
  const bool would_do = plain != node.text && parse_resource_name(plain);
  value.complain_at(node.line, name.error().message +
                                   (would_do ? fmt::format("; did you mean '{}'?", plain) : ""));
  return std::nullopt;
}

std::optional<unsigned> read_replicas(RowValue& value) {
  const ConfigNode& node = value.node();
  if (!is_integer(node)) return value.reject(), std::nullopt;
  const auto count = parse_number<unsigned>(node.text);
  if (count && *count >= 1 && *count <= kMostReplicas) return count;
  const bool small = node.text.starts_with('-') || (count && *count == 0);
  value.complain_at(node.line, fmt::format("number of replicas must be {}, found {}",
                                           small ? ">= 1" : "at most 1000000", brief(node.text)));
  return std::nullopt;
}

std::optional<DeviceSelection> read_device_list(RowValue& value) {
  const ConfigNode& list = value.node();
  std::vector<DeviceRef> devices;
  std::set<std::string> seen;
  if (list.items.empty()) {
    value.complain_at(list.line, "an empty list selects no device (leave it out for all)");
    return std::nullopt;
  }
  for (const ConfigNode& item : list.items) {
    const bool is_word = is_text(item) || is_integer(item);
    const Result<DeviceRef> device = parse_device_ref(is_word ? item.text : describe(item));
    if (!device) {
      value.complain_at(item.line, device.error().message);
      return std::nullopt;
    }
    if (!seen.insert(to_text(*device)).second) {
      value.complain_at(item.line, fmt::format("lists {} twice", to_text(*device)));
      return std::nullopt;
    }
    devices.push_back(*device);
  }
  return DeviceSelection(std::move(devices));
}

std::optional<DeviceSelection> read_devices(RowValue& value) {
  const ConfigNode& node = value.node();
  if (is_text(node) && node.text == "all") {
    return DeviceSelection(AllDevices{});
  }
  if (is_text(node)) {
    std::vector<std::string> words = split(node.text, ',');
    for (std::string& word : words) word = trim(word);
    const bool is_list = std::ranges::all_of(
        words, [](const std::string& word) { return bool(parse_device_ref(word)); });
    value.complain_at(
        node.line,
        fmt::format("devices set as '{}' but the only valid string input is 'all'{}",
                    brief(node.text),
                    is_list ? fmt::format("; write a list: [{}]", brief(join(words, ", "))) : ""));
    return std::nullopt;
  }
  if (is_integer(node)) {
    const auto count = parse_number<unsigned>(node.text);
    if (count && *count > 0) return DeviceSelection(FirstDevices{*count});
    value.complain_at(
        node.line, fmt::format("devices set as '{0}' but a count of devices must be > 0; for the "
                               "device of index {0} write [{0}]",
                               brief(node.text)));
    return std::nullopt;
  }
  if (node.kind == NodeKind::kList) return read_device_list(value);
  value.complain_at(node.line,
                    "unrecognized type for devices spec: expected all, a number or a list of "
                    "devices, found " +
                        describe(node));
  return std::nullopt;
}

// The driver's names have several words: "NVIDIA A100-SXM4-40GB", "Tesla T4".
void warn_of_whole_model(RowValue& value) {
  const ConfigNode& pattern = value.node();
  if (pattern.text.empty() || pattern.text.find_first_of("* ") != std::string::npos) return;
  value.warn(
      fmt::format("fits only GPUs whose whole name is '{0}', and the driver's names have more "
                  "words; did you mean \"*{0}*\"?",
                  brief(pattern.text)));
}

ConfigNode devices_node(const DeviceSelection& devices) {
  if (const auto* first = std::get_if<FirstDevices>(&devices)) {
    return bare_node(std::to_string(first->count));
  }
  const auto* listed = std::get_if<std::vector<DeviceRef>>(&devices);
  if (listed == nullptr) return text_node("all");
  ConfigNode list{.kind = NodeKind::kList};
  for (const DeviceRef& device : *listed) {
    const bool is_index = std::holds_alternative<GpuIndex>(device);
    list.items.push_back(is_index ? bare_node(to_text(device)) : text_node(to_text(device)));
  }
  return list;
}

std::optional<std::string> read_pattern(RowValue& value) {
  if (!is_text(value.node())) return value.reject(), std::nullopt;
  if (value.node().text.empty()) value.complain("is empty and fits nothing; leave it out for any");
  return value.node().text;
}

std::optional<std::string> read_model(RowValue& value) {
  warn_of_whole_model(value);
  return read_pattern(value);
}

std::optional<std::uint64_t> read_size(RowValue& value) {
  if (!is_text(value.node())) return std::nullopt;
  const Result<std::uint64_t> size = parse_memory_size(value.node().text);
  if (!size) return value.complain(size.error().message), std::nullopt;
  return *size;
}

// Without a size: auto.
std::optional<std::optional<std::uint64_t>> read_unit(RowValue& value) {
  if (!is_text(value.node())) return std::nullopt;
  if (value.node().text == "auto") return std::optional<std::uint64_t>();
  const Result<std::uint64_t> size = parse_memory_unit(value.node().text);
  if (!size) return value.complain(size.error().message + " (or auto)"), std::nullopt;
  return *size;
}

constexpr std::string_view kOfKubernetes[] = {"cpu", "memory", "storage", "ephemeral-storage",
                                              "pods"};

std::optional<ResourceName> read_new_name(RowValue& value) {
  const std::string& text = value.node().text;
  const bool is_taken = text.starts_with("hugepages-") ||
                        std::ranges::find(kOfKubernetes, text) != std::end(kOfKubernetes);
  if (!is_taken) return read_name(value);
  value.complain(brief(text) +
                 " is a resource of Kubernetes itself; name the devices otherwise, such as "
                 "nvidia.com/gpu or example.com/gpu-memory");
  return std::nullopt;
}

// Names of forms of sharing in other plugins.
constexpr Word<ShareForm> kFormsElsewhere[] = {{"timeslicing", ShareForm::kReplicas},
                                               {"time-slicing", ShareForm::kReplicas},
                                               {"time-sharing", ShareForm::kReplicas},
                                               {"mps", ShareForm::kReplicas},
                                               {"gpu", ShareForm::kWhole},
                                               {"exclusive", ShareForm::kWhole},
                                               {"none", ShareForm::kWhole},
                                               {"gpu-mem", ShareForm::kMemory}};

std::optional<ShareForm> read_share(RowValue& value) {
  const std::string& text = value.node().text;
  const auto elsewhere = meaning_of(kFormsElsewhere, lower(text));
  if (!is_text(value.node()) || !elsewhere) return read_word<kShareForms>(value);
  value.complain(
      fmt::format("unknown share: {} (here that is share: {}; allowed: whole, replicas, memory)",
                  brief(text), to_string(*elsewhere)));
  return std::nullopt;
}

ConfigNode name_node(const ResourceName& name) { return text_node(name.text); }
ConfigNode number_node(unsigned number) { return bare_node(std::to_string(number)); }
ConfigNode size_node(std::uint64_t bytes) { return text_node(memory_size_text(bytes)); }
ConfigNode unit_node(const std::optional<std::uint64_t>& unit) {
  return unit ? size_node(*unit) : text_node("auto");
}

template <ShareForm... kForms>
bool has_form(const ResourcePolicy& row) {
  return ((row.terms.form == kForms) || ...);
}
constexpr auto kOfReplicas = has_form<ShareForm::kReplicas>;
constexpr auto kOfMemory = has_form<ShareForm::kMemory>;
constexpr auto kCut = has_form<ShareForm::kReplicas, ShareForm::kMemory>;
constexpr auto kCounted = has_form<ShareForm::kWhole, ShareForm::kReplicas>;

bool is_for_nodes(const ResourcePolicy& row) { return row.terms.dialect == Dialect::kNestedHost; }

constexpr std::string_view kDevices = "all, a number or a list of devices";
constexpr std::string_view kDevicesHelp =
    "Devices: all; a number N, for the first N; or a list of indexes (0), MIG indexes (\"0:1\") "
    "and uuids (GPU-..., MIG-...).";
constexpr std::string_view kNameHelp =
    "Name of the resource. Without a domain it gets nvidia.com/. Required.";

using enum KeyKind;

constexpr RowKey<NameRule> kNameOfRule = {
    .name = "name", .help = kNameHelp, .field = member<read_name, name_node, &NameRule::name>};
constexpr RowKey<NameRule> kGpuNameKeys[] = {
    {.name = "pattern",
     .help = "GPU model, with * for any text: \"*A100*\". Required.",
     .field = member<read_model, text_node, &NameRule::pattern>},
    kNameOfRule,
};
constexpr RowKey<NameRule> kMigNameKeys[] = {
    {.name = "pattern",
     .help = "MIG profile, with * for any text: \"1g.*\". Required.",
     .field = member<read_pattern, text_node, &NameRule::pattern>},
    kNameOfRule,
};

constexpr RowKey<Replication> kReplicationKeys[] = {
    {.name = "name",
     .help = "Resource whose devices are replicated. Required.",
     .field = member<read_name, name_node, &Replication::resource>},
    {.name = "rename",
     .fallback = "the name",
     .help = "Another name for the replicas.",
     .field = member<read_name, name_node, &Replication::rename>},
    {.name = "devices",
     .kind = kOwn,
     .takes = kDevices,
     .fallback = "all",
     .help = kDevicesHelp,
     .field = member<read_devices, devices_node, &Replication::devices>},
    {.name = "replicas",
     .kind = kNumber,
     .help = "How often each is offered: 1 to 1000000. Required.",
     .field = member<read_replicas, number_node, &Replication::replicas>},
};

constexpr RowKey<ResourcePolicy> kPolicyKeys[] = {
    {.name = "resource",
     .help = "Name of the resource. Without a domain it gets nvidia.com/. Rows of one name must "
             "offer on the same terms. Required.",
     .field = member<read_new_name, name_node, &ResourcePolicy::resource>},
    {.name = "devices",
     .kind = kOwn,
     .takes = kDevices,
     .fallback = "all",
     .help = kDevicesHelp,
     .field = member<read_devices, devices_node, &ResourcePolicy::devices>},
    {.name = "model",
     .fallback = "any",
     .help = "Only GPUs of this model, with * for any text: \"*A100*\".",
     .field = member<read_model, text_node, &ResourcePolicy::model>},
    {.name = "migProfile",
     .help = "MIG devices of this profile, with * for any text: \"1g.*\". A row without it is for "
             "GPUs without MIG.",
     .field = member<read_pattern, text_node, &ResourcePolicy::mig_profile>},
    {.name = "share",
     .words = texts<kShareForms>,
     .fallback = "whole",
     .help =
         "How a device is divided. whole: one share. replicas: a fixed number of shares. memory: "
         "one share for each unit of its memory.",
     .is_term = true,
     .field = member<read_share, word_node<kShareForms>, &ResourcePolicy::terms, &Terms::form>},
    {.name = "replicas",
     .kind = kNumber,
     .help = "How often each device is offered: 1 to 1000000. Required for replicas.",
     .field = member<read_replicas, number_node, &ResourcePolicy::replicas>,
     .applies = kOfReplicas},
    {.name = "memory",
     .kind = kMemory,
     .fallback = "the device's memory divided by its replicas",
     .help = "Memory that one replica covers.",
     .field = member<read_size, size_node, &ResourcePolicy::replica_memory>,
     .applies = kOfReplicas},
    {.name = "unit",
     .kind = kMemory,
     .fallback = "GiB",
     .help =
         "Memory of one share: GiB, MiB, any size such as 256MiB, or auto for the smallest that "
         "the kubelet accepts. For memory.",
     .is_term = true,
     .field = member<read_unit, unit_node, &ResourcePolicy::unit>,
     .applies = kOfMemory},
    {.name = "offer",
     .words = texts<kShownSizes>,
     .fallback = "sum",
     .help = "How many free units the scheduler sees. sum: all; a pod that fits the sum but no "
             "single GPU is refused. largest-block: those of the GPU with the most free units. For "
             "memory.",
     .is_term = true,
     .field = word_member<kShownSizes, &ResourcePolicy::terms, &Terms::shown>,
     .applies = kOfMemory},
    {.name = "placement",
     .words = texts<kPlacements>,
     .fallback = "spread for replicas, pack for memory",
     .help =
         "Which free shares a container gets. spread: on as many different GPUs as possible. "
         "pack: on as few GPUs as possible. distributed, packed: each from the GPU with the "
         "fewest or the most shares in use, as in NVIDIA's plugin. The units of a memory "
         "resource always come from one GPU: the emptiest (spread) or the fullest that has room "
         "(pack).",
     .is_term = true,
     .field = word_member<kPlacements, &ResourcePolicy::terms, &Terms::placement>,
     .applies = kCut},
    {.name = "distinctGpus",
     .kind = kBool,
     .fallback = "false",
     .help = "Whether a container whose shares cannot all be on different GPUs is refused.",
     .is_term = true,
     .field = truth_member<&ResourcePolicy::terms, &Terms::distinct_gpus>,
     .applies = kCounted},
    {.name = "failRequestsGreaterThanOne",
     .kind = kBool,
     .fallback = "false",
     .help = "Whether a container that asks for more than one share is refused.",
     .is_term = true,
     .field = truth_member<&ResourcePolicy::terms, &Terms::one_share_only>,
     .applies = kCounted},
    {.name = "dialect",
     .words = texts<kDialects>,
     .fallback = "nvidia",
     .help = "The convention for a container's variables and mounts: nvidia, deepomatic, gcp, "
             "gpushare (for memory only), or nested-host for node pods.",
     .is_term = true,
     .field = word_member<kDialects, &ResourcePolicy::terms, &Terms::dialect>},
    {.name = "exposure",
     .words = texts<kExposures>,
     .fallback = "envvar",
     .help = "What a node pod sees of GPUs that it was not granted. envvar: NVIDIA_VISIBLE_DEVICES "
             "lists all GPUs of the node. all: device nodes, mounts and CDI names, too. granted: "
             "nothing of other GPUs. For nested-host.",
     .is_term = true,
     .field = word_member<kExposures, &ResourcePolicy::terms, &Terms::exposure>,
     .applies = is_for_nodes,
     .misfit = "is for node pods; it needs dialect: nested-host"},
    {.name = "enforcement",
     .words = texts<kDemands>,
     .fallback = "auto",
     .help = "What must limit a container to its share: driver, mps-exclusive, mps or none. If the "
             "node cannot do it, the shares are unhealthy. auto: the best that the node has.",
     .is_term = true,
     .field = word_member<kDemands, &ResourcePolicy::terms, &Terms::demanded>},
};

}  // namespace

RowKeys<NameRule> gpu_name_keys() { return kGpuNameKeys; }
RowKeys<NameRule> mig_name_keys() { return kMigNameKeys; }
RowKeys<Replication> replication_keys() { return kReplicationKeys; }
RowKeys<ResourcePolicy> policy_keys() { return kPolicyKeys; }

}  // namespace tranche::programs
