// SPDX-License-Identifier: Apache-2.0
#include "programs/device_plugin/mps_control_daemon.h"

#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <utility>

#include "base/path.h"
#include "core/health/node_state.h"
#include "core/mps/nvidia_layout.h"
#include "core/sharing/offer.h"
#include "node/driver/gpu_numbers_file.h"
#include "node/driver/kernel_files.h"
#include "node/driver/nvml/nvml_source.h"
#include "node/mps/supervisor.h"
#include "os/errno_error.h"
#include "os/files.h"
#include "os/loop.h"
#include "os/settings/command_line.h"
#include "os/settings/config_watch.h"
#include "os/signals.h"
#include "os/unique_fd.h"
#include "os/wake_fd.h"
#include "programs/device_plugin/config_reload.h"
#include "programs/device_plugin/mps_compute_modes.h"
#include "programs/settings/command_options.h"

namespace tranche::programs {
namespace {

constexpr const char* kProgram = "mps-control-daemon";
// Between two looks at the driver and at a file behind links.
constexpr std::chrono::seconds kLookAgain{30};

int complain(const std::string& message) {
  std::cerr << kProgram << ": " << message << "\n";
  return 1;
}

bool is_mount_point(const std::string& folder) {
  struct stat own = {};
  struct stat above = {};
  return ::stat(folder.c_str(), &own) == 0 && ::stat(parent_of(folder).c_str(), &above) == 0 &&
         own.st_dev != above.st_dev;
}

// The chart's init container: everybody's /dev/shm.
int mount_shm(const std::string& root) {
  const std::string folder = root + "/shm";
  if (Status made = make_directories(folder); !made) return complain(made.error().message);
  // An init container that runs again must not cover what is in use.
  if (is_mount_point(folder)) return 0;
  const Result<std::string> meminfo = read_file("/proc/meminfo");
  const std::string options = shm_options(meminfo ? *meminfo : "");
  const unsigned long flags = MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_RELATIME;
  if (::mount("shm", folder.c_str(), "tmpfs", flags, options.c_str()) != 0) {
    return complain(errno_error("mounting a tmpfs at " + folder).message);
  }
  return 0;
}

// One source for all looks: it knows which calls do not return, and makes none after them.
Result<DriverReading> look_at_driver(nvml::NvmlSource& source) {
  if (Status opened = source.open(); !opened) return opened.error();
  Result<DriverReading> reading = source.read({});
  source.close();
  return reading;
}

class ControlDaemon {
 public:
  ControlDaemon(Sources sources, const Loaded& loaded, std::string root, UniqueFd signals)
      : sources_(std::move(sources)),
        settings_(loaded.settings),
        root_(std::move(root)),
        signals_(std::move(signals)),
        config_watch_(settings_.config_file, loaded.file_text),
        source_(settings_.driver, KernelFiles(settings_.host_root), log_),
        modes_(settings_.driver),
        supervisor_({.driver_root = settings_.driver.container_root}, {}, modes_.driver(), log_) {
    log_.configure(settings_.log_format, settings_.log_level);
    supervisor_.on_report([this] { news_.ring(); });
  }

  int run() {
    plan();
    mark();
    Loop loop;
    loop.on_signal(signals_, [&](int signal) {
      if (signal != SIGHUP) return loop.stop();
      config_watch_.insist();
    });
    loop.on_ring(news_, [] {});
    follow(loop, config_watch_, log_, [this](const ConfigReading& reading) { reload(reading); });
    // Clients that come and go ring too; they do not put this off.
    loop.every(kLookAgain, [this] { plan(); });
    loop.after_each([this] { mark(); });
    loop.run();
    log_.info("stopping");
    plan_ = {};
    for (const std::string& path : marked_) ::unlink(path.c_str());
    supervisor_.stop();
    return 0;
  }

