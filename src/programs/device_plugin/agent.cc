// SPDX-License-Identifier: Apache-2.0
#include "programs/device_plugin/agent.h"

#include <signal.h>

#include <algorithm>
#include <chrono>
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

#include "base/path.h"
#include "base/text.h"
#include "core/plan/plan.h"
#include "node/cdi/cdi_writer.h"
#include "node/control/control_server.h"
#include "node/driver/device_node_source.h"
#include "node/driver/fallback_source.h"
#include "node/driver/kernel_files.h"
#include "node/driver/nvml/nvml_source.h"
#include "node/driver/scanner.h"
#include "node/features/features_file.h"
#include "node/holders/node_ledger.h"
#include "node/holders/size_memory.h"
#include "node/kubelet/plugin_set.h"
#include "node/kubelet/pod_resources_client.h"
#include "node/mps/mps_daemon_set.h"
#include "node/nested/handed_off.h"
#include "node/nested/handed_off_tidy.h"
#include "node/nested/host_grant_reader.h"
#include "os/instance_lock.h"
#include "os/latest.h"
#include "os/loop.h"
#include "os/signals.h"
#include "os/unique_fd.h"
#include "os/wake_fd.h"
#include "programs/device_plugin/announcements.h"
#include "programs/device_plugin/cluster_side.h"
#include "programs/device_plugin/config_reload.h"
#include "programs/device_plugin/config_source.h"
#include "programs/device_plugin/config_start.h"
#include "programs/device_plugin/folders.h"
#include "programs/device_plugin/mps_compute_modes.h"
#include "programs/device_plugin/node_status.h"
#include "programs/device_plugin/numbers.h"
#include "programs/device_plugin/observe.h"
#include "programs/device_plugin/own_look.h"
#include "programs/device_plugin/release_command.h"
#include "programs/device_plugin/status_cells.h"
#include "programs/device_plugin/unit_memory.h"
#include "programs/device_plugin/version.h"

