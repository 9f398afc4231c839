// SPDX-License-Identifier: Apache-2.0
#include "programs/device_plugin/config_start.h"

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/report/node_events.h"
#include "os/signals.h"
#include "programs/device_plugin/cluster_report.h"
#include "programs/device_plugin/config_choice.h"
#include "programs/device_plugin/config_reload.h"
#include "programs/device_plugin/node_status.h"

namespace tranche::programs {
namespace {

// How long the kubelet waits for us while the API server does not answer.
constexpr std::chrono::milliseconds kLabelPatience{3'000};

// Between two looks for a label or a file that can be loaded.
constexpr std::chrono::milliseconds kLookAgain{1'000};

bool has_folder(const Settings& settings) { return !settings.named_configs.folder.empty(); }

}  // namespace

std::unique_ptr<ApiLink> make_api_link(const Sources& sources, const Settings& settings, Log& log) {
  if (!has_folder(settings) && !needs_api_server(settings)) return nullptr;
  return std::make_unique<ApiLink>(ApiAccessSources{.kubeconfig = settings.cluster.kubeconfig,
                                                    .environment = sources.environment},
                                   node_name(settings), log);
}

std::optional<Loaded> load_at_start(const Sources& sources, const Loaded& bare, ApiLink* link,
                                    const UniqueFd& signals, Log& log) {
  if (link == nullptr || !has_folder(bare.settings)) return bare;
  const NamedConfigOptions& options = bare.settings.named_configs;
  std::optional<std::string> label =
      wait_for_label(link->own_node(), options.label, kLabelPatience);
  // What is refused is refused again, and logged, when the label is followed.
  std::vector<std::string> refused;
  Result<Loaded> loaded = load_chosen(sources, bare, label, refused);
  OnChange logged;
  while (!loaded) {
    const std::string& reason = loaded.error().message;
    if (logged.changed("start", reason)) {
      log.error("no configuration can be in force; no GPU is offered until one can",
                {{"reason", reason}, {"node", link->node_name()}});
      if (bare.settings.cluster.events) link->reporter().note(no_configuration(reason));
    }
    if (asks_to_end(signals, kLookAgain)) return std::nullopt;
    label = label_value(*link->own_node().get().value, options.label);
    loaded = load_chosen(sources, bare, label, refused);
  }
  log.configure(loaded->settings.log_format, loaded->settings.log_level);
  log_remarks(*loaded, log);
  if (!label) {
    log.warning("the node's label is not known yet; it is followed as soon as it is",
                {{"node", link->node_name()}, {"label", options.label}});
  }
  const ConfigChoice choice = loaded->choice.value_or(ConfigChoice());
  log.info("configuration chosen", {{"configuration", choice.name},
                                    {"reason", reason_text(options, choice)},
                                    {"file", loaded->settings.config_file}});
  return *std::move(loaded);
}

Result<Loaded> load_for_command(const Sources& sources, const Loaded& bare) {
  if (bare.wants_help || bare.wants_version || !has_folder(bare.settings)) return bare;
  std::vector<std::string> refused;
  Result<Loaded> loaded = load_chosen(sources, bare, std::nullopt, refused);
  if (!loaded) return loaded;
  for (const std::string& problem : refused) loaded->warnings.push_back(problem);
  const ConfigChoice choice = loaded->choice.value_or(ConfigChoice());
  loaded->notices.push_back(
      "configuration '" + choice.name + "' of " + bare.settings.named_configs.folder + ": " +
      reason_text(bare.settings.named_configs, choice) +
      (choice.is_remembered ? "" : "; no agent has remembered what the node's label says"));
  return loaded;
}

}  // namespace tranche::programs
