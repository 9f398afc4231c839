// SPDX-License-Identifier: Apache-2.0
#include "demo/story.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/text.h"
#include "demo/lines.h"
#include "demo/world.h"
#include "testbed/world/changes.h"

namespace tranche::demo {
namespace {

using standin::EventKind;

constexpr const char* kGpu = "nvidia.com/gpu";
constexpr const char* kShared = "nvidia.com/gpu-shared";
constexpr const char* kMig = "nvidia.com/mig-3g.47gb";
constexpr unsigned kSharedGpu = 6;

standin::ResourceCount all_of_them(std::int64_t count) {
  return {.capacity = count, .allocatable = count};
}

// `devices` and `replicas` are the line's words: the story misspells one.
std::string config(const Stage& stage, const std::string& devices, const std::string& replicas) {
  // CDI specifications want real device nodes, which not everybody may make.
  const std::string strategies = stage.has_device_nodes() ? "[envvar, cdi-cri]" : "[envvar]";
  return "version: v1\n"
         "flags:\n"
         "  migStrategy: mixed\n"
         "  plugin:\n"
         "    passDeviceSpecs: true\n"
         "    deviceListStrategy: " +
         strategies +
         "\n"
         "sharing:\n"
         "  timeSlicing:\n"
         "    resources:\n"
         "      - name: nvidia.com/gpu\n"
         "        rename: nvidia.com/gpu-shared\n"
         "        devices: " +
         devices +
         "\n"
         "        " +
         replicas + "\n";
}

void show_file(const std::string& text, Screen& screen) {
  std::string who = "file";
  for (const std::string& line : split(trim(text), '\n')) {
    screen.line(std::exchange(who, ""), line);
  }
}

void show_counts(Stage& stage, Screen& screen) {
  for (const auto& [resource, view] : stage.kubelet().node().resources) {
    screen.line("kubelet", count_line(resource, view));
  }
}

Status show_next_log(Stage& stage, Screen& screen, const std::string& regex) {
  const Result<std::string> line = stage.await_log(regex);
  if (!line) return line.error();
  screen.log(*line);
  return Done{};
}

Result<standin::AdmissionResult> ask_for(Stage& stage, Screen& screen, const std::string& name,
                                         const standin::Limits& limits) {
  for (const auto& [resource, count] : limits) {
    std::string text = name;
    text.append(" asks for ").append(resource).append(": ").append(std::to_string(count));
    screen.line("pod", text);
  }
  return stage.admit(
      {.uid = name, .name = name, .containers = {{.name = "main", .limits = limits}}});
}

// Says what the container of a pod got.
Result<standin::ContainerResponse> admit(Stage& stage, Screen& screen, const std::string& name,
                                         const standin::Limits& limits) {
  const Result<standin::AdmissionResult> result = ask_for(stage, screen, name, limits);
  if (!result) return result.error();
  if (!result->admitted || result->containers.empty()) {
    return Error{ErrorCode::kUnavailable,
                 "pod " + name + " was not admitted: " + result->reason + ": " + result->message};
  }
  const standin::ContainerResponse& got = result->containers.front().response;
  for (const Labelled& line : grant_lines(got)) screen.line(line.who, line.text, Tone::kGood);
  return got;
}

// An error when the two GPUs that a container was told of are not joined.
Status show_links(const Stage& stage, Screen& screen, const standin::ContainerResponse& got) {
  const Result<sim::World> world = stage.node().world();
  if (!world) return world.error();
  const auto told = got.envs.find("NVIDIA_VISIBLE_DEVICES");
  const auto uuids = told == got.envs.end() ? std::vector<std::string>{} : split(told->second, ',');
  const auto a = uuids.size() == 2 ? place_of(*world, uuids[0]) : std::nullopt;
  const auto b = uuids.size() == 2 ? place_of(*world, uuids[1]) : std::nullopt;
  const std::size_t links = a && b ? links_between(*world, *a, *b) : 0;
  if (!a || !b || links == 0) {
    return Error{ErrorCode::kInternal, "it did not get two GPUs that are joined"};
  }
  screen.say("These are GPU " + std::to_string(*a) + " and GPU " + std::to_string(*b) +
             ", joined by " + std::to_string(links) + " NVLinks.");
  return Done{};
}

std::size_t registrations(Stage& stage) {
  return stage.kubelet().transcript().calls(EventKind::kRegister).size();
}

// ---------------------------------------------------------------- the steps

Status show_gpus(Stage& stage, Screen& screen) {
  screen.say(
      "Eight H100 NVL in pairs, each pair joined by NVLink; the last one is cut in two with MIG. "
      "A simulated driver answers for them, and the agent cannot tell. This file makes three "
      "resources of them: GPU 6 is shared by four containers at a time, the slices of GPU 7 are "
      "offered one by one, the other GPUs whole.");
  const std::string text = config(stage, "[6]", "replicas: 4");
  show_file(text, screen);
  if (Status written = stage.write_config(text); !written) return written;
  const Result<std::string> table = stage.command("devices");
  if (!table) return table.error();
  screen.gap();
  screen.block("$ tranche-device-plugin devices", Tone::kQuiet);
  screen.block(*table);
  return Done{};
}

Status register_resources(Stage& stage, Screen& screen) {
  screen.say(
      "The agent starts, finds the kubelet's socket and registers each resource. The kubelet "
      "calls back and is sent the devices.");
  if (Status started = stage.start_kubelet(); !started) return started;
  if (Status started = stage.start_agent(); !started) return started;
  for (const auto& [resource, count] : standin::Limits{{kGpu, 6}, {kShared, 4}, {kMig, 2}}) {
    if (Status told = stage.await_counts(resource, all_of_them(count)); !told) return told;
  }
  for (const standin::Event& event : stage.kubelet().transcript().calls(EventKind::kRegister)) {
    screen.line("kubelet", to_text(event));
  }
  show_counts(stage, screen);
  return Done{};
}

Status grant(Stage& stage, Screen& screen) {
  screen.say(
      "Pods arrive. The kubelet asks the agent for each container, and this is what they get. "
      "One wants two whole GPUs: the agent picks two that are joined.");
  const auto pair = admit(stage, screen, "training", {{kGpu, 2}});
  if (!pair) return pair.error();
  if (Status joined = show_links(stage, screen, *pair); !joined) return joined;
  screen.say("Two notebooks share one GPU:");
  for (const char* name : {"notebook-a", "notebook-b"}) {
    if (const auto got = admit(stage, screen, name, {{kShared, 1}}); !got) return got.error();
  }
  screen.say("And one gets a slice, with the device nodes that open this slice and no other:");
  if (const auto got = admit(stage, screen, "inference", {{kMig, 1}}); !got) return got.error();
  show_counts(stage, screen);
  return Done{};
}

Status lose_gpu(Stage& stage, Screen& screen) {
  screen.say(
      "The shared GPU falls off the bus. The agent hears of it from the kernel's log and the "
      "driver, and tells the kubelet: none of its four shares takes a pod. The other GPUs are not "
      "touched.");
  if (Status fell = stage.node().apply(sim::fall_off(kSharedGpu)); !fell) return fell;
  if (Status told = stage.await_counts(kShared, {.capacity = 4, .allocatable = 0}); !told) {
    return told;
  }
  // The driver may be asked before the kernel has written its line: then there is another line
  // before the one with the reason.
  if (Status said = show_next_log(stage, screen, "is unhealthy .*index=6 .*XID 79"); !said) {
    return said;
  }
  show_counts(stage, screen);
  const auto refused = ask_for(stage, screen, "notebook-c", {{kShared, 1}});
  if (!refused) return refused.error();
  if (refused->admitted) return Error{ErrorCode::kInternal, "it was given a broken GPU"};
  screen.line("kubelet", refused->reason + ": " + refused->message, Tone::kBad);
  const Result<std::string> table = stage.command("devices");
  if (!table) return table.error();
  screen.block("$ tranche-device-plugin devices | grep UNHEALTHY", Tone::kQuiet);
  for (const std::string& row : split(*table, '\n')) {
    if (row.find("UNHEALTHY") != std::string::npos) screen.block(row, Tone::kBad);
  }
  return Done{};
}

Status regain_gpu(Stage& stage, Screen& screen) {
  screen.say(
      "Somebody resets the GPU, and it is on the bus again. That alone is no proof: the agent "
      "opens the driver anew, and sees from the GPU's counters that it was reset. Then its shares "
      "are back. Nobody restarts anything.");
  if (Status back = stage.node().apply(sim::come_back(kSharedGpu)); !back) return back;
  if (Status told = stage.await_counts(kShared, all_of_them(4)); !told) return told;
  if (Status said = show_next_log(stage, screen, "is healthy again .*index=6"); !said) return said;
  show_counts(stage, screen);
  const auto got = admit(stage, screen, "notebook-c", {{kShared, 1}});
  return got ? Status(Done{}) : got.error();
}

Status change_config(Stage& stage, Screen& screen) {
  screen.say("GPU 3 is to be shared too. The file is edited while the agent runs, with a slip:");
  const std::size_t before = registrations(stage);
  if (Status written = stage.write_config(config(stage, "[3, 6]", "repilcas: 4")); !written) {
    return written;
  }
  show_file("devices: [3, 6]\nrepilcas: 4", screen);
  if (Status said = show_next_log(stage, screen, "configuration refused"); !said) return said;
  show_counts(stage, screen);
  screen.say("The configuration that works stays in force. The word is put right:");
  if (Status written = stage.write_config(config(stage, "[3, 6]", "replicas: 4")); !written) {
    return written;
  }
  show_file("devices: [3, 6]\nreplicas: 4", screen);
  if (Status said = show_next_log(stage, screen, "configuration reloaded"); !said) return said;
  for (const auto& [resource, count] : standin::Limits{{kGpu, 5}, {kShared, 8}}) {
    if (Status told = stage.await_counts(resource, all_of_them(count)); !told) return told;
  }
  show_counts(stage, screen);
  if (registrations(stage) != before) return Error{ErrorCode::kInternal, "it registered again"};
  screen.say("No resource was registered again, and the pods kept what they have.");
  return Done{};
}

}  // namespace

std::vector<Step> story() {
  return {{"A node with eight GPUs", show_gpus},
          {"Its resources are registered", register_resources},
          {"Containers are granted GPUs", grant},
          {"A GPU fails", lose_gpu},
          {"It comes back", regain_gpu},
          {"The configuration changes while it runs", change_config}};
}

}  // namespace tranche::demo