namespace tranche::programs {
namespace {

// How often what cannot be watched is looked at: files behind links, CDI
// specifications, device nodes, the control socket.
// With CDI it walks through the driver's files, which takes some 10 ms.
constexpr std::chrono::seconds kHousekeeping{30};

// CDI specifications that keep changing under us are no reason to go on for ever.
constexpr int kMostRounds = 3;

// How long the kubelet may take at our start to say what is held.
constexpr std::chrono::milliseconds kLedgerPatience{2'000};

class Agent {
  using Clock = std::chrono::steady_clock;

 public:
  Agent(const Sources& sources, const Loaded& loaded, std::unique_ptr<ApiLink> link,
        UniqueFd signals, Log& log)
      : sources_(sources),
        settings_(loaded.settings),
        signals_(std::move(signals)),
        log_(log),
        nvml_(settings_.driver, KernelFiles(settings_.host_root), log),
        nodes_(KernelFiles(settings_.host_root)),
        source_(nvml_, nodes_),
        scanner_(source_, KernelFiles(settings_.host_root),
                 below(settings_.state_dir, "faults.json"), log,
                 [this](const Inventory& inventory) {
                   if (inventory_.publish(inventory)) news_.ring();
                 }),
        config_(loaded, link.get(), log),
        values_(effective_values(loaded)),
        announcements_(log),
        units_(below(settings_.state_dir, "memory-units.json"), log),
        sizes_(below(settings_.state_dir, "granted-sizes.json"), log),
        pods_(settings_.kubelet.pod_resources_socket),
        ledger_(settings_.kubelet, sizes_,
                {.changed = [this] { news_.ring(); },
                 .nudge =
                     [this] {
                       const std::lock_guard lock(plugins_mutex_);
                       if (plugins_ != nullptr) plugins_->nudge();
                     },
                 .list = [this](const std::stop_token& stop) { return pods_.list({}, stop); }},
                log),
        compute_modes_(settings_.driver, [this] { return scanner_.is_released(); }),
        mps_(
            settings_.driver.container_root, compute_modes_.driver(), [this] { news_.ring(); },
            log),
        handed_off_(
            settings_.nested.directory, log, [this] { news_.ring(); },
            settings_.nested.gpu_env_mount),
        tidy_(handed_off_, settings_.kubelet.checkpoint, log),
        observer_({inventory_, host_grant_, ledger_, mps_, handed_off_, units_},
                  std::time(nullptr)),
        features_file_(log),
        cluster_(
            std::move(link),
            [this](const Settings& settings) { return make_api_link(sources_, settings, log_); }),
        release_command_(scanner_, settings_,
                         {inventory_, status_, [this] { ledger_.look_soon(); }}, log) {
    scanner_.set_other_users([this] { return compute_modes_.still_open(); });
    if (settings_.nested.guest) host_grant_.emplace(settings_.nested, Clock::now());
    facts_.node_name = node_name(settings_);
    facts_.agent = {.running = true, .started = utc(std::time(nullptr))};
    note_configuration();
  }

  int run() {
    check_driver_folder(settings_, log_);
    if (!first_look()) return 1;
    publish_status();
    std::jthread scanning;  // before the plugins: a driver call may end while streams do
    PluginSet plugins(settings_.kubelet,
                      {ledger_.book(), ledger_.gate(), pods_, handed_off_,
                       [this](const std::string& resource, const std::string& reason) {
                         cluster_.allocation_refused(resource, reason);
                       }},
                      log_);
    set_plugins(&plugins);
    apply();
    start_control();
    scanning = std::jthread([this](const std::stop_token& stop) { scanner_.run(stop); });
    watch();
    release_command_.end();  // else calls of the control socket would wait for the driver
    log_.info("stopping");
    scanning.request_stop();
    source_.stop_waiting();  // events of the driver are waited for in slices of half a second
    control_.reset();
    set_plugins(nullptr);
    features_file_.remove();
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
    ledger_.wait_until_known(kLedgerPatience);
    make_plan();
    if (wanted_.refusal.empty()) return true;
    log_.error("these settings cannot be in force on this node", {{"reason", wanted_.refusal}});
    return false;
  }

  void set_plugins(PluginSet* plugins) {
    const std::lock_guard lock(plugins_mutex_);
    plugins_ = plugins;
  }

  // Looks at the node and plans. CDI specifications are written here: what they resolve is
  // part of what the kubelet is answered from, so it is seen again before that is served.
  void make_plan() {
    Observed seen = observer_.look(settings_);
    seen.limits_memory = wanted_.limits_memory;
    for (int round = 0; round < kMostRounds; ++round) {
      if (seen.cdi) seen.cdi->state = cdi_.state();
      wanted_ = plan(seen, settings_);
      if (!wanted_.cdi || !cdi_.refresh(settings_.cdi.directory, *wanted_.cdi)) break;
    }
    observed_ = std::move(seen);
  }

  // Each part of what is wanted to its edge.
  void apply() {
    units_.keep(wanted_.units);
    if (wanted_.mps) mps_.apply(*wanted_.mps);
    log_wanted();
    ledger_.offer(offered_sizes(wanted_.catalog));
    plugins_->apply(wanted_.servings);
    handed_off_.refresh([this](const std::string& resource, const NestedDevice& device) {
      const auto found = wanted_.nested_health.find({resource, device.uuid});
      // Handed off since: the next plan has it.
      return found == wanted_.nested_health.end() ? device.health : found->second;
    });
    tidy_.run();
    features_file_.apply(settings_.features, wanted_.labels);
    cluster_.report(wanted_, ledger_.ledger().get(), ledger_.unknown_reason(), settings_);
    publish_status();
  }

  void log_wanted() {
    if (observed_.guest && observed_.guest->grant) {
      announcements_.log_grant(*observed_.guest->grant, wanted_.inventory);
    }
    announcements_.log_wanted(wanted_);
  }

  void reconcile() {
    make_plan();
    apply();
  }

  void watch() {
    Loop loop;
    loop.on_signal(signals_, [&](int signal) {
      if (!take_signal(signal)) loop.stop();
    });
    loop.on_ring(news_, [this] { is_due_ = true; });
    config_.follow(loop, {.changed = [this](const ConfigReading& reading) { reload(reading); },
                          .refused = [this](const std::string& reason) { refuse(reason); },
                          .chosen = [this] { note_configuration(), is_due_ = true; }});
    if (host_grant_) {
      loop.add({.fd = [this] { return host_grant_->fd(); },
                .due = [this] { return from_now(host_grant_->due(Clock::now())); },
                .look = [this](Clock::time_point now) { is_due_ |= host_grant_->look(now); }});
    }
    loop.every(kHousekeeping, [this] {
      is_due_ = true;
      if (!control_) start_control();
    });
    loop.add({.due = [this] { return from_now(tidy_.due()); }, .look = [](auto) {}});
    loop.after_each([this] {
      if (std::exchange(is_due_, false)) return reconcile();
      tidy_.run();
    });
    loop.run();
  }

  static std::optional<Clock::time_point> from_now(std::optional<std::chrono::milliseconds> pause) {
    return pause ? std::optional(Clock::now() + *pause) : std::nullopt;
  }

  // False: it asks us to end.
  bool take_signal(int signal) {
    switch (signal) {
      case SIGHUP: config_.insist(); return true;
      case SIGUSR1: scanner_.release({}); return true;
      case SIGUSR2: scanner_.resume(); return true;
      default: return false;
    }
  }

  void reload(const ConfigReading& reading) {
    Result<Loaded> loaded = config_.load(sources_, reading);
    if (!loaded) return refuse(loaded.error().message);
    // The same plan, on what the new settings would observe; refused as a whole.
    Observed seen = observer_.look(loaded->settings);
    seen.limits_memory = wanted_.limits_memory;
    const Wanted trial = plan(seen, loaded->settings);
    if (!trial.refusal.empty()) return refuse(trial.refusal);
    log_remarks(*loaded, log_);
    log_what_waits(settings_, loaded->settings, log_);
    EffectiveValues values = effective_values(*loaded);
    config_.took(*loaded);
    settings_ = std::move(loaded->settings);
    log_.configure(settings_.log_format, settings_.log_level);
    scanner_.set_options(settings_.health);
    ++facts_.agent.reloads_taken;
    cluster_.configuration_taken(settings_);
    note_configuration();
    log_.info("configuration reloaded", {{"file", settings_.config_file}});
    log_changes(std::exchange(values_, std::move(values)), values_, log_);
    check_driver_folder(settings_, log_);
    reconcile();
  }

  // What is in force, and that nothing is refused.
  void note_configuration() {
    facts_.agent.config_file = settings_.config_file;
    facts_.agent.configuration = config_.in_force();
    facts_.agent.configuration_reason = config_.reason();
    const std::optional<ConfigChoice>& choice = config_.in_force();
    cluster_.set_configuration_name(choice ? choice->name : "");
    facts_.agent.last_refusal.clear();
  }

  void refuse(const std::string& reason) {
    ++facts_.agent.reloads_refused;
    facts_.agent.last_refusal = reason;
    cluster_.configuration_refused(settings_, reason);
    const std::string file = config_.path();
    log_.error("configuration refused; the one before stays in force",
               {{"reason", reason},
                {"check", "tranche-device-plugin check-config" +
                              (file.empty() ? "" : " --config-file=" + file)}});
    publish_status();
    is_due_ = true;  // for the GpuNode
  }

  void publish_status() {
    facts_.inventory = wanted_.inventory;
    facts_.catalog = wanted_.catalog;
    const auto ledger = ledger_.ledger();
    facts_.ledger = ledger ? std::optional(*ledger) : std::nullopt;
    facts_.ledger_problem = ledger_.unknown_reason();
    facts_.cdi_problem = wanted_.facts.cdi_problem;
    facts_.toolkit = wanted_.facts.toolkit;
    facts_.mps = mps_.report().daemons;
    facts_.handed_off = handed_off_.grants();
    facts_.host_grant = observed_.guest;
    status_.publish(std::make_shared<const NodeStatus>(facts_));
  }

  void start_control() {
    ControlHandlers handlers{
        .status =
            [this, state_dir = settings_.state_dir] {
              NodeStatus now = **status_.get().value;
              now.resources = plugins_->status();
              // What `release` and `resume` have just answered.
              const auto latest = inventory_.get().value;
              now.inventory.released_at = latest->released_at;
              now.inventory.still_open = latest->still_open;
              std::ranges::move(unreadable_notes(state_dir), std::back_inserter(now.catalog.notes));
              return to_json(now);
            },
        .release = [this](const auto& gpus) { return release_command_.release(gpus); },
        .resume = [this] { return release_command_.resume(); },
        .forget_numbers = [this](const std::vector<std::string>& words) -> Result<std::string> {
          const std::string node = (*status_.get().value)->node_name;
          const auto numbers = numbers_to_forget(words, *inventory_.get().value, node);
          if (!numbers) return numbers.error();
          scanner_.forget_numbers(*numbers);
          return forget_answer(*numbers, node);
        }};
    ControlOptions options{.restarted = [this](const std::string& reason) {
      log_.warning("the control socket could not be reached; it was made again",
                   {{"reason", reason}});
    }};
    auto started = ControlServer::start(control_socket(settings_.state_dir), std::move(handlers),
                                        std::move(options));
    if (started) {
      control_ = *std::move(started);
      announcements_.say("control", "");
    } else {
      announcements_.say("control", "commands cannot reach this agent: " + started.error().message);
    }
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
  ConfigSource config_;
  EffectiveValues values_;  // of settings_
  Announcements announcements_;
  UnitMemory units_;
  SizeMemory sizes_;

  // Before those whose threads use them.
  std::mutex plugins_mutex_;
  PluginSet* plugins_ = nullptr;  // other threads use it only with the mutex held
  const PodResourcesClient pods_;
  NodeLedger ledger_;
  MpsComputeModes compute_modes_;
  MpsDaemonSet mps_;
  std::optional<HostGrantReader> host_grant_;  // only in a nested cluster
  HandedOff handed_off_;
  HandedOffTidy tidy_;

  Observer observer_;
  FeaturesFile features_file_;
  ClusterSide cluster_;
  bool is_due_ = false;  // a new plan, at the end of this round of the loop
  Observed observed_;    // what wanted_ was planned from
  Wanted wanted_;
  CdiFiles cdi_;

  NodeStatus facts_;  // the main thread's; others see what is published
  LatestStatus status_;
  ReleaseCommand release_command_;
  std::unique_ptr<ControlServer> control_;
};

}  // namespace

int run_agent(const Sources& sources, const Loaded& loaded, Log& log) {
  log.configure(loaded.settings.log_format, loaded.settings.log_level);
  // Before the first line: who sees that line may send a signal, and one that is not taken yet
  // would end the agent.
  Result<UniqueFd> signals = take_signals({SIGHUP, SIGINT, SIGTERM, SIGQUIT, SIGUSR1, SIGUSR2});
  log.info("tranche-device-plugin starts", {{"version", kVersion}});
  log_remarks(loaded, log);
  if (!signals) {
    log.error("cannot take signals", {{"reason", signals.error().message}});
    return 1;
  }
  const InstanceLock lock = take_instance_lock(loaded.settings.instance_lock, *signals, log);
  if (lock.exit_code) return *lock.exit_code;
  const std::string& state = loaded.settings.state_dir;
  if (!make_state_folder(state, log)) return 1;
  const InstanceLock only = lock_state_folder(state, *signals, log);
  if (only.exit_code) return *only.exit_code;
  std::unique_ptr<ApiLink> link = make_api_link(sources, loaded.settings, log);
  const std::optional<Loaded> chosen = load_at_start(sources, loaded, link.get(), *signals, log);
  if (!chosen) return 0;
  return Agent(sources, *chosen, std::move(link), *std::move(signals), log).run();
}

}  // namespace tranche::programs
