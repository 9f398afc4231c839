// SPDX-License-Identifier: Apache-2.0
//
// tranche-device-plugin: which sub-command is meant, and the exit code.
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "apps/agent.h"
#include "apps/commands.h"
#include "apps/mps_control_daemon.h"
#include "apps/version.h"
#include "base/patient_caller.h"
#include "base/text.h"
#include "config/help.h"
#include "config/load.h"
#include "mps/launch.h"

namespace tranche {
namespace {

constexpr const char* kProgram = "tranche-device-plugin";

std::map<std::string, std::string> environment_of(char** variables) {
  std::map<std::string, std::string> environment;
  for (char** entry = variables; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const std::size_t equals = text.find('=');
    if (equals != std::string::npos) environment[text.substr(0, equals)] = text.substr(equals + 1);
  }
  return environment;
}

int complain(const std::string& message) {
  for (const std::string& line : split(message, '\n')) {
    std::cerr << kProgram << ": " << line << "\n";
  }
  std::cerr << "Run '" << kProgram << " --help' for what there is.\n";
  return 1;
}

// Takes "-o json", "-o=json" and "--output json" out of the arguments.
Result<OutputFormat> take_output_format(std::vector<std::string>& arguments) {
  OutputFormat format = OutputFormat::kTable;
  std::vector<std::string> rest;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::size_t equals = arguments[i].find('=');
    const std::string flag = arguments[i].substr(0, equals);
    if (flag != "-o" && flag != "--output" && flag != "-output") {
      rest.push_back(arguments[i]);
      continue;
    }
    std::string value;
    if (equals != std::string::npos) {
      value = arguments[i].substr(equals + 1);
    } else if (i + 1 < arguments.size()) {
      value = arguments[++i];
    }
    if (value != "json" && value != "table") {
      return Error{ErrorCode::kInvalidArgument,
                   flag + " takes 'table' or 'json', not '" + value + "'"};
    }
    format = value == "json" ? OutputFormat::kJson : OutputFormat::kTable;
  }
  arguments = std::move(rest);
  return format;
}

// Takes "--anonymous" out of the arguments; says whether it was there.
bool take_anonymous(std::vector<std::string>& arguments) {
  return std::erase_if(arguments, [](const std::string& word) {
           return word == "--anonymous" || word == "-anonymous";
         }) > 0;
}

int dispatch(const std::string& command, Sources sources) {
  const Result<OutputFormat> format =
      command.empty() ? Result(OutputFormat::kTable) : take_output_format(sources.arguments);
  if (!format) return complain(format.error().message);
  const bool without_identity = command == "capture" && take_anonymous(sources.arguments);
  sources.allow_positionals = command == "release" || command == "numbers";
  const Result<Loaded> loaded = load_settings(sources);
  if (!loaded) return complain(loaded.error().message);
  if (loaded->wants_help) {
    std::cout << help_text(kProgram);
    return 0;
  }
  if (loaded->wants_version || command == "version") {
    std::cout << kProgram << " " << kVersion << "\n";
    return 0;
  }
  if (command == "devices") return run_devices(*loaded, *format);
  if (command == "check-config") return run_check_config(*loaded, *format);
  if (command == "capture") return run_capture(*loaded, without_identity);
  if (command == "release") return run_release(*loaded);
  if (command == "resume") return run_resume(*loaded);
  if (command == "numbers") return run_numbers(*loaded, *format);
  Log log;
  return run_agent(sources, *loaded, log);
}

int main_with(int count, char** words, char** variables) {
  Sources sources{.arguments = {words + 1, words + count},
                  .environment = environment_of(variables),
                  .program = count > 0 ? words[0] : ""};
  if (const auto code = run_as_mps_control_daemon(sources)) return *code;
  std::string command;
  if (!sources.arguments.empty() && !sources.arguments[0].starts_with('-')) {
    command = sources.arguments[0];
    const std::vector<std::string> commands{"devices", "check-config", "capture", "release",
                                            "resume",  "numbers",      "version", "help"};
    if (std::ranges::find(commands, command) == commands.end()) {
      const auto meant = nearest(command, commands);
      return complain("there is no command '" + command + "'" +
                      (meant ? "; did you mean '" + *meant + "'?" : ""));
    }
    sources.arguments.erase(sources.arguments.begin());
    if (command == "help") {
      std::cout << help_text(kProgram);
      return 0;
    }
  }
  return dispatch(command, std::move(sources));
}

}  // namespace
}  // namespace tranche

int main(int argc, char** argv) {
  // The driver's MPS programs call us by a name of their own.
  if (const std::optional<int> played = tranche::play_mps_role({argv, argv + argc})) return *played;
  // By default each thread gets a heap of its own, and keeps what a large
  // request once took there. Ours allocate seldom and never at the same time.
  ::mallopt(M_ARENA_MAX, 1);  // NOLINT(concurrency-mt-unsafe): there is one thread yet
  const int code = tranche::main_with(argc, argv, environ);
  if (tranche::calls_left_behind() == 0) return code;
  // A driver call that never returned still has its thread in the library:
  // running the library's own destructors under it is not safe.
  std::cout.flush();
  std::cerr.flush();
  ::_exit(code);
}
