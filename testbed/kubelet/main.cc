// SPDX-License-Identifier: Apache-2.0
//
// kubelet-standin: the stand-in as a program, for demonstrations, scripts and
// machines that have nothing but this binary. See usage() in commands.cc.
#include <algorithm>
#include <chrono>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "testbed/kubelet/commands.h"
#include "testbed/kubelet/kubelet.h"

namespace {

using namespace tranche::testbed;
using namespace tranche::testbed::standin;

// One write a line, so that lines of several threads do not mix and a script
// sees each at once.
void say(const std::string& line) { std::cout << line + "\n" << std::flush; }

void say_all(const std::vector<std::string>& lines) {
  for (const std::string& line : lines) say(line);
}

Pod pod_named(const std::string& name, const Limits& limits) {
  return {.name = name, .containers = {{"main", limits}}};
}

// Init containers first, as they are started.
std::vector<std::string> container_names(const Pod& pod) {
  std::vector<std::string> names;
  for (const Container& container : pod.init_containers) names.push_back(container.name);
  for (const Container& container : pod.containers) names.push_back(container.name);
  return names;
}

Status admit_and_start(Kubelet& kubelet, const Pod& pod, bool prints) {
  const AdmissionResult result = kubelet.admit(pod);
  if (!result.admitted) {
    return Error{ErrorCode::kUnavailable, result.reason + ": " + result.message};
  }
  if (prints) say_all(grant_lines(result));
  for (const std::string& name : container_names(pod)) {
    const Result<ContainerResponse> started = kubelet.start_container(pod, name);
    if (!started) return started.error();
  }
  return Done{};
}

bool become_allocatable(Kubelet& kubelet, const Limits& wanted,
                        std::chrono::milliseconds patience) {
  return kubelet.wait_until(
      [&](const NodeView& view) {
        return std::ranges::all_of(wanted, [&](const auto& resource) {
          return view.allocatable(resource.first) >= resource.second;
        });
      },
      patience);
}

class Commands {
 public:
  Commands(Kubelet& kubelet, std::chrono::milliseconds patience)
      : kubelet_(kubelet), patience_(patience) {}

  Status run(const Command& command) {
    switch (command.kind) {
      case Command::Kind::kAdmit: return admit(command);
      case Command::Kind::kStart:
        return with_pod(command.name, [&](const Pod& pod) { return start(pod); });
      case Command::Kind::kRemove:
        return with_pod(command.name, [&](const Pod& pod) { return remove(pod); });
      case Command::Kind::kWait: return wait(command.limits);
      case Command::Kind::kNode: say_all(node_lines(kubelet_.node())); break;
      case Command::Kind::kDevices: say_all(device_lines(kubelet_.node(), command.name)); break;
      case Command::Kind::kRestart: return kubelet_.restart();
      case Command::Kind::kReadmit: readmit(); break;
      case Command::Kind::kStopStream: return stop_stream(command.name);
      case Command::Kind::kPodResources: return kubelet_.serve_pod_resources(command.name == "on");
      case Command::Kind::kHelp: say_all(help_lines()); break;
      case Command::Kind::kQuit: break;
    }
    return Done{};
  }

 private:
  Status admit(const Command& command) {
    Status admitted = admit_and_start(kubelet_, command.pod, true);
    if (admitted) pods_[command.name] = command.pod;
    return admitted;
  }

  // A line for each that was rejected, and has ended by that.
  void readmit() {
    for (const auto& [pod, result] : kubelet_.admit_found_pods()) {
      if (result.admitted) continue;
      say("rejected " + pod.name + " " + result.reason + ": " + result.message);
      pods_.erase(pod.name);
    }
  }

  Status start(const Pod& pod) {
    for (const Container& container : pod.containers) {
      const Result<ContainerResponse> started = kubelet_.start_container(pod, container.name);
      if (!started) return started.error();
      say_all(response_lines(container.name, *started));
    }
    return Done{};
  }

  Status remove(const Pod& pod) {
    kubelet_.remove(pod);
    pods_.erase(std::string(pod.name));
    return Done{};
  }

  // Exactly so many: a loss can be awaited, too.
  Status wait(const Limits& wanted) {
    const bool held = kubelet_.wait_until(
        [&](const NodeView& view) {
          return std::ranges::all_of(wanted, [&](const auto& resource) {
            return view.allocatable(resource.first) == resource.second;
          });
        },
        patience_);
    if (held) return Done{};
    return Error{ErrorCode::kUnavailable, "the resources did not become allocatable in time"};
  }

  Status stop_stream(const std::string& resource) {
    if (kubelet_.break_stream(resource)) return Done{};
    return Error{ErrorCode::kNotFound, resource + " has no stream"};
  }

  template <typename Action>
  Status with_pod(const std::string& name, Action action) {
    const auto found = pods_.find(name);
    if (found == pods_.end()) return Error{ErrorCode::kNotFound, "there is no pod " + name};
    const Pod pod = found->second;
    return action(pod);
  }

  Kubelet& kubelet_;
  const std::chrono::milliseconds patience_;
  std::map<std::string, Pod> pods_;
};

int run_commands(Kubelet& kubelet, const Flags& flags) {
  Commands commands(kubelet, flags.timeout);
  std::string line;
  while (std::getline(std::cin, line)) {
    const Result<Command> command = parse_command(line);
    const Status done = command ? commands.run(*command) : Status(command.error());
    say(done ? "ok" : "error: " + done.error().message);
    if (command && command->kind == Command::Kind::kQuit) break;
  }
  return 0;
}

int run_once(Kubelet& kubelet, const Flags& flags) {
  if (!become_allocatable(kubelet, flags.wait_for, flags.timeout)) {
    say_all(node_lines(kubelet.node()));
    std::cerr << "error: the resources did not become allocatable in time\n";
    return 1;
  }
  if (!flags.admit) return 0;
  const Status admitted =
      admit_and_start(kubelet, pod_named("one-shot", *flags.admit), flags.print);
  if (!admitted) std::cerr << "error: " << admitted.error().message << "\n";
  return admitted ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const Result<Flags> flags = parse_flags(std::vector<std::string>(argv + 1, argv + argc));
  if (!flags) {
    std::cerr << "error: " << flags.error().message << "\n";
    return 2;
  }
  if (flags->help) {
    std::cout << usage();
    return 0;
  }
  Kubelet kubelet(flags->kubelet, [](const Event& event) { say("event: " + to_text(event)); });
  if (const Status started = kubelet.start(); !started) {
    std::cerr << "error: " << started.error().message << "\n";
    return 1;
  }
  return flags->is_one_shot() ? run_once(kubelet, *flags) : run_commands(kubelet, *flags);
}
