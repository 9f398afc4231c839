// SPDX-License-Identifier: Apache-2.0
#include "node/mps/launch.h"

#include <fmt/core.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "node/mps/canary.h"
#include "node/mps/driver_programs.h"
#include "os/errno_error.h"

namespace tranche::node {
namespace {

constexpr int kCannotRun = 126;

// Only one thread runs so far.
std::string variable(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe)
  return value == nullptr ? "" : value;
}

int complain(const std::string& message) {
  // Standard output is the daemon's log.
  std::fputs((message + "\n").c_str(), stdout);
  std::fflush(stdout);
  return kCannotRun;
}

int become(std::vector<std::string> words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  ::execv(pointers[0], pointers.data());
  return complain(errno_error("cannot run " + words[0]).message);
}

}  // namespace

int become_mps_server(const std::vector<std::string>& words) {
  const std::string server = variable(kServerVariable);
  if (server.empty()) {
    return complain(fmt::format("cannot run the MPS server: {} is not set", kServerVariable));
  }
  const std::string loader = variable(kLoaderVariable);
  std::vector<std::string> all;
  if (!loader.empty()) all = {loader, "--library-path", variable(kLibrariesVariable)};
  all.push_back(server);
  all.insert(all.end(), words.begin(), words.end());
  return become(std::move(all));
}

int become_with_shared_memory(const std::vector<std::string>& words) {
  if (words.size() < 2) return complain("mps-with-shm needs a folder and a program");
  if (::unshare(CLONE_NEWNS) != 0) {
    return complain(errno_error("cannot create a mount namespace").message);
  }
  // The new mount must not propagate to the parent namespace.
  if (::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
      ::mount(words[0].c_str(), "/dev/shm", nullptr, MS_BIND, nullptr) != 0) {
    return complain(errno_error(fmt::format("cannot mount {} at /dev/shm", words[0])).message);
  }
  return become({words.begin() + 1, words.end()});
}

std::optional<int> play_mps_role(const std::vector<std::string>& words) {
  if (words.empty()) return std::nullopt;
  const std::string name = words[0].substr(words[0].find_last_of('/') + 1);
  if (name == kServerProgram) return become_mps_server({words.begin() + 1, words.end()});
  if (words.size() < 2) return std::nullopt;
  if (words[1] == kCanaryCommand) return run_mps_canary(words.size() > 2 ? words[2] : "");
  if (words[1] == kSharedMemoryCommand) {
    return become_with_shared_memory({words.begin() + 2, words.end()});
  }
  return std::nullopt;
}

}  // namespace tranche::node
