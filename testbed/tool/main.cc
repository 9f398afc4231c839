// SPDX-License-Identifier: Apache-2.0
//
// tranche-sim: makes simulated nodes and lets things happen to them.
#include <algorithm>
#include <filesystem>
#include <functional>
#include <iostream>
#include <string>
#include <system_error>
#include <vector>

#include "os/files.h"
#include "testbed/node/simulated_node.h"
#include "testbed/tool/arguments.h"
#include "testbed/tool/faults.h"
#include "testbed/world/parse.h"
#include "testbed/worlds/builtin.h"

namespace tranche::testbed::sim {
namespace {

std::string help() {
  return R"(tranche-sim: a simulated NVIDIA driver for tests and demonstrations

  tranche-sim worlds [NAME]               lists the built-in worlds, or prints one
  tranche-sim models                      lists the known GPU models
  tranche-sim check WORLD                 reads a world and says what is in it
  tranche-sim make-root )" +
         synopsis("world root [plain-files] [library]") + R"(
                                          makes a folder that looks like the root of such a node
  tranche-sim fault --root FOLDER VERB …  lets something happen there; programs that run on it
                                          notice at once
  tranche-sim state --root FOLDER         prints the world as it is now

WORLD is a file or the name of a built-in world. G is a GPU: its place in the
world (0, 1, …), its uuid or its PCI address.

Programs use the simulated driver when they load
FOLDER/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1, for instance through
LD_LIBRARY_PATH. Any copy of that library takes its world from the file that
TRANCHE_SIM_WORLD names.

faults:
)" + fault_help();
}

// A file where there is one, else a built-in.
Result<World> find_world(const std::string& name) {
  if (path_exists(name)) return load_world(name);
  Result<World> world = builtin_world(name);
  if (!world) return world.error().in("no file '" + name + "'");
  return world;
}

// Beside this program, or in the folder for libraries beside its folder; else
// the build's own.
std::string find_library() {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  for (const char* place : {"libnvidia-ml.so.1", "../lib/tranche-sim/libnvidia-ml.so.1"}) {
    const std::string path = (self.parent_path() / place).string();
    if (!error && path_exists(path)) return path;
  }
  return "";
}

std::string count_of(std::size_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

std::string describe_gpu(std::size_t position, const Gpu& gpu) {
  std::string line = std::to_string(position) + ": " + gpu.model.name + "  " + gpu.uuid.text +
                     "  " + to_string(gpu.pci);
  if (gpu.numa_node >= 0) line += "  numa " + std::to_string(gpu.numa_node);
  if (!gpu.links.empty()) line += "  " + count_of(gpu.links.size(), "link");
  std::vector<std::string> parts;
  for (const auto& [instance, compute] : list_mig_devices(gpu)) {
    parts.push_back(profile_name(gpu, *instance, *compute));
  }
  if (gpu.mig.enabled) line += "  MIG " + (parts.empty() ? "on" : join(parts, ", "));
  return line;
}

Status check(Arguments& arguments) {
  const std::string name = arguments.word();
  if (name.empty()) arguments.add_problem("which world? a file or a built-in name");
  if (Status read = arguments.finish(); !read) return read;
  const Result<World> world = find_world(name);
  if (!world) return world.error();
  std::cout << "driver " << world->driver.version << ", " << count_of(world->gpus.size(), "GPU")
            << "\n";
  for (std::size_t i = 0; i < world->gpus.size(); ++i) {
    std::cout << describe_gpu(i, world->gpus[i]) << "\n";
  }
  return Done{};
}

Status list_worlds(Arguments& arguments) {
  const std::string name = arguments.word();
  if (Status read = arguments.finish(); !read) return read;
  if (!name.empty()) {
    if (const Result<World> world = builtin_world(name); !world) return world.error();
  }
  for (const BuiltinText& world : builtin_texts()) {
    if (name.empty()) std::cout << world.name << "\n    " << summary_of(world) << "\n";
    if (name == world.name) std::cout << world.text;
  }
  return Done{};
}

Status list_models(Arguments& arguments) {
  if (Status read = arguments.finish(); !read) return read;
  for (const std::string& key : model_keys()) {
    std::cout << key << "\n    " << find_model(key).value_or(Model{}).name << "\n";
  }
  return Done{};
}

Status make_root(Arguments& arguments) {
  const std::string name = arguments.needed("world");
  const std::string root = arguments.needed("root");
  NodeOptions options{.library = arguments.text("library").value_or(find_library()),
                      .plain_files = arguments.given("plain-files")};
  if (Status read = arguments.finish(); !read) return read;
  const Result<World> world = find_world(name);
  if (!world) return world.error();
  const Result<SimulatedNode> node = SimulatedNode::create(root, *world, options);
  if (!node) return node.error();
  std::cout << "made " << root << " with " << count_of(world->gpus.size(), "GPU") << "\n";
  return Done{};
}

Result<SimulatedNode> open_node(Arguments& arguments) {
  const auto root = arguments.text("root");
  if (!root) return Error{ErrorCode::kInvalidArgument, "--root is missing"};
  return SimulatedNode::open(*root);
}

Status print_state(Arguments& arguments) {
  const Result<SimulatedNode> node = open_node(arguments);
  if (!node) return node.error();
  if (Status read = arguments.finish(); !read) return read;
  const Result<World> world = node->world();
  if (!world) return world.error();
  std::cout << emit_world(*world);
  return Done{};
}

Status fault(Arguments& arguments) {
  const Result<SimulatedNode> node = open_node(arguments);
  if (!node) return node.error();
  const Result<World> world = node->world();
  if (!world) return world.error();
  const Result<Change> change = parse_fault(arguments.word(), arguments, *world);
  if (!change) return change.error();
  return node->apply(*change);
}

int run(std::vector<std::string> words) {
  const bool wants_help = std::ranges::any_of(words, [](const std::string& word) {
    return word == "--help" || word == "-h" || word == "help";
  });
  if (words.empty() || wants_help) {
    (words.empty() ? std::cerr : std::cout) << help();
    return words.empty() ? 2 : 0;
  }
  const std::map<std::string, std::function<Status(Arguments&)>> commands = {
      {"check", check},        {"fault", fault},       {"make-root", make_root},
      {"models", list_models}, {"state", print_state}, {"worlds", list_worlds}};
  const std::string name = words.front();
  words.erase(words.begin());
  const auto command = commands.find(name);
  if (command == commands.end()) {
    std::vector<std::string> names;
    names.reserve(commands.size());
    for (const auto& [each, ignored] : commands) names.push_back(each);
    const auto meant = nearest(name, names);
    std::cerr << "tranche-sim: there is no command '" << name << "'"
              << (meant ? "; did you mean '" + *meant + "'?" : ": " + join(names, ", ")) << "\n";
    return 2;
  }
  Arguments arguments(words);
  const Status done = command->second(arguments);
  if (done) return 0;
  std::cerr << "tranche-sim: " << done.error().message << "\n";
  return 1;
}

}  // namespace
}  // namespace tranche::testbed::sim

int main(int count, char** words) {
  try {
    return tranche::testbed::sim::run({words + 1, words + count});
  } catch (const std::exception& exception) {
    std::cerr << "tranche-sim: " << exception.what() << "\n";
    return 1;
  }
}
