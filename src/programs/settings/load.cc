// SPDX-License-Identifier: Apache-2.0
#include "config/load.h"

#include <utility>

#include "base/files.h"
#include "base/text.h"
#include "config/build.h"
#include "config/command_line.h"
#include "config/file_reader.h"
#include "config/profile.h"
#include "config/resolved.h"

namespace tranche {
namespace {

Error all_of(const std::vector<std::string>& problems) {
  return {ErrorCode::kInvalidArgument, join(problems, "\n")};
}

// A variable that is set and empty counts as NVIDIA's plugin counts it
// (urfave/cli v2): a boolean is false, a text is empty, a list has one empty
// item; a number or duration is not set.
std::optional<std::string> effective_text(const FlagSpec& flag, const std::string& text) {
  if (!text.empty()) return text;
  switch (flag.type) {
    case ValueType::kBool: return "false";
    case ValueType::kNumber:
    case ValueType::kDuration: return std::nullopt;
    default: return "";
  }
}

class Resolver {
 public:
  Resolver(const Sources& sources, const CommandLine& line, const FileContent& file)
      : sources_(sources), line_(line), file_(file) {}

  Resolved resolve() {
    choose_profile();
    std::vector<Setting> settings;
    for (const FlagSpec& flag : flag_table()) settings.push_back(resolve(flag));
    return Resolved(std::move(settings));
  }

  const std::vector<std::string>& problems() const { return problems_; }

 private:
  Setting resolve(const FlagSpec& flag) {
    if (auto setting = from_command_line(flag)) return *std::move(setting);
    if (auto setting = from_environment(flag)) return *std::move(setting);
    const auto found = flag.key.empty() ? file_.values.end() : file_.values.find(flag.key);
    if (found != file_.values.end()) return {&flag, found->second.value, found->second.origin};
    return default_of(flag);
  }

  // Which defaults hold, before there are any.
  void choose_profile() {
    const Setting chosen = resolve(*find_flag("profile"));
    by_runtime_ = is_of_second_plugin(resolve(*find_flag("gpu-duplication-factor")));
    profile_ = show(chosen.value);
    problems_.clear();  // they are found again
  }

  Setting default_of(const FlagSpec& flag) const {
    if (flag.name == "profile") {
      const auto profile = profile_of_program(sources_.program);
      if (!profile) return {&flag, default_value(flag), {}};
      return {&flag, std::string(*profile), {OriginKind::kDefault, "default (the program's name)"}};
    }
    const auto text = profile_default(profile_, flag.title(), by_runtime_);
    if (!text) return {&flag, default_value(flag), {}};
    return {&flag,
            *read_value(flag, words_in(flag, *text)),
            {OriginKind::kDefault, "default (profile " + profile_ + ")"}};
  }

  // Each occurrence is checked; the last wins, those of a list add up.
  std::optional<Setting> from_command_line(const FlagSpec& flag) {
    std::optional<Setting> setting;
    std::vector<std::string> items;
    for (const GivenFlag& given : line_.flags) {
      if (given.flag != &flag) continue;
      std::string text = flag.secret ? "--" + std::string(flag.name) : brief(given.as_written);
      Value value = flag.secret ? Value(std::string()) : read(flag, given.value, text);
      if (const auto* list = std::get_if<std::vector<std::string>>(&value)) {
        items.insert(items.end(), list->begin(), list->end());
        value = items;
        if (setting) text.insert(0, setting->origin.text + " ");
      }
      setting = Setting{&flag, std::move(value), {OriginKind::kFlag, std::move(text)}};
    }
    return setting;
  }

  std::optional<Setting> from_environment(const FlagSpec& flag) {
    for (const std::string_view name : flag.environment) {
      const auto found = sources_.environment.find(std::string(name));
      if (name.empty() || found == sources_.environment.end()) continue;
      const auto text = effective_text(flag, found->second);
      if (!text) return std::nullopt;
      return Setting{&flag,
                     read(flag, *text, std::string(name)),
                     {OriginKind::kEnvironment, std::string(name)}};
    }
    return std::nullopt;
  }

  // A value that is wrong is complained about, and the default stands in for
  // it while the rest is checked.
  Value read(const FlagSpec& flag, const std::string& text, const std::string& place) {
    Result<Value> value = read_value(flag, words_in(flag, text));
    if (value) return *std::move(value);
    problems_.push_back(place + ": " + value.error().message);
    return default_value(flag);
  }

