// SPDX-License-Identifier: Apache-2.0
#include "node/mps/driver_programs.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/path.h"
#include "base/text.h"
#include "node/cdi/driver_root.h"

namespace tranche::node {
namespace {

constexpr std::array kProgramFolders = {"/usr/bin", "/bin", "/usr/local/nvidia/bin", "/opt/bin",
                                        "/usr/local/bin"};
constexpr std::array kLoaders = {"/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1"};

std::optional<std::string> find_program(const DriverRoot& root, const std::string& name) {
  for (const char* folder : kProgramFolders) {
    const std::optional<std::string> found = root.resolve(fmt::format("{}/{}", folder, name));
    if (found) return root.here(*found);
  }
  return std::nullopt;
}

void add_folder(std::vector<std::string>& folders, const std::string& file) {
  const std::string folder = parent_of(file);
  if (std::ranges::find(folders, folder) == folders.end()) folders.push_back(folder);
}

std::optional<DriverPrograms> find_below(const std::string& driver_root) {
  DriverRoot root(driver_root);
  const std::optional<std::string> control = find_program(root, kControlProgram);
  const std::optional<std::string> server = find_program(root, kServerProgram);
  if (!control || !server) return std::nullopt;
  DriverPrograms programs{.control = *control, .server = *server};
  const std::vector<std::string> libcuda = root.libraries("libcuda.so.1");
  if (!libcuda.empty()) programs.libcuda = root.here(libcuda.front());
  if (driver_root == "/") return programs;
  for (const char* loader : kLoaders) {
    const std::optional<std::string> found = root.resolve(loader);
    if (found) programs.loader = root.here(*found);
  }
  if (programs.loader.empty()) return programs;
  for (const char* pattern : {"libcuda.so.1", "libc.so.6"}) {
    for (const std::string& file : root.libraries(pattern)) {
      add_folder(programs.library_folders, root.here(file));
    }
  }
  return programs;
}

std::string entry(const std::string& name, const std::string& value) {
  return fmt::format("{}={}", name, value);
}

std::string visible(const MpsDaemonPlan& plan) { return join(plan.devices, ","); }

}  // namespace

Result<DriverPrograms> find_programs(const MpsPlaces& places) {
  std::optional<DriverPrograms> found = find_below(places.driver_root);
  // NVIDIA's container runtime mounts the driver's programs into our own root.
  if (!found && places.driver_root != "/") found = find_below("/");
  if (found) return *std::move(found);
  return Error{ErrorCode::kNotFound,
               fmt::format("{} is not in the driver root {}, nor in /, or {} is not beside it "
                           "(looked in {})",
                           kControlProgram, places.driver_root, kServerProgram,
                           join({kProgramFolders.begin(), kProgramFolders.end()}, ", "))};
}

std::vector<std::string> control_words(const DriverPrograms& programs) {
  if (programs.loader.empty()) return {programs.control};
  return {programs.loader, "--library-path", join(programs.library_folders, ":"), programs.control};
}

Command daemon_command(const DriverPrograms& programs, const MpsDaemonPlan& plan,
                       const MpsPlaces& places, const std::string& path_folder) {
  Command command;
  if (plan.shared_memory) command.words = {places.self, kSharedMemoryCommand, plan.shm()};
  for (const std::string& word : control_words(programs)) command.words.push_back(word);
  command.words.emplace_back("-f");
  // Without it a client of a second user waits until the first user's clients have ended.
  command.words.emplace_back("--multiuser-server");
  command.environment = {
      entry("CUDA_MPS_PIPE_DIRECTORY", plan.pipe()),
      entry("CUDA_MPS_LOG_DIRECTORY", plan.log()),
      entry("CUDA_VISIBLE_DEVICES", visible(plan)),
      // The daemon starts the first `nvidia-cuda-mps-server` in its PATH.
      entry("PATH", path_folder),
      entry(kServerVariable, programs.server),
      entry(kLoaderVariable, programs.loader),
      entry(kLibrariesVariable, join(programs.library_folders, ":")),
  };
  return command;
}

Command question_command(const DriverPrograms& programs, const std::string& pipe) {
  return {.words = control_words(programs),
          .environment = {entry("CUDA_MPS_PIPE_DIRECTORY", pipe)}};
}

Command canary_command(const DriverPrograms& programs, const MpsDaemonPlan& plan,
                       const MpsPlaces& places) {
  Command command{.words = {places.self, kCanaryCommand},
                  .environment = {
                      // The folder that containers get.
                      entry("CUDA_MPS_PIPE_DIRECTORY", plan.client_view()),
                      entry("CUDA_VISIBLE_DEVICES", visible(plan)),
                      // Fewer multiprocessors make a smaller context: 58 MiB instead of 518 on an
                      // H200.
                      entry("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "1"),
                  }};
  if (!programs.libcuda.empty()) command.words.push_back(programs.libcuda);
  return command;
}

}  // namespace tranche::node
