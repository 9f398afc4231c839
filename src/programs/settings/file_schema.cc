// SPDX-License-Identifier: Apache-2.0
#include "programs/settings/file_schema.h"

#include "programs/settings/flag_table.h"
#include "programs/settings/row_keys.h"

namespace tranche::programs {
namespace {

using enum KeyKind;
constexpr std::string_view kOther = "NVIDIA's gpu-feature-discovery";

constexpr Word<int> kVersions[] = {{"v1", 1}};

// Keys that both replica sections have.
void add_replication_keys(std::vector<KeySpec>& all, const std::string& section,
                          std::string_view fails_by_default) {
  all.push_back({.path = section + ".renameByDefault",
                 .kind = kBool,
                 .fallback = "false",
                 .help = "Whether a row without rename gets <name>.shared."});
  all.push_back({.path = section + ".failRequestsGreaterThanOne",
                 .kind = kBool,
                 .fallback = fails_by_default,
                 .help = "Whether a container that asks for more than one replica is refused."});
  all.push_back({.path = section + ".resources",
                 .kind = kRows,
                 .help = "Resources to replicate. At least one row; no device in two rows."});
  add_row_keys(all, section + ".resources", replication_keys());
}

// Keys that are no options, in the file's order. Keys of options follow their section.
std::vector<KeySpec> structure() {
  std::vector<KeySpec> all = {
      {.path = "version",
       .fallback = "v1",
       .help = "The format of the file: v1.",
       .choices = texts<kVersions>},
      {.path = "flags", .kind = kSection, .help = "Settings that are also flags."},
      {.path = "flags.plugin", .kind = kSection, .help = "Those of the device plugin only."},
      {.path = "flags.useNodeFeatureAPI", .kind = kBool, .owner = kOther},
      {.path = "flags.gfd",
       .kind = kSection,
       .help = "Node labels, as NVIDIA's gpu-feature-discovery has them."},
      {.path = "flags.gfd.oneshot", .kind = kBool, .owner = kOther},
      {.path = "flags.gfd.noCleanupOnExit", .kind = kBool, .owner = kOther},
      {.path = "flags.gfd.sleepInterval", .kind = kAnyDuration, .owner = kOther},
      {.path = "resources",
       .kind = kSection,
       .help = "Names of resources by GPU model or MIG profile. The first row that matches wins; "
               "devices without a match keep their usual name."},
      {.path = "resources.gpus", .kind = kRows, .help = "For whole GPUs."},
  };
  add_row_keys(all, "resources.gpus", gpu_name_keys());
  all.push_back({.path = "resources.mig", .kind = kRows, .help = "For MIG devices."});
  add_row_keys(all, "resources.mig", mig_name_keys());
  all.push_back(
      {.path = "sharing", .kind = kSection, .help = "GPUs that several containers use at once."});
  all.push_back({.path = "sharing.timeSlicing",
                 .kind = kSection,
                 .help = "Replicas: a GPU is offered several times; its users take turns."});
  add_replication_keys(all, "sharing.timeSlicing", "false");
  all.push_back(
      {.path = "sharing.mps",
       .kind = kSection,
       .help =
           "Replicas whose users go through MPS, each limited to its part of the memory. With rows "
           "in both sections those of timeSlicing have no effect, as in NVIDIA's plugin."});
  add_replication_keys(all, "sharing.mps", "true");
  all.insert(
      all.end(),
      {
          {.path = "imex", .kind = kSection, .help = "IMEX channels for containers."},
          {.path = "tranche",
           .kind = kSection,
           .help = "Settings that NVIDIA's plugin does not have."},
          {.path = "tranche.cluster",
           .kind = kSection,
           .help = "What the agent writes at the API server."},
          {.path = "tranche.mps", .kind = kSection, .help = "How containers reach MPS."},
          {.path = "tranche.nested",
           .kind = kSection,
           .help = "Clusters whose nodes are pods of this one, or of which this is a pod."},
          {.path = "tranche.policies",
           .kind = kRows,
           .help = "How devices are offered: each row offers the devices that match it. Devices "
                   "without a match are offered according to the rest of the file. Rows replace "
                   "those of the profile."},
      });
  add_row_keys(all, "tranche.policies", policy_keys());
  return all;
}

constexpr std::string_view kPolicy = "tranche.policies[]";
constexpr Synonym kSynonyms[] = {
    {kPolicy, "name", "resource"},
    {kPolicy, "resourceName", "resource"},
    {kPolicy, "rename", "resource"},
    {kPolicy, "pattern", "model"},
    {kPolicy, "profile", "migProfile"},
    {kPolicy, "gpus", "devices"},
    {kPolicy, "count", "replicas"},
    {kPolicy, "memoryUnit", "unit"},
    {kPolicy, "strategy", "share"},
    {kPolicy, "timeSlicing", "share: replicas"},
    {kPolicy, "mps", "enforcement: mps"},
    {"sharing.timeSlicing.resources[]", "resource", "name"},
    {"sharing.mps.resources[]", "resource", "name"},
};

}  // namespace

const Schema& file_schema() {
  static const Schema schema(structure(), flag_table(), kSynonyms);
  return schema;
}

}  // namespace tranche::programs
