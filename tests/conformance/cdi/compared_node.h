// SPDX-License-Identifier: Apache-2.0
//
// A simulated node, and two views of it: nvidia-ctk's and ours.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/path.h"
#include "core/cdi/cdi_plan.h"
#include "core/cdi/driver_files.h"
#include "core/gpu/inventory.h"
#include "os/testing/temp_dir.h"
#include "testbed/world/world.h"

namespace tranche::tests {

class ComparedNode {
 public:
  explicit ComparedNode(const sim::World& world);

  const std::string& root() const { return folder_.path(); }
  std::string path(const std::string& inside) const { return below(root(), inside); }
  const Inventory& inventory() const { return inventory_; }

  // Ours.
  DriverFiles files() const;
  CdiPlan plan(CdiOptions options = {}, const GrantOptions& grant = {}) const;

  // These fail the running test on any difference that is not explained, and
  // return the names of those that are. `flags` are for nvidia-ctk.
  std::set<std::string> compare_gpus(const CdiOptions& options = {},
                                     std::vector<std::string> flags = {}) const;
  std::set<std::string> compare_class(const std::string& device_class, const GrantOptions& grant,
                                      const std::vector<std::string>& flags) const;
  std::set<std::string> compare_with(const std::vector<std::string>& flags, const CdiPlan& ours,
                                     const std::string& device_class) const;

 private:
  TempDir folder_;
  Inventory inventory_;
};

}  // namespace tranche::tests
