// SPDX-License-Identifier: Apache-2.0
#include "programs/settings/load.h"

#include <fmt/core.h>

#include <utility>

#include "base/text.h"
#include "os/files.h"
#include "os/settings/resolve.h"
#include "programs/settings/build.h"
#include "programs/settings/file_reader.h"
#include "programs/settings/flag_table.h"
#include "programs/settings/profile.h"

namespace tranche::programs {
namespace {

Error all_of(const std::vector<std::string>& problems) {
  return {ErrorCode::kInvalidArgument, join(problems, "\n")};
}

void append(std::vector<std::string>& to, const std::vector<std::string>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

CommandLine parse(const Sources& sources) {
  return parse_command_line(flag_table(), sources.arguments, {.options = sources.command_options});
}

std::vector<std::string> complaints(const Sources& sources, const CommandLine& line) {
  std::vector<std::string> problems = line.problems;
  if (!sources.allow_positionals) append(problems, positional_problems(line));
  return problems;
}

// The rows of a section, each with its line.
void add_rows(const std::string& section, const std::vector<unsigned>& lines,
              const std::string& path, std::vector<Provenance>& all) {
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string row = fmt::format("{}[{}]", section, i);
    const Origin origin{OriginKind::kFile, fmt::format("{}:{}", path, lines[i])};
    all.push_back({row, row, std::string(), origin});
  }
}

void add_sections(const SharingSections& sections, const std::string& path,
                  std::vector<Provenance>& all) {
  add_rows("resources.gpus", sections.gpu_names.lines, path, all);
  add_rows("resources.mig", sections.mig_names.lines, path, all);
  add_rows("tranche.policies", sections.policies.lines, path, all);
  const ReplicatedSection& replicated = sections.replicated;
  if (replicated.rows.empty()) return;
  const std::string section(section_path(replicated.kind));
  const std::string fail = section + ".failRequestsGreaterThanOne";
  Origin origin;
  if (replicated.fail_requests_line != 0) {
    origin = {OriginKind::kFile, fmt::format("{}:{}", path, replicated.fail_requests_line)};
  }
  all.push_back({fail, fail, replicated.fail_requests_greater_than_one, origin});
  add_rows(section + ".resources", replicated.lines, path, all);
}

// The chosen file is the one in effect.
void put_choice(const ConfigChoice& choice, const std::optional<ConfigText>& file, Loaded& loaded) {
  Settings& settings = loaded.settings;
  settings.config_file = file ? file->path : "";
  for (Provenance& setting : loaded.provenance) {
    if (setting.setting != "config-file") continue;
    setting.value = settings.config_file;
    setting.origin.text = reason_text(settings.named_configs, choice);
  }
  loaded.choice = choice;
}

Result<Loaded> load(const Sources& sources, const CommandLine& line,
                    const std::optional<ConfigText>& file,
                    const std::optional<ConfigChoice>& choice) {
  std::vector<std::string> problems = complaints(sources, line);
  const FileContent content = file ? read_config(*file) : FileContent{};
  Resolution resolution = resolve(flag_table(), line, sources.environment, content.values);
  Resolved& resolved = resolution.settings;
  apply_profile(sources.program, resolved);
  append(problems, resolution.problems);
  append(problems, content.problems);
  // Check combinations only if each setting is valid: a default in the place of an invalid value
  // would cause misleading complaints.
  if (!problems.empty()) return all_of(problems);
  Built built = build_settings(resolved, content.sharing);
  if (!built.problems.empty()) return all_of(built.problems);

  Loaded loaded{.settings = std::move(built.settings),
                .provenance = provenance_of(resolved),
                .notices = content.notices,
                .warnings = content.warnings,
                .positionals = line.positionals};
  if (file) {
    add_sections(content.sharing, file->path, loaded.provenance);
    loaded.file_text = file->content;
  }
  if (built.profile_origin) {
    const std::string row = "tranche.policies[0]";
    loaded.provenance.push_back({row, row, std::string(), *built.profile_origin});
  }
  if (choice) put_choice(*choice, file, loaded);
  append(loaded.notices, built.notices);
  append(loaded.warnings, built.warnings);
  return loaded;
}

}  // namespace

std::string config_file_of(const Sources& sources) {
  const CommandLine line = parse(sources);
  return resolve(flag_table(), line, sources.environment, {}).settings.text("config-file");
}

bool is_blank(const ConfigText& file) {
  const Result<ConfigNode> root = parse_document(file);
  return root && root->kind == NodeKind::kNull;
}

Result<Loaded> load_settings(const Sources& sources, const std::optional<ConfigText>& file,
                             const std::optional<ConfigChoice>& choice) {
  const CommandLine line = parse(sources);
  if (line.wants_help || line.wants_version) {
    return Loaded{.wants_help = line.wants_help, .wants_version = line.wants_version};
  }
  return load(sources, line, file, choice);
}

Result<Loaded> load_settings(const Sources& sources) {
  const CommandLine line = parse(sources);
  if (line.wants_help || line.wants_version) return load_settings(sources, std::nullopt);
  const std::string path = config_file_of(sources);
  if (path.empty()) return load_settings(sources, std::nullopt);
  Result<std::string> content = read_file(path, kMostDocumentBytes);
  if (!content) {
    std::vector<std::string> problems = complaints(sources, line);
    problems.push_back(content.error().in("configuration file").message);
    return Error{content.error().code, join(problems, "\n")};
  }
  return load_settings(sources, ConfigText{path, *std::move(content)});
}

}  // namespace tranche::programs
