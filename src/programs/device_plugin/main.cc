// SPDX-License-Identifier: Apache-2.0
//
// tranche-device-plugin: which sub-command is meant, and the exit code.
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "base/text.h"
#include "node/mps/launch.h"
#include "os/child_process.h"
#include "os/patient_caller.h"
#include "os/settings/command_line.h"
#include "programs/device_plugin/agent.h"
#include "programs/device_plugin/commands.h"
#include "programs/device_plugin/config_manager.h"
#include "programs/device_plugin/config_start.h"
#include "programs/device_plugin/mps_control_daemon.h"
#include "programs/device_plugin/version.h"
#include "programs/settings/command_options.h"
#include "programs/settings/flag_table.h"
#include "programs/settings/help.h"
#include "programs/settings/load.h"

namespace tranche::programs {
namespace {

constexpr const char* kProgram = "tranche-device-plugin";

void print_problems(const std::string& message) {
  for (const std::string& line : split(message, '\n')) {
    std::cerr << kProgram << ": " << line << "\n";
  }
}

int complain(const std::string& message) {
  print_problems(message);
  std::cerr << "Run '" << kProgram << " --help' for what there is.\n";
  return 1;
}

// Of flags, variables and the file, each with what helps on.
int complain_of_settings(const std::string& message, const std::string& command,
                         const std::string& config_file) {
  const std::vector<std::string> lines = split(message, '\n');
  const auto is_unreadable = [](const std::string& line) {
    return line.starts_with("configuration file: ");
  };
  const auto is_of_file = [&](const std::string& line) {
    return !config_file.empty() && line.starts_with(config_file + ":");
  };
  const bool has_others = std::ranges::any_of(
      lines, [&](const std::string& line) { return !is_unreadable(line) && !is_of_file(line); });
  if (std::ranges::none_of(lines, is_of_file)) {
    if (has_others) return complain(message);
    print_problems(message);
    return 1;
  }
  print_problems(message);
  if (command == "check-config") {
    std::cerr << "docs/configuration.md has every key.\n";
  } else {
    std::cerr << "Run '" << kProgram << " check-config --config-file=" << config_file
              << "' to check the file without starting anything; docs/configuration.md has every "
                 "key.\n";
  }
  return 1;
}

// What is meant by words behind a command that takes none; empty: the command takes them.
std::string words_problem(const std::string& command, const std::vector<std::string>& words) {
  if (words.empty()) return {};
  if (command == "resume") return "resume takes no GPU: it ends the whole release";
  if (command == "devices") return "to see one GPU: `devices --gpu " + words.back() + "`";
  return {};
}

// `check-config FILE` is `check-config --config-file=FILE`. The problem with the words; empty:
// none.
std::string take_file(Sources& sources) {
  const CommandLine line =
      parse_command_line(flag_table(), sources.arguments, {.options = sources.command_options});
  const auto has_flag = [&](std::string_view name) {
    return std::ranges::any_of(line.flags,
                               [&](const GivenFlag& given) { return given.flag->name == name; });
  };
  // A file that is named counts, and not the CONFIG_DIR of the agent's pod.
  if ((has_flag("config-file") || !line.positionals.empty()) && !has_flag("config-dir")) {
    sources.arguments.insert(sources.arguments.begin(), "--config-dir=");
  }
  if (line.positionals.empty()) return {};
  if (has_flag("config-file") || line.positionals.size() > 1) {
    return "check-config takes one file: `check-config FILE` or `check-config --config-file=FILE`";
  }
  sources.arguments.insert(sources.arguments.begin(), "--config-file=" + line.positionals.front());
  return {};
}

int dispatch(const std::string& command, Sources sources) {
  sources.command_options = options_of_command(command);
  const Result<CommandOptions> options = read_command_options(sources);
  if (!options) return complain(options.error().message);
  const std::optional<std::string>& gpu = options->gpu;
  if (command == "release" && gpu) {
    return complain("release takes GPUs without a flag: `release " + *gpu + "`");
  }
  if (command == "check-config") {
    if (const std::string problem = take_file(sources); !problem.empty()) {
      return complain(problem);
    }
  }
  sources.allow_positionals = command == "release" || command == "numbers" || command == "resume" ||
                              command == "devices" || command == "check-config";
  Result<Loaded> loaded = load_settings(sources);
  if (loaded && !command.empty()) loaded = load_for_command(sources, *loaded);
  if (!loaded) {
    return complain_of_settings(loaded.error().message, command, config_file_of(sources));
  }
  if (loaded->wants_help) {
    std::cout << (command.empty() ? help_text(kProgram) : command_help(kProgram, command));
    return 0;
  }
  if (const std::string problem = words_problem(command, loaded->positionals); !problem.empty()) {
    return complain(problem);
  }
  if (loaded->wants_version || command == "version") {
    std::cout << kProgram << " " << kVersion << "\n";
    return 0;
  }
  if (command == "devices") return run_devices(*loaded, options->format, gpu);
  if (command == "check-config") return run_check_config(*loaded, options->format);
  if (command == "capture") return run_capture(*loaded, options->anonymous);
  if (command == "release") return run_release(*loaded);
  if (command == "resume") return run_resume(*loaded);
  if (command == "numbers") return run_numbers(*loaded, options->format);
  Log log;
  return run_agent(sources, *loaded, log);
}

int main_with(int count, char** words) {
  Sources sources{.arguments = {words + 1, words + count},
                  .environment = own_environment(),
                  .program = count > 0 ? words[0] : ""};
  if (const auto code = run_as_mps_control_daemon(sources)) return *code;
  if (const auto code = run_as_config_manager(sources)) return *code;
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
}  // namespace tranche::programs

// There where tests are built with it. What ends by _exit is checked for leaks as well.
extern "C" int __lsan_do_recoverable_leak_check() __attribute__((weak));  // NOLINT

int main(int argc, char** argv) {
  // The driver's MPS programs call us by a name of their own.
  if (const std::optional<int> played = tranche::programs::play_mps_role({argv, argv + argc})) {
    return *played;
  }
  // By default each thread gets a heap of its own, and keeps what a large
  // request once took there. Ours allocate seldom and never at the same time.
  ::mallopt(M_ARENA_MAX, 1);  // NOLINT(concurrency-mt-unsafe): there is one thread yet
  const int code = tranche::programs::main_with(argc, argv);
  if (tranche::programs::calls_left_behind() == 0) return code;
  // A driver call that has not returned still has its thread in the library:
  // running the library's own destructors under it is not safe.
  std::cout.flush();
  std::cerr.flush();
  const bool leaks =
      __lsan_do_recoverable_leak_check != nullptr && __lsan_do_recoverable_leak_check() != 0;
  ::_exit(leaks ? 23 : code);  // the sanitizer's own code
}
