// SPDX-License-Identifier: Apache-2.0
#include "apps/agent.h"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "apps/announcements.h"
#include "apps/compose.h"
#include "apps/config_watch.h"
#include "apps/facts_reader.h"
#include "apps/ledger_desk.h"
#include "apps/mps_desk.h"
#include "apps/nested_desk.h"
#include "apps/node_status.h"
#include "apps/numbers.h"
#include "apps/release.h"
#include "apps/size_memory.h"
#include "apps/unit_memory.h"
#include "apps/version.h"
#include "base/files.h"
#include "base/latest.h"
#include "base/text.h"
#include "base/unique_fd.h"
#include "base/wake_fd.h"
#include "control/control_server.h"
#include "host/host_files.h"
#include "inventory/device_node_source.h"
#include "inventory/fallback_source.h"
#include "inventory/scanner.h"
#include "kubelet/plugin_host.h"
#include "nvml/nvml_source.h"

namespace tranche {
namespace {

// How often what cannot be watched is looked at: files behind links, CDI
// specifications, device nodes, the control socket.
// With CDI it walks through the driver's files, which takes some 10 ms.
constexpr std::chrono::seconds kHousekeeping{30};

// How long the kubelet may take at our start to say what is held.
constexpr std::chrono::milliseconds kLedgerPatience{2'000};

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text.data();
}

class Agent {
  using Clock = std::chrono::steady_clock;

 public:
  Agent(const Sources& sources, const Loaded& loaded, UniqueFd signals, Log& log)
      : sources_(sources),
        settings_(loaded.settings),
        signals_(std::move(signals)),
        log_(log),
        nvml_(settings_.driver, HostFiles(settings_.host_root), log),
        nodes_(HostFiles(settings_.host_root)),
        source_(nvml_, nodes_),
        scanner_(source_, HostFiles(settings_.host_root), below(settings_.state_dir, "faults.json"),
                 log,
                 [this](const Inventory& inventory) {
                   if (inventory_.publish(inventory)) news_.ring();
                 }),
        config_watch_(settings_.config_file),
        announcements_(log),
        units_(below(settings_.state_dir, "memory-units.json"), log),
        sizes_(below(settings_.state_dir, "granted-sizes.json"), log),
        desk_(
            settings_.kubelet, sizes_, [this] { news_.ring(); },
            [this] {
              const std::lock_guard lock(host_mutex_);
              if (host_ != nullptr) host_->nudge();
            },
            log),
        mps_(
            settings_, [this] { news_.ring(); }, log),
        nested_(settings_, [this] { news_.ring(); }, log) {
    facts_.agent = {.running = true, .started = utc_now(), .config_file = settings_.config_file};
  }

  int run() {
    if (Status made = make_directories(settings_.state_dir, 0700); !made) {
      log_.warning("the state folder cannot be made; faults will not outlive a restart",
                   {{"reason", made.error().message}});
    }
    check_driver_folder();
    if (!first_look()) return 1;
    publish_status();
    std::jthread scanning;  // before the host: a driver call may end while streams do
    PluginHost host(settings_.kubelet, desk_.access(nested_.handed_off()), log_);
    set_host(&host);
    serve();
    start_control();
    scanning = std::jthread([this](const std::stop_token& stop) { scanner_.run(stop); });
    watch();
    control_.reset();
    set_host(nullptr);
    log_.info("stopping");
    scanning.request_stop();
    return 0;
  }

 private:
  // Where the driver must be there at first start, its absence ends us with the
  // reason; so does a configuration that the kubelet could not take.
  bool first_look() {
    const Status looked = scanner_.begin(settings_.health);
    if (!looked && settings_.fail_on_init_error) {
      log_.error(
          "the driver cannot be read at start; ending, because --fail-on-init-error is set. "
          "Is this a GPU node, and is the driver visible to this container?",
          {{"reason", looked.error().message}});
      return false;
    }
    // Before anything is offered.
    desk_.wait_until_known(kLedgerPatience);
    compose_now();
    if (const std::string problem = ledger_problem(composition_); !problem.empty()) {
      log_.error("the configuration cannot be held on this node", {{"reason", problem}});
      return false;
    }
    if (!composition_.oversized.empty()) {
      log_.error("the configuration offers more than the kubelet can be told",
                 {{"reason", composition_.oversized}});
      return false;
    }
    return true;
  }

  void set_host(PluginHost* host) {
    const std::lock_guard lock(host_mutex_);
    host_ = host;
  }

  std::string ledger_problem(const Composition& composition) const {
    return composition.needs_ledger ? desk_.problem() : std::string();
  }

