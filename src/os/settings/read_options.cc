// SPDX-License-Identifier: Apache-2.0
#include "os/settings/read_options.h"

#include "base/text.h"

namespace tranche::os {

Result<GivenOptions> read_options(OptionTable table, const std::vector<std::string>& arguments,
                                  const Environment& environment) {
  const CommandLine line = parse_command_line(table, arguments, {.version = false});
  if (line.wants_help) return GivenOptions{resolve(table, {}, {}, {}).settings, true};
  Resolution resolution = resolve(table, line, environment, {});
  std::vector<std::string> problems = line.problems;
  for (const auto& more : {positional_problems(line), resolution.problems}) {
    problems.insert(problems.end(), more.begin(), more.end());
  }
  // Only where the rest is right: a misspelt option is why another one is missing.
  for (const Setting& setting : resolution.settings.all()) {
    if (setting.flag->required && problems.empty() && show(setting.value).empty()) {
      problems.push_back("--" + std::string(setting.flag->name) + " is missing; see --help");
    }
  }
  if (!problems.empty()) return Error{ErrorCode::kInvalidArgument, join(problems, "\n")};
  return GivenOptions{std::move(resolution.settings)};
}

}  // namespace tranche::os
