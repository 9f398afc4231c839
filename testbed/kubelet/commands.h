// SPDX-License-Identifier: Apache-2.0
//
// The language of the program kubelet-standin: its flags, the commands on its
// input and the lines of its answers. Pure.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "testbed/kubelet/kubelet.h"
#include "testbed/kubelet/values.h"

namespace tranche::testbed::standin {

struct Flags {
  KubeletOptions kubelet;
  bool help = false;
  // One-shot mode, where either is given: wait for these counts to be
  // allocatable, admit one pod, end.
  std::vector<std::string> wait_resources;  // as written
  Limits wait_for;
  std::optional<Limits> admit;
  bool print = false;  // what the pod was given
  std::chrono::milliseconds timeout{};

  bool is_one_shot() const { return admit.has_value() || !wait_for.empty(); }
};
Result<Flags> parse_flags(const std::vector<std::string>& arguments);
std::string usage();

struct Command {
  enum class Kind {
    kAdmit,
    kStart,
    kRemove,
    kWait,
    kNode,
    kDevices,
    kRestart,
    kReadmit,
    kStopStream,
    kPodResources,
    kHelp,
    kQuit
  };
  Kind kind = Kind::kHelp;
  std::string name;  // of a pod, or of a resource; "on" or "off"
  Limits limits;     // of wait
  Pod pod;           // of admit

  bool operator==(const Command&) const = default;
};
Result<Command> parse_command(std::string_view line);
std::vector<std::string> help_lines();

// "nvidia.com/gpu=2,example.com/nic=1".
Result<Limits> parse_limits(std::string_view text);

// A word for each container: its limits, which is a container "main", or
// "NAME:" and limits, if any; before that "init:" or "sidecar:" where it is one.
Result<Pod> parse_pod(const std::string& name, const std::vector<std::string>& words);

// One fact a line, for people and for grep:
// "granted main nvidia.com/gpu id0 id1", "env main NAME=value", …
std::vector<std::string> grant_lines(const AdmissionResult& result);
std::vector<std::string> response_lines(const std::string& container,
                                        const ContainerResponse& response);
std::vector<std::string> node_lines(const NodeView& view);
std::vector<std::string> device_lines(const NodeView& view, const std::string& resource);

}  // namespace tranche::testbed::standin
