// SPDX-License-Identifier: Apache-2.0
#include "testbed/driver/session.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "base/path.h"
#include "os/files.h"
#include "testbed/world/changes.h"
#include "testbed/world/world_file.h"

namespace tranche::testbed::sim {
namespace {

namespace abi = nvml::abi;

// An address inside this library, to find its file by.
constexpr char kInThisLibrary = 0;

// Whether a fault's name means this function: exactly, or all its versions.
bool names(std::string_view fault, std::string_view function) {
  if (!function.starts_with(fault)) return false;
  const std::string_view rest = function.substr(fault.size());
  return rest.empty() || (rest.size() == 3 && rest.starts_with("_v"));
}

// A driver that its last client closes forgets what it counted, unless persistence
// mode keeps it. Sessions of other processes are not known here: a world has only
// those clients by the processes on its GPUs.
void forget_counters(LiveWorld& live) {
  const Result<Snapshot> world = live.now();
  if (!world || std::ranges::all_of((*world)->gpus, &Gpu::persistence)) return;
  // Without the right to write there, the counters stay.
  static_cast<void>(edit_world_file(live.path(), close_driver()));
}

std::vector<SeenGpu> enumerate(const World& world) {
  std::vector<SeenGpu> seen;
  for (const Gpu& gpu : world.gpus) {
    if (gpu.state != Gpu::State::kOffBus) seen.push_back({gpu.uuid, gpu.generation});
  }
  return seen;
}

}  // namespace

std::string world_path() {
  // Read once per session; nobody in this library writes the environment.
  const char* named = std::getenv("TRANCHE_SIM_WORLD");  // NOLINT(concurrency-mt-unsafe)
  if (named != nullptr && *named != '\0') return named;
  Dl_info info{};
  if (::dladdr(&kInThisLibrary, &info) == 0 || info.dli_fname == nullptr) return "";
  std::string folder = parent_of(info.dli_fname);
  while (true) {
    std::string path = below(folder, "tranche-sim/world.yaml");
    if (path_exists(path)) return path;
    if (folder == "/" || folder == ".") return "";
    folder = parent_of(folder);
  }
}

abi::Return Session::begin(std::string_view function) {
  const std::string path = world_path();
  if (path.empty()) {
    std::fprintf(stderr,
                 "simulated driver: no world: set TRANCHE_SIM_WORLD or put tranche-sim/world.yaml "
                 "into a folder above the library\n");
    return abi::kDriverNotLoaded;
  }
  const std::shared_ptr<LiveWorld> live = live_at(path);
  while (true) {
    const Result<Snapshot> world = live->now();
    if (!world) return abi::kUnknown;
    const Verdict verdict = judge(**world, function, {});
    if (verdict.blocks) {
      live->wait(*world, LiveWorld::Time::max());
      continue;
    }
    if (verdict.code != abi::kSuccess) return verdict.code;
    const Driver& driver = (*world)->driver;
    if (!driver.loaded) return abi::kDriverNotLoaded;
    if (driver.version != driver.module_version) return abi::kLibRmVersionMismatch;
    const std::lock_guard lock(mutex_);
    if (references_++ == 0) {
      live_ = live;
      gpus_ = std::make_shared<const std::vector<SeenGpu>>(enumerate(**world));
    }
    return abi::kSuccess;
  }
}

// Kept over sessions: a client that begins one for every look would parse the
// file each time.
std::shared_ptr<LiveWorld> Session::live_at(const std::string& path) {
  const std::lock_guard lock(mutex_);
  if (live_ && live_->path() == path) return live_;
  auto live = std::make_shared<LiveWorld>(path);
  if (references_ == 0) live_ = live;
  return live;
}

abi::Return Session::end(std::string_view function) {
  // Also while the driver is unloaded: a session can always be ended.
  for (std::shared_ptr<LiveWorld> open = live(); open != nullptr;) {
    const Result<Snapshot> world = open->now();
    const Verdict verdict = world ? judge(**world, function, {}) : Verdict{};
    if (!verdict.blocks && verdict.code != abi::kSuccess) return verdict.code;
    if (!verdict.blocks) break;
    open->wait(*world, LiveWorld::Time::max());
  }
  const std::lock_guard lock(mutex_);
  if (references_ == 0) return abi::kUninitialized;
  if (--references_ == 0) forget_counters(*live_);
  return abi::kSuccess;
}

std::shared_ptr<LiveWorld> Session::live() const {
  const std::lock_guard lock(mutex_);
  return references_ > 0 ? live_ : nullptr;
}

std::shared_ptr<const std::vector<SeenGpu>> Session::gpus() const {
  const std::lock_guard lock(mutex_);
  return gpus_;
}

Session::Verdict Session::judge(const World& world, std::string_view function,
                                std::span<const GpuUuid> gpus) {
  for (const CallFault& fault : world.faults) {
    if (fault.field || !names(fault.call, function)) continue;
    if (fault.gpu.has_value() == gpus.empty()) continue;
    if (fault.gpu && std::ranges::count(gpus, *fault.gpu) == 0) continue;
    if (!comes_now(fault)) continue;
    if (fault.blocks) return {.blocks = true, .fault = fault.number};
    return {.code = fault.code};
  }
  return {};
}

abi::Return Session::judge_field(const World& world, const GpuUuid& gpu, unsigned field) {
  for (const CallFault& fault : world.faults) {
    if (fault.field != field || (fault.gpu && *fault.gpu != gpu)) continue;
    if (comes_now(fault)) return fault.code;
  }
  return abi::kSuccess;
}

bool Session::comes_now(const CallFault& fault) {
  if (!fault.times) return true;
  const std::lock_guard lock(mutex_);
  unsigned& count = fault_counts_[fault.number];
  if (count >= *fault.times) return false;
  ++count;
  return true;
}

}  // namespace tranche::testbed::sim
