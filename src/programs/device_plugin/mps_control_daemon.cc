// SPDX-License-Identifier: Apache-2.0
#include "apps/mps_control_daemon.h"

#include <poll.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <iostream>
#include <utility>

#include "apps/config_watch.h"
#include "base/errno_error.h"
#include "base/files.h"
#include "base/unique_fd.h"
#include "base/wake_fd.h"
#include "host/host_files.h"
#include "inventory/gpu_numbers_file.h"
#include "inventory/node_state.h"
#include "mps/nvidia_layout.h"
#include "mps/supervisor.h"
#include "nvml/nvml_source.h"
#include "sharing/offer.h"

namespace tranche {
namespace {

constexpr const char* kProgram = "mps-control-daemon";
// Where the chart mounts the host's mps.root.
constexpr const char* kRoot = "/mps";
// Between two looks at the driver and at a file behind links.
constexpr int kLookAgainMs = 30'000;

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

Result<DriverReading> look_at_driver(const Settings& settings, Log& log) {
  nvml::NvmlSource source(settings.driver, HostFiles(settings.host_root), log);
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
        config_watch_(settings_.config_file),
        supervisor_({.driver_root = settings_.driver.container_root}, {}, {}, log_) {
    log_.configure(settings_.log_format, settings_.log_level);
    supervisor_.on_report([this] { news_.ring(); });
  }

  int run() {
    plan();
    mark();
    for (bool goes_on = true; goes_on;) {
      std::array<pollfd, 3> fds{pollfd{signals_.get(), POLLIN, 0}, pollfd{news_.fd(), POLLIN, 0},
                                pollfd{config_watch_.fd(), POLLIN, 0}};
      const int ready = ::poll(fds.data(), fds.size(), kLookAgainMs);
      if (fds[0].revents != 0) goes_on = take_signal();
      if (fds[1].revents != 0) news_.clear();
      if (config_watch_.changed()) reload();
      if (ready == 0) plan();
      mark();
    }
    log_.info("stopping");
    plan_ = {};
    for (const std::string& path : marked_) ::unlink(path.c_str());
    supervisor_.stop();
    return 0;
  }

 private:
  // False: it asks us to end.
  bool take_signal() {
    signalfd_siginfo info{};
    if (::read(signals_.get(), &info, sizeof(info)) != sizeof(info)) return true;
    if (info.ssi_signo != SIGHUP) return false;
    reload();
    return true;
  }

  void reload() {
    const Result<Loaded> loaded = load_settings(sources_);
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
      const Result<DriverReading> reading = look_at_driver(settings_, log_);
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
      const HostFiles host(settings_.host_root);
      // The agent's numbers, where its folder is mounted here.
      if (auto numbers = read_gpu_numbers(gpu_numbers_path(settings_.state_dir))) {
        state_.inventory.numbers = *std::move(numbers);
      }
      state_ = with_reading(
          std::move(state_), *reading,
          {.has_pci_device = [&](const PciAddress& pci) { return host.has_pci_device(pci); }});
      plan_ = plan_nvidia_layout(offer(present(state_), settings_.sharing), root_);
    }
    supervisor_.set_plan(plan_);
  }

  // Tells the plugin, by files, what takes clients.
  void mark() {
    NvidiaMarkers markers = nvidia_markers(plan_, *supervisor_.reports().get().value, root_);
    for (const std::string& path : markers.absent) ::unlink(path.c_str());
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
  MpsSupervisor supervisor_;  // last: its thread rings news_
};

// Taken by poll; blocked before any thread is there, so that all inherit it.
UniqueFd open_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int number : {SIGHUP, SIGINT, SIGTERM, SIGQUIT}) sigaddset(&signals, number);
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  return UniqueFd(::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
}

// Takes "--root DIR", where the layout lies, out of the arguments.
std::string take_root(std::vector<std::string>& arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (!arguments[i].starts_with("--root=")) continue;
    const std::string root = arguments[i].substr(7);
    arguments.erase(arguments.begin() + static_cast<std::ptrdiff_t>(i));
    return root;
  }
  return kRoot;
}

}  // namespace

std::optional<int> run_as_mps_control_daemon(const Sources& given) {
  if (given.program.substr(given.program.find_last_of('/') + 1) != kProgram) return std::nullopt;
  Sources sources = given;
  const std::string root = take_root(sources.arguments);
  if (sources.arguments == std::vector<std::string>{"mount-shm"}) return mount_shm(root);
  const Result<Loaded> loaded = load_settings(sources);
  if (!loaded) return complain(loaded.error().message);
  UniqueFd signals = open_signals();
  if (!signals) return complain(errno_error("signalfd").message);
  return ControlDaemon(std::move(sources), *loaded, root, std::move(signals)).run();
}

}  // namespace tranche
