// SPDX-License-Identifier: Apache-2.0
#include "testbed/api_client/flags.h"

#include "os/settings/option_help.h"
#include "os/settings/read_options.h"

namespace tranche::testbed::api_client {
namespace {

constexpr auto kOptions = flags_only(
    "Options",
    {
        {.name = "kubeconfig",
         .to = {field<&Flags::kubeconfig>},
         .placeholder = "FILE",
         .help = "How to reach the API server; without it, as a pod does."},
        {.name = "token-file",
         .to = {field<&Flags::token_file>},
         .placeholder = "FILE",
         .help = "Credentials in place of those in the kubeconfig."},
        {.name = "watch",
         .to = {field<&Flags::watch>},
         .placeholder = "PATH",
         .help = "Print what changes there, as in /api/v1/configmaps."},
        {.name = "lease",
         .to = {field<&Flags::lease>},
         .placeholder = "NAMESPACE/NAME",
         .help = "Get and keep this lease, and print when that changes."},
        {.name = "identity",
         .to = {field<&Flags::identity>},
         .placeholder = "NAME",
         .help = "Of the lease's holder."},
        {.name = "lease-seconds",
         .to = {field<&Flags::lease_seconds>},
         .fallback = "15",
         .help = "A lease that did not change for so long is free."},
        {.name = "wall-behind",
         .to = {field<&Flags::wall_behind>},
         .fallback = "0",
         .help = "How many seconds the clock of the machine is slow, for the lease's times."},
        {.name = "events",
         .to = {field<&Flags::events>},
         .help = "Make the events that standard input has, one JSON object a line."},
    });

}  // namespace

Result<Flags> parse_flags(const std::vector<std::string>& words) {
  return read_flags<Flags>(kOptions, words);
}

std::string usage() {
  return R"(api-client: the agent's client of the API server, for stories on a real one

Without --watch, --lease and --events it makes the calls that standard input has, one JSON object
a line: {"verb": "PATCH", "path": "/api/v1/…", "type": "application/merge-patch+json", "body": …}.
It prints one JSON object a line and ends with its input, SIGTERM or SIGINT.
)" + options_help(kOptions);
}

}  // namespace tranche::testbed::api_client
