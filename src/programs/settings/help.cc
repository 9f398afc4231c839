// SPDX-License-Identifier: Apache-2.0
#include "config/help.h"

#include <array>
#include <cstddef>
#include <vector>

#include "base/text.h"
#include "config/flag_table.h"

namespace tranche {
namespace {

constexpr std::size_t kWidth = 100;

struct Command {
  std::string_view name;
  std::string_view help;
};
constexpr std::array kCommands = {
    Command{"devices",
            "Show this node's GPUs, their health, and the resources they would be offered "
            "as, from the running agent or else from the driver. -o json for programs. Needs no "
            "kubelet."},
    Command{"check-config",
            "Check flags, environment and file as the agent would, and print the "
            "effective configuration: each value with where it came from."},
    Command{"capture",
            "Describe this node's GPUs in a file that the simulated driver can replay; for "
            "bug reports and tests. With --anonymous, without serial numbers and the like."},
    Command{"release",
            "Ask the running agent to let go of the driver, for a driver update or a GPU "
            "reset. GPUs named by index, uuid or PCI address are unhealthy until 'resume', the "
            "others stay offered; with none named, all are unhealthy."},
    Command{"resume", "Ask it to take the driver up again."},
    Command{"numbers",
            "Show the number of each GPU, its PCI address and the driver's index. Indexes in the "
            "configuration are these numbers. -o json for programs. 'numbers forget 3 5' or "
            "'numbers forget all' removes numbers; the agent then numbers these GPUs again by the "
            "driver's index, so check excludeDevices and devices lists afterwards."},
    Command{"version", "Print the version."},
};

// `text` in lines of at most kWidth columns, each behind `indent` spaces.
std::string wrap(std::string_view text, std::size_t indent) {
  std::string wrapped;
  std::string line(indent, ' ');
  for (const std::string& word : split(text, ' ')) {
    const bool first = line.size() == indent;
    if (!first && line.size() + 1 + word.size() > kWidth) {
      wrapped += line + "\n";
      line.assign(indent, ' ');
    }
    if (line.size() > indent) line += ' ';
    line += word;
  }
  return wrapped + line + "\n";
}

std::string value_word(const FlagSpec& flag) {
  switch (flag.type) {
    case ValueType::kBool: return "";
    case ValueType::kNumber: return " N";
    case ValueType::kDuration: return " DURATION";
    case ValueType::kChoice: return " " + join(flag.allowed_words(), "|");
    case ValueType::kPath: return " PATH";
    case ValueType::kTextList: return " LIST";
    case ValueType::kNumberList: return " NUMBERS";
    case ValueType::kText: break;
  }
  return flag.name == "config-file" ? " FILE" : " TEXT";
}

std::string flag_line(const FlagSpec& flag) {
  if (flag.name.empty()) return "  " + std::string(flag.environment[0]) + "  (environment only)\n";
  std::string names = "--" + std::string(flag.name);
  for (const std::string_view alias : flag.aliases) {
    if (!alias.empty()) names += ", --" + std::string(alias);
  }
  return "  " + names + value_word(flag) + "\n";
}

// "Default 5s. Environment HEALTH_CHECK_INTERVAL, file tranche.healthCheckInterval."
std::string sources_of(const FlagSpec& flag) {
  std::vector<std::string> sources;
  if (!flag.name.empty() && !flag.environment[0].empty()) {
    std::string names(flag.environment[0]);
    if (!flag.environment[1].empty()) names += " or " + std::string(flag.environment[1]);
    sources.push_back("environment " + names);
  }
  if (!flag.key.empty()) sources.push_back("file " + std::string(flag.key));
  std::string text;
  const std::string_view fallback = flag.fallback_note.empty() ? flag.fallback : flag.fallback_note;
  if (!fallback.empty()) text += "default " + std::string(fallback);
  if (!sources.empty()) text += (text.empty() ? "" : "; ") + join(sources, ", ");
  return text.empty() ? "" : "[" + text + "]";
}

std::string describe_flag(const FlagSpec& flag) {
  std::string text(flag.help);
  if (flag.type == ValueType::kTextList && !flag.allowed.empty()) {
    text += " Of: " + join(flag.allowed_words(), ", ") + ".";
  }
  std::string described = flag_line(flag) + wrap(text, 6);
  if (const std::string sources = sources_of(flag); !sources.empty()) described += wrap(sources, 6);
  return described;
}

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
  const FlagSpec* previous = nullptr;
  for (const FlagSpec& flag : flag_table()) {
    if (previous == nullptr || previous->group != flag.group) {
      text += "\n" + std::string(group_title(flag.group)) + ":\n";
    }
    text += describe_flag(flag);
    previous = &flag;
  }
  return text + "\nHelp:\n  --help, -h\n      Print this.\n  --version\n      Print the version.\n";
}

}  // namespace tranche