  const Sources& sources_;
  const CommandLine& line_;
  const FileContent& file_;
  std::string profile_;
  bool by_runtime_ = false;
  std::vector<std::string> problems_;
};

void append(std::vector<std::string>& to, const std::vector<std::string>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

std::vector<std::string> complaints(const Sources& sources, const CommandLine& line) {
  std::vector<std::string> problems = line.problems;
  if (sources.allow_positionals) return problems;
  for (const std::string& word : line.positionals) {
    problems.push_back("unexpected argument '" + brief(word) +
                       "': flags begin with a dash, and their values follow = or a space");
  }
  return problems;
}

std::vector<Provenance> provenance_of(const Resolved& resolved) {
  std::vector<Provenance> all;
  for (const Setting& setting : resolved.all()) {
    all.push_back({std::string(setting.flag->title()), std::string(setting.flag->key),
                   setting.value, setting.origin});
  }
  return all;
}

// The rows of a section, each with its line.
void add_rows(const std::string& section, const std::vector<unsigned>& lines,
              const std::string& path, std::vector<Provenance>& all) {
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string row = section + "[" + std::to_string(i) + "]";
    const Origin origin{OriginKind::kFile, path + ":" + std::to_string(lines[i])};
    all.push_back({row, row, std::string(), origin});
  }
}

void add_sections(const SharingSections& sections, const std::string& path,
                  std::vector<Provenance>& all) {
  add_rows("resources.gpus", sections.gpu_name_lines, path, all);
  add_rows("resources.mig", sections.mig_name_lines, path, all);
  add_rows("tranche.policies", sections.policies.lines, path, all);
  const ReplicatedSection& replicated = sections.replicated;
  if (replicated.rows.empty()) return;
  const std::string section(section_path(replicated.kind));
  const std::string fail = section + ".failRequestsGreaterThanOne";
  Origin origin;
  if (replicated.fail_requests_line != 0) {
    origin = {OriginKind::kFile, path + ":" + std::to_string(replicated.fail_requests_line)};
  }
  all.push_back({fail, fail, replicated.fail_requests_greater_than_one, origin});
  add_rows(section + ".resources", replicated.lines, path, all);
}

Result<Loaded> load(const Sources& sources, const CommandLine& line,
                    const std::optional<ConfigText>& file) {
  std::vector<std::string> problems = complaints(sources, line);
  const FileContent content = file ? read_config(*file) : FileContent{};
  Resolver resolver(sources, line, content);
  Resolved resolved = resolver.resolve();
  append(problems, resolver.problems());
  append(problems, content.problems);
  // Checks across settings only where each is right by itself: a default that
  // stands in for a wrong value would make them complain of what is not there.
  if (!problems.empty()) return all_of(problems);
  Built built = build_settings(resolved, content.sharing);
  if (!built.problems.empty()) return all_of(built.problems);

  Loaded loaded{.settings = std::move(built.settings),
                .provenance = provenance_of(resolved),
                .notices = content.notices,
                .positionals = line.positionals};
  if (file) add_sections(content.sharing, file->path, loaded.provenance);
  if (built.profile_origin) {
    const std::string row = "tranche.policies[0]";
    loaded.provenance.push_back({row, row, std::string(), *built.profile_origin});
  }
  append(loaded.notices, built.notices);
  return loaded;
}

// What the sources say of one text setting that the file cannot have.
std::string config_file_of(const Sources& sources, const CommandLine& line) {
  const FileContent none;
  return Resolver(sources, line, none).resolve().text("config-file");
}

}  // namespace

Result<Loaded> load_settings(const Sources& sources, const std::optional<ConfigText>& file) {
  const CommandLine line = parse_command_line(sources.arguments);
  if (line.wants_help || line.wants_version) {
    return Loaded{.wants_help = line.wants_help, .wants_version = line.wants_version};
  }
  return load(sources, line, file);
}

Result<Loaded> load_settings(const Sources& sources) {
  const CommandLine line = parse_command_line(sources.arguments);
  if (line.wants_help || line.wants_version) return load_settings(sources, std::nullopt);
  const std::string path = config_file_of(sources, line);
  if (path.empty()) return load_settings(sources, std::nullopt);
  Result<std::string> content = read_file(path, kMostDocumentBytes);
  if (!content) {
    std::vector<std::string> problems = complaints(sources, line);
    problems.push_back(content.error().in("configuration file").message);
    return Error{content.error().code, join(problems, "\n")};
  }
  return load_settings(sources, ConfigText{path, *std::move(content)});
}

}  // namespace tranche
