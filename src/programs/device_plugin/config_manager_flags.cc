// SPDX-License-Identifier: Apache-2.0
#include "programs/device_plugin/config_manager_flags.h"

#include <fmt/core.h>

#include "os/settings/option_help.h"

namespace tranche::programs {
namespace {

using Flags = ConfigManagerFlags;

constexpr unsigned kHighestSignal = 64;

constexpr auto kOptions = in_group(
    "Options",
    {
        {.name = "oneshot",
         .to = {field<&Flags::oneshot>},
         .fallback = "false",
         .help = "End when the link is made for the first time."},
        {.name = "kubeconfig",
         .to = {field<&Flags::kubeconfig>},
         .placeholder = "FILE",
         .help = "The kubeconfig for the API server. Empty: the pod's service account."},
        {.name = "node-name",
         .to = {field<&Flags::node_name>},
         .required = true,
         .help = "The Node whose label is followed. Required."},
        {.name = "node-label",
         .to = {field<&Flags::configs, &NamedConfigOptions::label>},
         .fallback = "nvidia.com/device-plugin.config",
         .required = true,
         .help = "The label that names a configuration."},
        {.name = "config-file-srcdir",
         .to = {field<&Flags::configs, &NamedConfigOptions::folder>},
         .placeholder = "FOLDER",
         .required = true,
         .help = "Folder with a file for each configuration. Required."},
        {.name = "config-file-dst",
         .to = {field<&Flags::destination>},
         .placeholder = "FILE",
         .required = true,
         .help = "The link to the chosen file. Required."},
        {.name = "default-config",
         .to = {field<&Flags::configs, &NamedConfigOptions::default_name>},
         .placeholder = "NAME",
         .help = "The configuration for a node without the label."},
        {.name = "fallback-strategies",
         .to = {field<&Flags::fallbacks>},
         .allowed = "named,single,empty",
         .complaint = "unknown fallback strategy: ",
         .help = "What to use without label and default; the first that applies. named: the file "
                 "`default`. single: the only file. empty: /dev/null."},
        {.name = "send-signal",
         .to = {field<&Flags::send_signal>},
         .fallback = "true",
         .help = "Whether the process is signalled when the link or the file behind it changes."},
        {.name = "signal",
         .to = {field<&Flags::signal>},
         .fallback = "1",
         .help = "Number of the signal."},
        {.name = "process-to-signal",
         .to = {field<&Flags::process>},
         .fallback = "nvidia-device-plugin",
         .help =
             "The name that the process was started with. A process of the same name in another "
             "folder counts if there is none with exactly this name."},
    });

}  // namespace

Result<ConfigManagerFlags> read_config_manager_flags(const std::vector<std::string>& arguments,
                                                     const Environment& environment) {
  const Result<GivenOptions> given = read_options(kOptions, arguments, environment);
  if (!given) return given.error();
  ConfigManagerFlags flags;
  given->values.fill(flags);
  flags.help = given->wants_help;
  for (const std::string& word : flags.fallbacks) {
    if (const auto strategy = meaning_of(kConfigFallbacks, word)) {
      flags.configs.fallbacks.push_back(*strategy);
    }
  }
  if (flags.send_signal && (flags.signal == 0 || flags.signal > kHighestSignal)) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("--signal={}: a signal is a number from 1 to {}", flags.signal,
                             kHighestSignal)};
  }
  if (flags.send_signal && flags.process.empty() && !flags.help && !flags.oneshot) {
    return Error{ErrorCode::kInvalidArgument,
                 "--process-to-signal is empty; name the process, or give --send-signal=false"};
  }
  return flags;
}

std::string config_manager_help() {
  return "config-manager: links the configuration that the node's label names\n" +
         options_help(kOptions);
}

}  // namespace tranche::programs