 private:
  void reload(const ConfigReading& reading) {
    const Result<Loaded> loaded = load_reading(sources_, settings_.config_file, reading);
    if (!loaded) {
      log_.error("the new configuration is bad; the old one stays",
                 {{"reason", loaded.error().message}});
      return;
    }
    settings_ = loaded->settings;
    plan();
  }

  void plan() {
    if (!settings_.sharing.replicas_use_mps) {
      if (told_.changed("plan", "none")) log_.info("sharing.mps is not configured: no daemon");
      plan_ = {};
    } else {
      const Result<DriverReading> reading = look_at_driver(source_);
      // A driver that does not answer says nothing of what is there.
      if (!reading) {
        if (told_.changed("plan", reading.error().message)) {
          log_.warning("the driver cannot be read", {{"reason", reading.error().message}});
        }
        return;
      }
      told_.forget("plan");
      // On top of what was known: a GPU that is lost must not end the clients of
      // the others, which have the same daemon.
      const KernelFiles host(settings_.host_root);
      // The agent's numbers, where its folder is mounted here.
      if (auto numbers = read_gpu_numbers(gpu_numbers_path(settings_.state_dir))) {
        state_.inventory.numbers = *std::move(numbers);
      }
      state_ = with_reading(
          std::move(state_), *reading,
          {.has_pci_device = [&](const PciAddress& pci) { return host.has_pci_device(pci); }});
      plan_ = plan_nvidia_layout(offer(present(state_), settings_.sharing), root_);
      plan_.rules = settings_.mps.rules;
    }
    supervisor_.set_plan(plan_);
  }

  // Tells the plugin, by files, what takes clients.
  void mark() {
    NvidiaMarkers markers = nvidia_markers(plan_, *supervisor_.reports().get().value, root_);
    for (const std::string& path : markers.absent) ::unlink(path.c_str());
    // Those of a daemon that is no longer planned.
    for (const std::string& path : marked_) {
      if (std::ranges::find(markers.present, path) == markers.present.end()) ::unlink(path.c_str());
    }
    for (const std::string& path : markers.present) {
      if (path_exists(path)) continue;
      if (Status made = write_atomically(path, ""); !made) {
        log_.warning("a mark cannot be set", {{"reason", made.error().message}});
      }
    }
    marked_ = std::move(markers.present);
  }

  const Sources sources_;
  Settings settings_;
  const std::string root_;
  const UniqueFd signals_;
  Log log_;
  OnChange told_;
  const WakeFd news_;
  ConfigWatch config_watch_;
  NodeState state_;
  MpsPlan plan_;
  std::vector<std::string> marked_;
  nvml::NvmlSource source_;
  MpsComputeModes modes_;
  MpsSupervisor supervisor_;  // last: its thread rings news_
};

// Taken by poll; blocked before any thread is there, so that all inherit it.
}  // namespace

std::optional<int> run_as_mps_control_daemon(const Sources& given) {
  if (given.program.substr(given.program.find_last_of('/') + 1) != kProgram) return std::nullopt;
  Sources sources = given;
  sources.command_options = options_of_command(kProgram);
  const Result<CommandOptions> options = read_command_options(sources);
  if (!options) return complain(options.error().message);
  // It needs no settings, and takes none.
  const CommandLine line = parse_command_line(sources.command_options, sources.arguments);
  if (line.problems.empty() && line.positionals == std::vector<std::string>{"mount-shm"}) {
    return mount_shm(options->root);
  }
  const Result<Loaded> loaded = load_settings(sources);
  if (!loaded) return complain(loaded.error().message);
  if (!loaded->settings.named_configs.folder.empty()) {
    return complain(
        "--config-dir: mps-control-daemon takes one file, by --config-file; "
        "config-manager keeps one current");
  }
  Result<UniqueFd> signals = take_signals({SIGHUP, SIGINT, SIGTERM, SIGQUIT});
  if (!signals) return complain(signals.error().message);
  return ControlDaemon(std::move(sources), *loaded, options->root, *std::move(signals)).run();
}

}  // namespace tranche::programs
