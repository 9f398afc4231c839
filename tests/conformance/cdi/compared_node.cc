// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/cdi/compared_node.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "formats/cdi_json.h"
#include "node/cdi/find_driver_files.h"
#include "testbed/node/simulated_node.h"
#include "tests/conformance/cdi/explained.h"
#include "tests/conformance/cdi/nvidia_ctk.h"
#include "tests/conformance/cdi/spec_entries.h"
#include "tests/conformance/cdi/world_inventory.h"

namespace tranche::tests {

using ::testing::IsEmpty;

ComparedNode::ComparedNode(const sim::World& world) : inventory_(inventory_of(world)) {
  const auto made = sim::SimulatedNode::create(folder_.path(), world);
  if (!made) ADD_FAILURE() << made.error().message;
}

DriverFiles ComparedNode::files() const {
  DriverFiles files = find_driver_files(inventory_, {.container_driver_root = root()}, root());
  files.toolkit = {.version = ToolkitVersion{1, 20, 1}, .is_exact = true};  // what is compared with
  return files;
}

// nvidia-ctk writes the paths it finds things at, so for us too the host's
// roots are where we see them.
CdiPlan ComparedNode::plan(CdiOptions options, const GrantOptions& grant) const {
  options.driver_root = options.container_driver_root = options.dev_root = root();
  options.limits_memory = true;
  return cdi_plan(inventory_, files(), options, grant);
}

std::set<std::string> ComparedNode::compare_gpus(const CdiOptions& options,
                                                 std::vector<std::string> flags) const {
  flags.insert(flags.end(), {"--mode", "nvml", "--device-name-strategy", "uuid",
                             "--nvidia-cdi-hook-path", options.hook_path});
  return compare_with(flags, plan(options), "gpu");
}

std::set<std::string> ComparedNode::compare_class(const std::string& device_class,
                                                  const GrantOptions& grant,
                                                  const std::vector<std::string>& flags) const {
  return compare_with(flags, plan({}, grant), device_class);
}

std::set<std::string> ComparedNode::compare_with(const std::vector<std::string>& flags,
                                                 const CdiPlan& ours,
                                                 const std::string& device_class) const {
  std::vector<std::string> all_flags = {"--class", device_class};
  all_flags.insert(all_flags.end(), flags.begin(), flags.end());
  const Result<std::string> theirs = nvidia_ctk_generate(root(), all_flags);
  if (!theirs) {
    ADD_FAILURE() << theirs.error().message;
    return {};
  }
  const auto spec = std::ranges::find(ours.specs, device_class, &CdiSpec::device_class);
  if (spec == ours.specs.end()) {
    ADD_FAILURE() << "we have no specification of class " << device_class;
    return {};
  }
  const Comparison comparison = compare(*spec_entries(*theirs), *spec_entries(*cdi_json(*spec)),
                                        explained_differences(root(), inventory_, files()));
  EXPECT_THAT(comparison.unexplained, IsEmpty());
  return comparison.used;
}

}  // namespace tranche::tests