  void look_around(const Inventory& inventory) {
    circumstances_.facts = facts_reader_.read(inventory, settings_);
    circumstances_.facts.mps = mps_.report().wirings;
    circumstances_.enforcers = enforcers(inventory, settings_.grant, settings_.cdi.disabled_hooks);
    mps_.add_to(circumstances_.enforcers, settings_.mps, inventory);
    circumstances_.ledger = desk_.ledger();
    circumstances_.kept_units = units_.kept();
  }

  void watch() {
    Clock::time_point housekeeping = Clock::now() + kHousekeeping;
    while (true) {
      std::array<pollfd, 4> fds{pollfd{signals_.get(), POLLIN, 0}, pollfd{news_.fd(), POLLIN, 0},
                                pollfd{config_watch_.fd(), POLLIN, 0},
                                pollfd{nested_.fd(), POLLIN, 0}};
      ::poll(fds.data(), fds.size(), pause_until(housekeeping));
      if (fds[0].revents != 0 && !take_signal()) return;
      if (fds[1].revents != 0) news_.clear();
      if (config_watch_.changed()) reload();
      const bool is_due = Clock::now() >= housekeeping;
      if (is_due) housekeeping = Clock::now() + kHousekeeping;
      if (nested_.look() || fds[1].revents != 0 || is_due) {
        compose_now();
        serve();
      } else {
        nested_.tidy();
      }
      if (is_due && !control_) start_control();
    }
  }

  int pause_until(Clock::time_point housekeeping) const {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(housekeeping - Clock::now());
    const auto pause = std::min(left, nested_.due().value_or(left));
    return static_cast<int>(std::max<std::int64_t>(pause.count(), 0));
  }

  // False: it asks us to end.
  bool take_signal() {
    signalfd_siginfo info{};
    if (::read(signals_.get(), &info, sizeof(info)) != sizeof(info)) return true;
    switch (info.ssi_signo) {
      case SIGHUP: reload(); return true;
      case SIGUSR1: scanner_.release({}); return true;
      case SIGUSR2: scanner_.resume(); return true;
      default: return false;
    }
  }

  void reload() {
    Result<Loaded> loaded = load_settings(sources_);
    if (!loaded) return refuse(loaded.error().message);
    const Inventory granted = nested_.granted(*inventory_.get().value).inventory;
    const Composition trial = compose(granted, loaded->settings, circumstances_);
    if (!trial.oversized.empty()) return refuse(trial.oversized);
    if (const std::string problem = ledger_problem(trial); !problem.empty()) return refuse(problem);
    for (const std::string& notice : loaded->notices) log_.info(notice);
    note_what_waits(loaded->settings);
    settings_ = std::move(loaded->settings);
    log_.configure(settings_.log_format, settings_.log_level);
    scanner_.set_options(settings_.health);
    ++facts_.agent.reloads_taken;
    facts_.agent.last_refusal.clear();
    log_.info("configuration taken up", {{"file", settings_.config_file}});
    check_driver_folder();
    compose_now();
    serve();
  }

  void refuse(const std::string& reason) {
    ++facts_.agent.reloads_refused;
    facts_.agent.last_refusal = reason;
    log_.error("configuration refused; the one before stays in force", {{"reason", reason}});
    publish_status();
  }

  // Where the driver is looked for cannot change under a running scan.
  void note_what_waits(const Settings& next) {
    if (next.driver != settings_.driver) {
      log_.warning(
          "another driver root takes effect at the next start",
          {{"now", settings_.driver.container_root}, {"then", next.driver.container_root}});
    }
    if (next.nested != settings_.nested) {
      log_.warning("other settings of nested clusters take effect at the next start");
    }
  }

  void check_driver_folder() {
    if (!settings_.grant.driver_mount) return;
    const std::string folder = below(settings_.host_root, settings_.grant.driver_mount->host_path);
    if (!path_exists(folder)) {
      log_.warning("the folder to mount into containers is not there",
                   {{"folder", folder}, {"flag", "-host-path"}});
    }
  }

  void compose_now() {
    GuestInventory granted = nested_.granted(*inventory_.get().value);
    const Inventory& inventory = granted.inventory;
    const HostGrantReader* reader = nested_.reader();
    if (const HostGrant* grant = reader != nullptr ? reader->grant() : nullptr) {
      announcements_.tell_grant(*grant, inventory);
    }
    look_around(inventory);
    composition_ = compose(inventory, settings_, circumstances_);
    std::ranges::move(granted.notes, std::back_inserter(composition_.catalog.notes));
    if (inventory.driver_trouble.empty()) units_.learn(settings_.sharing, composition_.catalog);
    if (composition_.leaves_mps_alone.empty()) {
      mps_.serve(composition_.catalog, settings_.mps, circumstances_.ledger.get());
    }
    announcements_.tell(composition_, circumstances_.facts.cdi_problem);
    facts_.inventory = std::move(granted.inventory);
  }

