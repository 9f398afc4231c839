// SPDX-License-Identifier: Apache-2.0
#include "programs/device_plugin/config_manager.h"

#include <signal.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <string>
#include <utility>

#include "base/path.h"
#include "base/text.h"
#include "core/settings/config_choice.h"
#include "os/errno_error.h"
#include "os/files.h"
#include "os/find_process.h"
#include "os/loop.h"
#include "os/paths_watch.h"
#include "os/settings/config_watch.h"
#include "os/signals.h"
#include "os/swap_link.h"
#include "os/unique_fd.h"
#include "programs/device_plugin/api_link.h"
#include "programs/device_plugin/config_choice.h"
#include "programs/device_plugin/config_manager_flags.h"

namespace tranche::programs {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kProgram = "config-manager";
// Where the folder cannot be watched, and the Node does not exist yet.
constexpr std::chrono::seconds kLookAgain{30};
// Between two attempts to signal a process that is not there yet.
constexpr std::chrono::milliseconds kFirstRetry{500};
constexpr std::chrono::milliseconds kLongestRetry{10'000};

int complain(const std::string& message) {
  for (const std::string& line : split(message, '\n')) {
    std::cerr << kProgram << ": " << line << "\n";
  }
  return 1;
}

// A signal that is owed to the process. It is tried until there is a process.
class OwedSignal {
 public:
  OwedSignal(std::string process, int number, Log& log)
      : process_(std::move(process)), number_(number), log_(log) {}

  void owe() { due_ = Clock::now(), pause_ = kFirstRetry; }
  std::optional<Clock::time_point> due() const { return due_; }

  void send(Clock::time_point now) {
    if (!due_ || now < *due_) return;
    const std::optional<pid_t> pid = find_process(process_);
    if (pid && ::kill(*pid, number_) == 0) {
      due_.reset();
      logged_.forget("signal");
      log_.info("signal sent", {{"process", process_},
                                {"pid", std::to_string(*pid)},
                                {"signal", std::to_string(number_)}});
      return;
    }
    const std::string why = pid ? errno_error("kill").message : "there is no such process yet";
    due_ = now + pause_;
    pause_ = std::min(pause_ * 2, kLongestRetry);
    if (logged_.changed("signal", why)) {
      log_.warning("the process cannot be signalled; trying again",
                   {{"process", process_}, {"reason", why}});
    }
  }

 private:
  const std::string process_;
  const int number_;
  Log& log_;
  OnChange logged_;
  std::optional<Clock::time_point> due_;
  std::chrono::milliseconds pause_ = kFirstRetry;
};

class ConfigManager {
 public:
  ConfigManager(ConfigManagerFlags flags, Environment environment, UniqueFd signals)
      : flags_(std::move(flags)),
        signals_(std::move(signals)),
        owed_(flags_.process, static_cast<int>(flags_.signal), log_),
        link_({.kubeconfig = flags_.kubeconfig, .environment = std::move(environment)},
              flags_.node_name, log_) {}

  int run() {
    log_.info("waiting for the node's label",
              {{"node", flags_.node_name}, {"label", flags_.configs.label}});
    Loop loop;
    loop.on_signal(signals_, [&](int) { loop.stop(); });
    loop.on_ring(link_.news(), [] {});
    loop.add({.fd = [this] { return folder_.fd(); },
              .look = [this](Clock::time_point now) { look(now); }});
    loop.add({.fd = [this] { return watch_ ? watch_->fd() : -1; },
              .due = [this] { return watch_ ? watch_->due() : std::nullopt; },
              .look = [this](auto) { look_at_file(); }});
    loop.add({.due = [this] { return owed_.due(); },
              .look = [this](Clock::time_point now) { owed_.send(now); }});
    loop.every(kLookAgain, [] {});
    loop.after_each([&] {
      if (flags_.oneshot && choice_) loop.stop();
    });
    loop.run();
    return flags_.oneshot && !choice_ ? 1 : 0;
  }

 private:
  void look(Clock::time_point now) {
    const auto node = link_.own_node().get();
    const bool has_news = std::exchange(seen_, node.version) != node.version;
    const bool is_due = now - listed_ >= kLookAgain;
    // Events that are not taken would wake us again.
    if (!folder_.drain() && !has_news && !is_due) return;
    listed_ = now;
    folder_.set({flags_.configs.folder});
    const std::optional<std::string> label = label_value(*node.value, flags_.configs.label);
    if (label) return choose(*label);
    if (node.value->is_known && logged_.changed("node", "missing")) {
      log_.warning("there is no such Node; waiting for it", {{"node", flags_.node_name}});
    }
  }

  void choose(const std::string& label) {
    logged_.forget("node");
    const Result<ConfigNames> names = list_configs(flags_.configs.folder);
    if (!names) return refuse(names.error().message);
    const Result<ConfigChoice> choice = choose_config(flags_.configs, label, *names);
    if (!choice) return refuse(choice.error().message);
    const std::string path = chosen_path(flags_.configs, *choice);
    const Result<bool> swapped = swap_link(path.empty() ? "/dev/null" : path, flags_.destination);
    if (!swapped) return refuse(swapped.error().message);
    logged_.forget("refused");
    const bool was_refused = std::exchange(is_refused_, false);
    if (choice_ != *choice || *swapped || was_refused) {
      log_.info(*swapped ? "configuration linked" : "configuration is linked already",
                {{"configuration", choice->name},
                 {"reason", reason_text(flags_.configs, *choice)},
                 {"link", flags_.destination}});
    }
    if (*swapped && flags_.send_signal) owed_.owe();
    if (!watch_ || watch_->path() != path) {
      const auto content = read_file(path, kMostDocumentBytes);
      watch_.emplace(path, content ? *content : "");
    }
    choice_ = *choice;
  }

  // The link stays as it is.
  void refuse(const std::string& reason) {
    is_refused_ = true;
    if (!logged_.changed("refused", reason)) return;
    // Also of an earlier run.
    log_.error(path_exists(flags_.destination)
                   ? "configuration refused; the one before stays linked"
                   : "no configuration can be linked; waiting for one",
               {{"reason", reason}});
  }

  // An edited ConfigMap: the link stays the same, and leads to another file.
  void look_at_file() {
    if (!watch_) return;
    const auto reading = watch_->take();
    if (!reading || !reading->content) return;
    log_.info("the linked configuration has changed", {{"file", watch_->path()}});
    if (flags_.send_signal) owed_.owe();
  }

  const ConfigManagerFlags flags_;
  const UniqueFd signals_;
  Log log_;
  OnChange logged_;
  OwedSignal owed_;
  PathsWatch folder_;
  Clock::time_point listed_;
  std::uint64_t seen_ = 0;
  std::optional<ConfigChoice> choice_;  // that is linked
  bool is_refused_ = false;             // what was chosen since
  std::optional<ConfigWatch> watch_;
  ApiLink link_;  // last: its thread logs
};

}  // namespace

std::optional<int> run_as_config_manager(const Sources& sources) {
  if (file_name_of(sources.program) != kProgram) return std::nullopt;
  Result<ConfigManagerFlags> flags =
      read_config_manager_flags(sources.arguments, sources.environment);
  if (!flags) return complain(flags.error().message);
  if (flags->help) {
    std::cout << config_manager_help();
    return 0;
  }
  Result<UniqueFd> signals = take_signals({SIGINT, SIGTERM, SIGQUIT});
  if (!signals) return complain(signals.error().message);
  return ConfigManager(*std::move(flags), sources.environment, *std::move(signals)).run();
}

}  // namespace tranche::programs
