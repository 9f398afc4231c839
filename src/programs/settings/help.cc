// SPDX-License-Identifier: Apache-2.0
#include "programs/settings/help.h"

#include <fmt/core.h>

#include <array>

#include "os/settings/option_help.h"
#include "programs/settings/command_options.h"
#include "programs/settings/file_schema.h"
#include "programs/settings/flag_table.h"

namespace tranche::programs {
namespace {

struct Command {
  std::string_view name;
  std::string_view help;
  std::string_view words;  // after the command's name
};
constexpr std::array kCommands = {
    Command{"devices",
            "Show this node's GPUs, their health and what clears a fault, the resources they are "
            "offered as, and the pods that hold them; from the running agent, or else from the "
            "driver, the state folder and the kubelet. --gpu X shows one GPU, named by index, "
            "uuid or its beginning, or PCI address. -o json for programs; -o pods prints only the "
            "pods, one namespace and name per line."},
    Command{"check-config",
            "Check flags, environment and file as the agent would, and print the "
            "effective configuration: each value with its origin.",
            "[FILE|--config-file=FILE]"},
    Command{"capture",
            "Describe this node's GPUs in a file that the simulated driver can replay; for "
            "bug reports and tests. With --anonymous, without uuids and other identifiers."},
    Command{"release",
            "Ask the running agent to close the driver, for a driver update or a GPU reset; wait "
            "until it is closed, and name the pods on the GPUs. GPUs named by index, uuid or PCI "
            "address are unhealthy until 'resume', also over a restart of the agent; the others "
            "stay offered. With none named, all are unhealthy.",
            "[GPU...]"},
    Command{"resume",
            "Ask the running agent to reopen the driver, and show the state of the released GPUs."},
    Command{"numbers",
            "Show the number of each GPU, its PCI address and the driver's index. Indexes in the "
            "configuration are these numbers. -o json for programs. 'numbers forget 3 5' or "
            "'numbers forget all' removes numbers; the agent then numbers these GPUs again by the "
            "driver's index, so check excludeDevices and devices lists afterwards.",
            "[forget NUMBER...|all]"},
    Command{"version", "Print the version."},
};

std::string introduction(const std::string& program) {
  return fmt::format("Usage:\n  {0} [flags]\n  {0} COMMAND [flags]\n\n", program) +
         wrap(
             "Offers this node's NVIDIA GPUs to Kubernetes: whole, as MIG slices, or as replicas "
             "that several containers share. Without a command it runs as the node's agent: it "
             "registers with the kubelet, reports the GPUs and their health, and answers its "
             "allocations.",
             0) +
         "\n" +
         wrap(
             "It takes the flags, variables and configuration file of NVIDIA's device plugin, so "
             "that it can replace it. A flag overrides its environment variable, that the file, "
             "and that the default. Flags have one dash or two, and their value after = or a "
             "space; setting a boolean flag to false needs the = (--fail-on-init-error=false). "
             "Separate lists with commas, or repeat the flag.",
             0);
}

std::string examples(const std::string& program) {
  return fmt::format(
      "Examples:\n"
      "  {0} --config-file=/etc/tranche/config.yaml\n"
      "      Run with a configuration file; it is read again when it changes.\n"
      "  {0} check-config --config-file=config.yaml\n"
      "      Check a file before the rollout. Fails if something is wrong.\n"
      "  {0} --mig-strategy=mixed --device-list-strategy=envvar,cdi-cri\n"
      "      Offer MIG slices by profile, and name devices to the runtime in two ways.\n"
      "  {0} devices --exclude-devices='*T4*'\n"
      "      Show what would be offered without the T4 of this node.\n",
      program);
}

}  // namespace

std::string help_text(std::string_view program) {
  const std::string name(program);
  std::string text = introduction(name) + "\nCommands:\n";
  for (const Command& command : kCommands) {
    text += fmt::format("  {}\n{}", command.name, wrap(command.help, 6));
  }
  text += "\n" + examples(name);
  return text + options_help(flag_table()) +
         "\nHelp:\n  --help, -h\n      Print this.\n  --version\n      Print the version.\n";
}

std::string command_help(std::string_view program, std::string_view command) {
  std::string text;
  for (const Command& candidate : kCommands) {
    if (candidate.name != command) continue;
    text = fmt::format("Usage:\n  {} {}{}{}", program, command, candidate.words.empty() ? "" : " ",
                       candidate.words);
    for (const Option& option : options_of_command(command)) {
      if (!option.help.empty()) text += fmt::format(" [{}]", synopsis(option));
    }
    text += fmt::format(" [flags]\n\n{}\n", wrap(candidate.help, 0));
  }
  return text +
         wrap(
             "It also takes the agent's flags; give the same ones as the agent's, such as "
             "--config-file and --state-dir.",
             0) +
         fmt::format("'{} --help' has every flag.\n", program);
}

std::string reference_markdown() {
  const Schema& schema = file_schema();
  return "## Flags and variables\n" + options_reference(flag_table()) +
         "\n## Keys that only the file has\n\n" + keys_reference(schema) +
         "\n## Keys of NVIDIA's other programs\n\n" +
         "They are checked for their form, reported in the log, and have no effect.\n\n" +
         foreign_keys_reference(schema);
}

}  // namespace tranche::programs
