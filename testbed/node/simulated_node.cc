// SPDX-License-Identifier: Apache-2.0
#include "testbed/node/simulated_node.h"

#include "base/path.h"
#include "os/files.h"
#include "testbed/node/file_writer.h"
#include "testbed/node/host_files.h"
#include "testbed/world/parse.h"
#include "testbed/world/world_file.h"

namespace tranche::testbed::sim {
namespace {

constexpr const char* kFolder = "/tranche-sim";
constexpr const char* kWorld = "/tranche-sim/world.yaml";
// There: nodes below this root are plain files.
constexpr const char* kPlain = "/tranche-sim/plain-files";

}  // namespace

Result<SimulatedNode> SimulatedNode::create(const std::string& root, const World& world,
                                            const NodeOptions& options) {
  SimulatedNode node(root);
  if (Status made = make_directories(node.path(kFolder)); !made) return made.error();
  FileWriter writer(root, {.library = options.library, .plain_files = options.plain_files});
  if (Status said = writer.remember_plain_files(node.path(kPlain)); !said) return said.error();
  // What an earlier world had here goes first.
  if (const Result<World> old = node.world()) {
    if (Status removed = writer.replace(host_files(*old), {}); !removed) return removed.error();
  }
  // Files before the world: who finds the world finds the rest.
  if (Status written = writer.replace({}, host_files(world)); !written) return written.error();
  if (Status logged = writer.append_log({}, world); !logged) return logged.error();
  if (Status written = write_world_file(node.world_file(), world); !written) {
    return written.error();
  }
  return node;
}

Result<SimulatedNode> SimulatedNode::open(const std::string& root) {
  SimulatedNode node(root);
  if (const Result<World> world = node.world(); !world) {
    return world.error().in(root + " is no simulated node (tranche-sim make-root makes one)");
  }
  return node;
}

Result<World> SimulatedNode::world() const { return load_world(world_file()); }

Status SimulatedNode::apply(const Change& change) const {
  const bool plain = path_exists(path(kPlain));
  const Result<WorldEdit> edit =
      edit_world_file(world_file(), change, [&](const WorldEdit& made) -> Status {
        FileWriter writer(root_, {.library = driver_library(), .plain_files = plain});
        if (Status written = writer.replace(host_files(made.before), host_files(made.after));
            !written) {
          return written.error();
        }
        return writer.append_log(made.before, made.after);
      });
  if (!edit) return edit.error();
  return Done{};
}

std::string SimulatedNode::world_file() const { return path(kWorld); }
std::string SimulatedNode::kernel_log() const { return path("/dev/kmsg"); }
std::string SimulatedNode::driver_library() const {
  return path("/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1");
}
std::string SimulatedNode::path(const std::string& on_host) const { return below(root_, on_host); }

}  // namespace tranche::testbed::sim
