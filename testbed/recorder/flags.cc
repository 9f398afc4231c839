// SPDX-License-Identifier: Apache-2.0
#include "testbed/recorder/flags.h"

#include "os/settings/option_help.h"
#include "os/settings/read_options.h"

namespace tranche::testbed::recorder {
namespace {

constexpr auto kOptions = flags_only(
    "Options",
    {
        {.name = "kubelet-folder",
         .to = {field<&Flags::recorder, &Recorder::Options::kubelet_folder>},
         .fallback = "/var/lib/kubelet/device-plugins",
         .placeholder = "FOLDER",
         .required = true,
         .help = "Where the kubelet listens."},
        {.name = "plugin-folder",
         .to = {field<&Flags::recorder, &Recorder::Options::plugin_folder>},
         .placeholder = "FOLDER",
         .required = true,
         .help = "Where the recorder plays the kubelet; start the plugins on FOLDER/kubelet.sock, "
                 "and with their own sockets in FOLDER."},
        {.name = "transcript",
         .to = {field<&Flags::transcript>},
         .placeholder = "FILE",
         .required = true,
         .help = "One JSON object a line; overwritten."},
    });

}  // namespace

Result<Flags> parse_flags(const std::vector<std::string>& arguments) {
  return read_flags<Flags>(kOptions, arguments);
}

std::string usage() {
  return "kubelet-recorder: stands between a kubelet and its device plugins and writes down every "
         "call\n" +
         options_help(kOptions) +
         "\n"
         "It waits for the kubelet, follows its restarts, and ends with SIGTERM or SIGINT.\n"
         "Status 0: ended by a signal; 1: a folder or the transcript failed; 2: wrong flags.\n";
}

}  // namespace tranche::testbed::recorder
