// SPDX-License-Identifier: Apache-2.0
#include "testbed/recorder/flags.h"

#include <cstddef>
#include <map>
#include <utility>

namespace tranche::testbed::recorder {
namespace {

Error wrong(std::string message) { return {ErrorCode::kInvalidArgument, std::move(message)}; }

}  // namespace

Result<Flags> parse_flags(const std::vector<std::string>& arguments) {
  Flags flags;
  const std::map<std::string, std::string*> values = {
      {"--kubelet-folder", &flags.recorder.kubelet_folder},
      {"--plugin-folder", &flags.recorder.plugin_folder},
      {"--transcript", &flags.transcript},
  };
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == "--help") {
      flags.help = true;
      return flags;
    }
    // "--flag=value" or "--flag value".
    const std::size_t equals = arguments[i].find('=');
    const std::string flag = arguments[i].substr(0, equals);
    const auto value = values.find(flag);
    if (value == values.end()) return wrong("unknown flag \"" + flag + "\"; see --help");
    if (equals != std::string::npos) {
      *value->second = arguments[i].substr(equals + 1);
    } else if (++i < arguments.size()) {
      *value->second = arguments[i];
    } else {
      return wrong(flag + " needs a value");
    }
  }
  for (const auto& [flag, value] : values) {
    if (value->empty()) return wrong(flag + " is missing; see --help");
  }
  return flags;
}

std::string usage() {
  return R"(kubelet-recorder: stands between a kubelet and its device plugins and writes down every call

  --kubelet-folder FOLDER  where the kubelet listens; default /var/lib/kubelet/device-plugins
  --plugin-folder FOLDER   where the recorder plays the kubelet; start the plugins on
                           FOLDER/kubelet.sock, and with their own sockets in FOLDER
  --transcript FILE        one JSON object a line; overwritten

It waits for the kubelet, follows its restarts, and ends with SIGTERM or SIGINT.
Status 0: ended as told; 1: a folder or the transcript failed; 2: wrong flags.
)";
}

}  // namespace tranche::testbed::recorder
