// SPDX-License-Identifier: Apache-2.0
#include "programs/device_plugin/config_choice.h"

#include <utility>

#include "base/path.h"
#include "base/text.h"
#include "formats/config_choice_json.h"
#include "os/files.h"

namespace tranche::programs {
namespace {

using Clock = std::chrono::steady_clock;

std::string memory_path(const std::string& state_dir) {
  return below(state_dir, "config-choice.json");
}

Result<Loaded> load_one(const Sources& sources, const NamedConfigOptions& options,
                        const ConfigChoice& choice) {
  const std::string path = chosen_path(options, choice);
  if (path.empty()) return load_settings(sources, std::nullopt, choice);
  Result<std::string> content = read_file(path, kMostDocumentBytes);
  if (!content) return content.error().in("configuration file");
  return load_settings(sources, ConfigText{path, *std::move(content)}, choice);
}

}  // namespace

std::optional<std::string> label_value(const OwnNodeState& state, const std::string& label) {
  if (!state.is_known || !state.node) return std::nullopt;
  const auto found = state.node->labels.find(label);
  return found == state.node->labels.end() ? std::string() : found->second;
}

std::optional<std::string> wait_for_label(const Latest<OwnNodeState>& node,
                                          const std::string& label,
                                          std::chrono::milliseconds patience) {
  const Clock::time_point end = Clock::now() + patience;
  auto state = node.get();
  while (true) {
    if (auto value = label_value(*state.value, label)) return value;
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
    if (left.count() <= 0) return std::nullopt;
    state = node.wait_newer(state.version, left);
  }
}

Result<ConfigNames> list_configs(const std::string& folder) {
  const Result<std::vector<std::string>> files = list_plain_files(folder);
  if (!files) return files.error().in("folder of configurations");
  return config_names(*files);
}

std::string chosen_path(const NamedConfigOptions& options, const ConfigChoice& choice) {
  return choice.name.empty() ? std::string() : below(options.folder, choice.name);
}

Result<Loaded> load_chosen(const Sources& sources, const Loaded& bare,
                           const std::optional<std::string>& label,
                           std::vector<std::string>& refused) {
  const NamedConfigOptions& options = bare.settings.named_configs;
  const Result<ConfigNames> names = list_configs(options.folder);
  if (!names) return names.error();
  const Result<ConfigChoice> recalled = recall_choice(bare.settings.state_dir);
  if (!recalled && recalled.error().code != ErrorCode::kNotFound) {
    refused.push_back("cannot read which configuration was in force before: " +
                      recalled.error().message);
  }
  const ConfigCandidates found =
      configs_at_start(options, label, *names, recalled ? std::optional(*recalled) : std::nullopt);
  if (!found.problem.empty()) refused.push_back(found.problem);
  for (const ConfigChoice& choice : found.choices) {
    Result<Loaded> loaded = load_one(sources, options, choice);
    if (loaded) {
      loaded->positionals = bare.positionals;
      return loaded;
    }
    refused.push_back(loaded.error().message);
  }
  return Error{ErrorCode::kInvalidArgument, join(std::exchange(refused, {}), "\n")};
}

Result<ConfigChoice> recall_choice(const std::string& state_dir) {
  const std::string path = memory_path(state_dir);
  const Result<std::string> text = read_file(path);
  if (!text) return text.error();
  Result<ConfigChoice> choice = parse_config_choice(*text);
  if (!choice) return choice.error().in(path);
  return choice;
}

Status remember_choice(const std::string& state_dir, const ConfigChoice& choice) {
  return write_atomically(memory_path(state_dir), to_json(choice), 0600);
}

}  // namespace tranche::programs