  void serve() {
    desk_.offer(offered_sizes(composition_.catalog));
    host_->serve(composition_.servings);
    nested_.keep_up(composition_.catalog, facts_.inventory);
    publish_status();
  }

  void publish_status() {
    facts_.catalog = composition_.catalog;
    const auto ledger = desk_.ledger();
    facts_.ledger = ledger ? std::optional(*ledger) : std::nullopt;
    facts_.cdi_problem = circumstances_.facts.cdi_problem;
    facts_.mps = mps_.report().daemons;
    facts_.handed_off = nested_.handed_off().grants();
    if (const HostGrantReader* reader = nested_.reader()) {
      const HostGrant* grant = reader->grant();
      facts_.host_grant =
          GuestFacts{grant != nullptr ? std::optional(*grant) : std::nullopt, reader->problem()};
    }
    status_.publish(std::make_shared<const NodeStatus>(facts_));
  }

  void start_control() {
    ControlHandlers handlers{
        .status =
            [this] {
              NodeStatus now = **status_.get().value;
              now.resources = host_->status();
              return to_json(now);
            },
        .release = [this](const std::vector<std::string>& gpus) { return release(gpus); },
        .resume =
            [this] {
              scanner_.resume();
              return Result<std::string>("the driver is being taken up again");
            },
        .forget_numbers = [this](const std::vector<std::string>& words) -> Result<std::string> {
          const auto inventory = inventory_.get().value;
          Result<std::set<unsigned>> numbers =
              numbers_named(words, inventory->numbers, missing_numbers(*inventory));
          if (!numbers) return numbers.error();
          scanner_.forget_numbers(*numbers);
          return forget_answer(*numbers);
        }};
    auto started = ControlServer::start(control_socket(settings_.state_dir), std::move(handlers));
    if (started) {
      control_ = *std::move(started);
      announcements_.say("control", "");
    } else {
      announcements_.say("control", "commands cannot reach this agent: " + started.error().message);
    }
  }

  Result<std::string> release(const std::vector<std::string>& words) {
    const auto inventory = inventory_.get().value;
    Result<std::vector<GpuUuid>> gpus = gpus_named(words, *inventory);
    if (!gpus) return gpus.error();
    const ReleaseCircumstances circumstances{
        .all_gpus = gpus->empty() || gpus->size() == inventory->gpus.size(),
        .has_mps_daemons = !(*status_.get().value)->mps.empty(),
        .follows_kernel_log = scanner_.follows_kernel_log()};
    scanner_.release(*std::move(gpus));
    return release_answer(circumstances);
  }

  const Sources sources_;
  Settings settings_;
  const UniqueFd signals_;
  Log& log_;

  WakeFd news_;
  Latest<Inventory> inventory_;
  nvml::NvmlSource nvml_;
  DeviceNodeSource nodes_;
  FallbackSource source_;
  Scanner scanner_;
  ConfigWatch config_watch_;
  FactsReader facts_reader_;
  Announcements announcements_;
  UnitMemory units_;
  SizeMemory sizes_;

  Circumstances circumstances_;
  Composition composition_;
  // Before those whose threads use them.
  std::mutex host_mutex_;
  PluginHost* host_ = nullptr;  // other threads use it only with the mutex held
  LedgerDesk desk_;
  MpsDesk mps_;
  NestedDesk nested_;
  NodeStatus facts_;  // the main thread's; others see what is published
  Latest<std::shared_ptr<const NodeStatus>> status_;
  std::unique_ptr<ControlServer> control_;
};

// Before any thread is made: they inherit the mask, so that signals come to the
// main thread alone.
UniqueFd take_signals() {
  sigset_t wanted;
  ::sigemptyset(&wanted);
  for (const int signal : {SIGHUP, SIGINT, SIGTERM, SIGQUIT, SIGUSR1, SIGUSR2}) {
    ::sigaddset(&wanted, signal);
  }
  ::pthread_sigmask(SIG_BLOCK, &wanted, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  return UniqueFd(::signalfd(-1, &wanted, SFD_CLOEXEC));
}

}  // namespace

int run_agent(const Sources& sources, const Loaded& loaded, Log& log) {
  log.configure(loaded.settings.log_format, loaded.settings.log_level);
  log.info("tranche-device-plugin starts", {{"version", kVersion}});
  for (const std::string& notice : loaded.notices) log.info(notice);
  return Agent(sources, loaded, take_signals(), log).run();
}

}  // namespace tranche
