// SPDX-License-Identifier: Apache-2.0
//
// SimulatedNode owns a folder that looks like the root of a node: below it are
// the device nodes, /proc, /sys and driver files of a world, and the live world
// itself, which the simulated driver library in the same folder answers from.
// Changes are applied to both, so they never disagree for long.
//
// The folder may be used by several programs at once; changes take turns.
// A SimulatedNode is a name for the folder: copies are equal, and the folder
// stays when they go.
#pragma once

#include <string>

#include "base/result.h"
#include "testbed/world/changes.h"
#include "testbed/world/world.h"

namespace tranche::testbed::sim {

struct NodeOptions {
  // The built libnvidia-ml.so.1, to copy from. Empty: the build's own.
  std::string library;
  // Device nodes are plain files, also where real ones could be made.
  bool plain_files = false;
};

class SimulatedNode {
 public:
  // Makes the folder, or makes it anew from this world.
  static Result<SimulatedNode> create(const std::string& root, const World& world,
                                      const NodeOptions& options = {});
  // One that was made before.
  static Result<SimulatedNode> open(const std::string& root);

  Result<World> world() const;
  Status apply(const Change& change) const;

  const std::string& root() const { return root_; }
  std::string world_file() const;
  std::string kernel_log() const;      // where XIDs are logged: /dev/kmsg
  std::string driver_library() const;  // to load: /usr/lib/…/libnvidia-ml.so.1
  std::string path(const std::string& on_host) const;

 private:
  explicit SimulatedNode(std::string root) : root_(std::move(root)) {}

  std::string root_;
};

}  // namespace tranche::testbed::sim
