// SPDX-License-Identifier: Apache-2.0
#include "programs/settings/help.h"

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
  std::string_view words = {};  // that follow the command's name
};
constexpr std::array kCommands = {
    Command{
        "devices",
        "Show this node's GPUs, their health and what clears a fault, the resources they are "
        "offered as, and the pods that hold them; from the running agent, or else from the "
        "driver, the state folder and the kubelet. --gpu X shows one GPU, named by index, "
        "uuid or its beginning, or PCI address. -o json for programs; -o pods prints the pods "
        "alone, a namespace and a "
        "name a line.",
    },
    Command{"check-config",
            "Check flags, environment and file as the agent would, and print the "
            "effective configuration: each value with where it came from.",
            "[FILE|--config-file=FILE]"},
    Command{"capture",
            "Describe this node's GPUs in a file that the simulated driver can replay; for "
            "bug reports and tests. With --anonymous, without serial numbers and the like."},
    Command{"release",
            "Ask the running agent to close the driver, for a driver update or a GPU reset; wait "
            "until it is closed, and name the pods on the GPUs. GPUs named by index, uuid or PCI "
            "address are unhealthy until 'resume', also over a restart of the agent; the others "
            "stay offered. With none named, all are unhealthy.",
            "[GPU...]"},
    Command{"resume", "Ask it to reopen the driver, and show how the released GPUs are."},
    Command{"numbers",
            "Show the number of each GPU, its PCI address and the driver's index. Indexes in the "
            "configuration are these numbers. -o json for programs. 'numbers forget 3 5' or "
            "'numbers forget all' removes numbers; the agent then numbers these GPUs again by the "
            "driver's index, so check excludeDevices and devices lists afterwards.",
            "[forget NUMBER...|all]"},
    Command{"version", "Print the version."},
};

std::string introduction(const std::string& program) {
  return "Usage:\n  " + program + " [flags]\n  " + program + " COMMAND [flags]\n\n" +
         wrap(
             "Offers this node's NVIDIA GPUs to Kubernetes: whole, as MIG slices, or as replicas "
             "that several containers share. Without a command it runs as the node's agent: it "
             "registers with the kubelet, keeps it informed of the GPUs and their health, and "
             "tells it what a container needs to use them.",
             0) +
         "\n" +
         wrap(
             "It takes the flags, variables and configuration file of NVIDIA's device plugin, so "
             "that it can stand in for it. A flag wins over its environment variable, that over "
             "the file, and that over the default. Flags have one dash or two and their value "
             "behind = or a space; a flag that is true or false needs the = to be turned off "
             "(--fail-on-init-error=false). Lists have commas, or the flag several times.",
             0);
}

std::string examples(const std::string& program) {
  return "Examples:\n"
         "  " +
         program +
         " --config-file=/etc/tranche/config.yaml\n"
         "      Run with a configuration file; it is read again when it changes.\n"
         "  " +
         program +
         " check-config --config-file=config.yaml\n"
         "      See what a file would do before it is rolled out. Fails when something is wrong.\n"
         "  " +
         program +
         " --mig-strategy=mixed --device-list-strategy=envvar,cdi-cri\n"
         "      Offer MIG slices by profile, and name devices to the runtime in two ways.\n"
         "  " +
         program +
         " devices --exclude-devices='*T4*'\n"
         "      See what would be offered without the T4 in this node.\n";
}

}  // namespace

std::string help_text(std::string_view program) {
  const std::string name(program);
  std::string text = introduction(name) + "\nCommands:\n";
  for (const Command& command : kCommands) {
    text += "  " + std::string(command.name) + "\n" + wrap(command.help, 6);
  }
  text += "\n" + examples(name);
  return text + options_help(flag_table()) +
         "\nHelp:\n  --help, -h\n      Print this.\n  --version\n      Print the version.\n";
}

std::string command_help(std::string_view program, std::string_view command) {
  const std::string name(program);
  std::string text;
  for (const Command& candidate : kCommands) {
    if (candidate.name != command) continue;
    text = "Usage:\n  " + name + " " + std::string(command) +
           (candidate.words.empty() ? "" : " " + std::string(candidate.words));
    for (const Option& option : options_of_command(command)) {
      if (!option.help.empty()) text += " [" + synopsis(option) + "]";
    }
    text += " [flags]\n\n" + wrap(candidate.help, 0) + "\n";
  }
  return text +
         wrap(
             "It takes the agent's flags too; give those that the agent has, such as "
             "--config-file and --state-dir.",
             0) +
         "'" + name + " --help' has every flag.\n";
}

std::string reference_markdown() {
  const Schema& schema = file_schema();
  return "## Flags and variables\n" + options_reference(flag_table()) +
         "\n## Keys that only the file has\n\n" + keys_reference(schema) +
         "\n## Keys of NVIDIA's other programs\n\n" +
         "They are checked for their form, reported in the log as not ours, and have no "
         "effect.\n\n" +
         foreign_keys_reference(schema);
}

}  // namespace tranche::programs
