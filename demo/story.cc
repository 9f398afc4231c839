// SPDX-License-Identifier: Apache-2.0
#include "demo/story.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/text.h"
#include "demo/show.h"
#include "demo/world.h"
#include "sim/world/changes.h"

namespace tranche::demo {
namespace {

using standin::EventKind;

constexpr const char* kGpu = "nvidia.com/gpu";
constexpr const char* kMig = "nvidia.com/mig-3g.47gb";
constexpr std::int64_t kGpus = 8;
constexpr std::int64_t kReplicas = 4;

constexpr const char* kSharing = R"(sharing:
  timeSlicing:
    resources:
      - name: nvidia.com/gpu
        replicas: 4
)";
constexpr const char* kMisspelt = R"(sharing:
  timeSlicing:
    resources:
      - name: nvidia.com/gpu
        repilcas: 8
)";

standin::ResourceCount all_of_them(std::int64_t count) {
  return {.capacity = count, .allocatable = count};
}

// CDI specifications want real device nodes, which not everybody may make.
std::string whole_gpus_config(const Stage& stage) {
  return std::string("version: v1\nflags:\n  migStrategy: mixed\n  plugin:\n") +
         "    passDeviceSpecs: true\n    deviceListStrategy: [envvar" +
         (stage.has_device_nodes() ? ", cdi-cri" : "") +
         "]\n    sharedDevicesAllocationPolicy: packed\n";
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

// "GPU 2, GPU 3", from what the container was told.
std::string named_gpus(const sim::World& world, const standin::ContainerResponse& response) {
  std::vector<std::string> names;
  const auto told = response.envs.find("NVIDIA_VISIBLE_DEVICES");
  if (told == response.envs.end()) return "nothing";
  for (const std::string& uuid : split(told->second, ',')) {
    const auto place = place_of(world, uuid);
    names.push_back(place ? "GPU " + std::to_string(*place) : uuid);
  }
  return join(names, ", ");
}

standin::Pod pod_named(const std::string& name, const standin::Limits& limits) {
  return {.uid = name, .name = name, .containers = {{.name = "main", .limits = limits}}};
}

// Admits a pod that asks for `count` of the resource; says what it got.
Result<standin::ContainerResponse> admit(Stage& stage, Screen& screen, const std::string& name,
                                         const std::string& resource, std::int64_t count) {
  screen.line("pod", name + " asks for " + resource + ": " + std::to_string(count));
  const standin::AdmissionResult result =
      stage.kubelet().admit(pod_named(name, {{resource, count}}));
  if (!result.admitted || result.containers.empty()) {
    return Error{ErrorCode::kUnavailable,
                 "pod " + name + " was not admitted: " + result.reason + ": " + result.message};
  }
  return result.containers.front().response;
}

void end_pods(Stage& stage, const std::vector<std::string>& names) {
  for (const std::string& name : names) stage.kubelet().remove(pod_named(name, {}));
  stage.kubelet().free_ended_pods();
}

std::size_t registrations(Stage& stage, const std::string& resource) {
  const auto calls = stage.kubelet().transcript().calls(EventKind::kRegister);
  return static_cast<std::size_t>(std::ranges::count(calls, resource, &standin::Event::resource));
}

// ---------------------------------------------------------------- the steps

Status show_gpus(Stage& stage, Screen& screen) {
  screen.say(
      "Eight H100 NVL in four pairs, each pair joined by an NVLink bridge. A simulated "
      "driver answers for them; the agent cannot tell. Its command 'devices' shows what "
      "it finds.");
  screen.gap();
  if (Status written = stage.write_config(whole_gpus_config(stage)); !written) return written;
  const Result<std::string> table = stage.command("devices");
  if (!table) return table.error();
  screen.block("$ tranche-device-plugin devices", Tone::kQuiet);
  screen.block(*table);
  return Done{};
}

Status register_resource(Stage& stage, Screen& screen) {
  screen.say(
      "The agent starts with this file, finds the kubelet's socket and registers. The "
      "kubelet calls back and is sent the list of GPUs.");
  show_file(whole_gpus_config(stage), screen);
  if (Status started = stage.start_kubelet(); !started) return started;
  if (Status started = stage.start_agent(); !started) return started;
  if (Status listed = stage.await_counts(kGpu, all_of_them(kGpus)); !listed) {
    return listed;
  }
  if (Status listed = stage.await_calls(EventKind::kListAndWatchReceived, 1); !listed)
    return listed;
  for (const standin::Event& event : stage.kubelet().transcript().events()) {
    if (event.finished && is_call(event)) screen.line("kubelet", to_text(event));
  }
  show_counts(stage, screen);
  return Done{};
}

Status grant_one(Stage& stage, Screen& screen) {
  screen.say(
      "A pod with 'nvidia.com/gpu: 1' arrives. The kubelet asks the agent, and this is "
      "what the container gets:");
  const auto got = admit(stage, screen, "notebook", kGpu, 1);
  if (!got) return got.error();
  for (const Labelled& line : grant_lines(*got)) screen.line(line.who, line.text, Tone::kGood);
  if (!stage.has_device_nodes()) {
    screen.say("(CDI names too, where the demo may make device nodes: as root.)");
  }
  show_counts(stage, screen);
  return Done{};
}

Status keep_pairs(Stage& stage, Screen& screen) {
  const Result<sim::World> world = stage.node().world();
  if (!world) return world.error();
  screen.say(
      "A pod wants two GPUs. Seven are free, and GPU 1 has lost its partner to the "
      "notebook: the agent prefers two that are joined by NVLink.");
  const auto two = admit(stage, screen, "training", kGpu, 2);
  if (!two) return two.error();
  const auto asked = stage.kubelet().transcript().calls(EventKind::kGetPreferredAllocation);
  if (asked.empty()) return Error{ErrorCode::kInternal, "the kubelet did not ask for a preference"};
  screen.line("kubelet", to_text(asked.back()));
  const standin::IdList& chosen = asked.back().preferred;
  const auto a = chosen.size() == 2 ? place_of(*world, chosen[0]) : std::nullopt;
  const auto b = chosen.size() == 2 ? place_of(*world, chosen[1]) : std::nullopt;
  const std::size_t links = a && b ? links_between(*world, *a, *b) : 0;
  screen.line("got", named_gpus(*world, *two) + ", joined by " + std::to_string(links) + " NVLinks",
              links > 0 ? Tone::kGood : Tone::kBad);
  if (links == 0) return Error{ErrorCode::kInternal, "the two GPUs have no link between them"};
  screen.say("And a pod with one GPU gets the single one, so that no other pair is broken:");
  const auto one = admit(stage, screen, "inference", kGpu, 1);
  if (!one) return one.error();
  screen.line("got", named_gpus(*world, *one), Tone::kGood);
  show_counts(stage, screen);
  return Done{};
}

Status refuse_too_much(Stage& stage, Screen& screen) {
  screen.say(
      "A pod asks for five; four are free. It is turned away with the reason, and takes "
      "nothing from anybody.");
  screen.line("pod", std::string("greedy asks for ") + kGpu + ": 5");
  const standin::AdmissionResult result = stage.kubelet().admit(pod_named("greedy", {{kGpu, 5}}));
  if (result.admitted) return Error{ErrorCode::kInternal, "it was admitted"};
  screen.line("kubelet", result.reason + ": " + result.message, Tone::kBad);
  show_counts(stage, screen);
  return Done{};
}

Status lose_gpu(Stage& stage, Screen& screen) {
  screen.say(
      "GPU 6 falls off the bus. The agent hears of it from the driver and the kernel's log, "
      "and tells the kubelet: the node still has eight, but one takes no pods.");
  if (Status fell = stage.node().apply(sim::fall_off(6)); !fell) return fell;
  if (Status told = stage.await_counts(kGpu, {.capacity = kGpus, .allocatable = kGpus - 1}); !told)
    return told;
  const Result<std::string> line = stage.await_log("device is unhealthy");
  if (!line) return line.error();
  screen.log(*line);
  show_counts(stage, screen);
  const Result<std::string> table = stage.command("devices");
  if (!table) return table.error();
  screen.block("$ tranche-device-plugin devices | grep UNHEALTHY", Tone::kQuiet);
  for (const std::string& row : split(*table, '\n')) {
    if (row.find("UNHEALTHY") != std::string::npos) screen.block(row, Tone::kBad);
  }
  return Done{};
}

Status regain_gpu(Stage& stage, Screen& screen) {
  screen.say("It is reset and comes back. Nobody restarts anything.");
  if (Status back = stage.node().apply(sim::come_back(6)); !back) return back;
  if (Status told = stage.await_counts(kGpu, all_of_them(kGpus)); !told) return told;
  const Result<std::string> line = stage.await_log("device is healthy");
  if (!line) return line.error();
  screen.log(*line);
  show_counts(stage, screen);
  return Done{};
}

Status share_by_time(Stage& stage, Screen& screen) {
  screen.say(
      "The pods end. Then the configuration file is edited while the agent runs: each GPU "
      "is to be shared by four containers.");
  end_pods(stage, {"notebook", "training", "inference"});
  show_file(kSharing, screen);
  const std::size_t before = registrations(stage, kGpu);
  if (Status written = stage.write_config(whole_gpus_config(stage) + kSharing); !written) {
    return written;
  }
  if (Status told = stage.await_counts(kGpu, all_of_them(kGpus * kReplicas)); !told) return told;
  const Result<std::string> line = stage.await_log("configuration taken up");
  if (!line) return line.error();
  screen.log(*line);
  show_counts(stage, screen);
  const std::size_t after = registrations(stage, kGpu);
  screen.line("kubelet", "registrations of " + std::string(kGpu) + ": " + std::to_string(before) +
                             " before, " + std::to_string(after) + " after");
  if (after != before) return Error{ErrorCode::kInternal, "it registered again"};
  screen.say("Two pods with one share each, on the same GPU:");
  for (const char* name : {"notebook-a", "notebook-b"}) {
    const auto got = admit(stage, screen, name, kGpu, 1);
    if (!got) return got.error();
    for (const Labelled& given : grant_lines(*got)) {
      if (given.who == "env") screen.line(given.who, given.text, Tone::kGood);
    }
  }
  return Done{};
}

Status cut_with_mig(Stage& stage, Screen& screen) {
  screen.say(
      "GPU 7 is cut into two slices with MIG, next to the shared ones. A new resource "
      "appears, and GPU 7's four shares go.");
  const auto layout = sim::parse_layout("3g.47gb,3g.47gb");
  if (!layout) return layout.error();
  if (Status cut = stage.node().apply(sim::set_mig(7, *layout)); !cut) return cut;
  if (Status told = stage.await_counts(kMig, all_of_them(2)); !told) return told;
  if (Status told = stage.await_counts(kGpu, all_of_them((kGpus - 1) * kReplicas)); !told)
    return told;
  const auto registered = stage.kubelet().transcript().calls(EventKind::kRegister);
  screen.line("kubelet", to_text(registered.back()));
  show_counts(stage, screen);
  const auto got = admit(stage, screen, "slice", kMig, 1);
  if (!got) return got.error();
  for (const Labelled& line : grant_lines(*got)) screen.line(line.who, line.text, Tone::kGood);
  return Done{};
}

Status refuse_config(Stage& stage, Screen& screen) {
  screen.say(
      "Somebody edits the file again, and misspells a word. The agent says where, and "
      "goes on with the configuration that works.");
  show_file(kMisspelt, screen);
  if (Status written = stage.write_config(whole_gpus_config(stage) + kMisspelt); !written) {
    return written;
  }
  const Result<std::string> line = stage.await_log("configuration refused");
  if (!line) return line.error();
  screen.log(*line);
  show_counts(stage, screen);
  if (stage.kubelet().node().allocatable(kGpu) != (kGpus - 1) * kReplicas) {
    return Error{ErrorCode::kInternal, "the refused configuration changed something"};
  }
  screen.say("The word is put right, and the agent takes the file up.");
  if (Status written = stage.write_config(whole_gpus_config(stage) + kSharing); !written) {
    return written;
  }
  const Result<std::string> taken = stage.await_log("configuration taken up");
  if (!taken) return taken.error();
  screen.log(*taken);
  return Done{};
}

}  // namespace

std::vector<Step> story() {
  return {{"A node with eight GPUs", show_gpus},
          {"The GPUs are registered with the kubelet", register_resource},
          {"A container is granted a GPU", grant_one},
          {"Two GPUs that are joined by NVLink", keep_pairs},
          {"A pod that asks for too much", refuse_too_much},
          {"A GPU fails", lose_gpu},
          {"The GPU comes back", regain_gpu},
          {"Sharing is switched on while it runs", share_by_time},
          {"One GPU is cut with MIG", cut_with_mig},
          {"A broken configuration is refused", refuse_config}};
}

}  // namespace tranche::demo
