// SPDX-License-Identifier: Apache-2.0
#include "testbed/tool/faults.h"

#include <algorithm>
#include <functional>

#include "testbed/world/codes.h"
#include "testbed/world/defaults.h"
#include "testbed/world/uuid.h"

namespace tranche::testbed::sim {
namespace {

Error refused(const std::string& message) { return {ErrorCode::kInvalidArgument, message}; }

GpuRef needed_gpu(Arguments& arguments) {
  Result<GpuRef> gpu = parse_gpu_ref(arguments.needed("gpu"));
  if (gpu) return *gpu;
  arguments.add_problem("--gpu: " + gpu.error().message);
  return 0U;
}

std::optional<GpuRef> optional_gpu(Arguments& arguments) {
  const auto text = arguments.text("gpu");
  if (!text) return std::nullopt;
  Result<GpuRef> gpu = parse_gpu_ref(*text);
  if (!gpu) arguments.add_problem("--gpu: " + gpu.error().message);
  return gpu ? std::optional(*gpu) : std::nullopt;
}

// The number that a word of this list stands for, by its place.
unsigned chosen(Arguments& arguments, const std::string& flag,
                const std::vector<std::string>& words, const std::string& value) {
  const auto found = std::ranges::find(words, value);
  if (found == words.end()) {
    arguments.add_problem("--" + flag + ": '" + value + "' is none of " + join(words, ", "));
    return 0;
  }
  return static_cast<unsigned>(found - words.begin());
}

Change xid(Arguments& arguments, const World&) {
  Xid xid{.number = arguments.needed_number<unsigned>("xid"),
          .gpu_instance = arguments.number<unsigned>("gi"),
          .compute_instance = arguments.number<unsigned>("ci"),
          .pid = arguments.number<unsigned>("pid").value_or(0),
          .process = arguments.text("process").value_or(""),
          .text = arguments.text("text").value_or("")};
  const std::string route = arguments.text("route").value_or("usual");
  xid.route = Xid::Route(chosen(arguments, "route", {"usual", "event", "log", "both"}, route));
  return raise_xid(needed_gpu(arguments), std::move(xid));
}

Change recovery(Arguments& arguments, const World&) {
  const std::vector<std::string> names = {"none",      "reset",           "reboot",
                                          "drain-p2p", "drain-and-reset", "recover-imex",
                                          "bus-reset", "system-reboot"};
  const std::string action = arguments.needed("action");
  return set_recovery_action(needed_gpu(arguments), chosen(arguments, "action", names, action));
}

Change event(Arguments& arguments, const World&) {
  const auto type = arguments.needed_number<std::uint64_t>("type");
  const auto data = arguments.number<std::uint64_t>("data");
  return raise_event(needed_gpu(arguments), type, data.value_or(0));
}

Change mig(Arguments& arguments, const World&) {
  Result<std::vector<WantedInstance>> layout = parse_layout(arguments.needed("layout"));
  if (!layout) arguments.add_problem("--layout: " + layout.error().message);
  return set_mig(needed_gpu(arguments), layout ? *layout : std::vector<WantedInstance>{});
}

// A card of a known model in a free place, unless it is told which.
Change plug_card(Arguments& arguments, const World& world) {
  const std::string key = arguments.needed("model");
  const std::optional<Model> model = find_model(key);
  if (!model) {
    arguments.add_problem("--model: '" + key + "' is none of " + join(model_keys(), ", "));
  }
  Gpu gpu = default_gpu(key, model.value_or(Model{}), world.gpus.size());
  const auto taken = [&](const Gpu& other) {
    return other.pci == gpu.pci || other.minor == gpu.minor || other.uuid == gpu.uuid;
  };
  for (std::size_t next = world.gpus.size(); std::ranges::any_of(world.gpus, taken);) {
    gpu = default_gpu(key, model.value_or(Model{}), ++next);
  }
  if (const auto uuid = arguments.text("uuid")) gpu.uuid = GpuUuid(*uuid);
  if (const auto minor = arguments.number<unsigned>("minor")) gpu.minor = *minor;
  if (const auto numa = arguments.number<int>("numa")) gpu.numa_node = *numa;
  if (const auto text = arguments.text("pci")) {
    const auto pci = parse_pci_address(*text);
    if (!pci) arguments.add_problem("--pci: '" + *text + "' is no PCI address");
    gpu.pci = pci.value_or(gpu.pci);
  }
  return plug(std::move(gpu));
}

// Each swap brings a card that the slot has not had before, unless it is named.
Change swap(Arguments& arguments, const World& world) {
  const Result<GpuRef> gpu = parse_gpu_ref(arguments.needed("gpu"));
  if (!gpu) arguments.add_problem("--gpu: " + gpu.error().message);
  const std::string model = arguments.text("model").value_or("");
  if (!model.empty() && !find_model(model)) {
    arguments.add_problem("--model: '" + model + "' is none of " + join(model_keys(), ", "));
  }
  std::string uuid = arguments.text("uuid").value_or("");
  const Result<std::size_t> position = gpu ? gpu->position_in(world) : gpu.error();
  if (uuid.empty() && position) {
    uuid = "GPU-" + uuid_from("after " + world.gpus[*position].uuid.text);
  }
  return swap_card(gpu ? *gpu : GpuRef(0U), GpuUuid(uuid), model);
}

Change memory(Arguments& arguments, const World&) {
  const auto mib = arguments.needed_number<std::uint64_t>("memory-mib");
  return set_memory_size(needed_gpu(arguments), mib);
}

Change driver(Arguments& arguments, const World&) {
  const std::string what = arguments.word();
  if (what == "unload") return unload_driver();
  if (what == "load") return load_driver();
  if (what == "mismatch") return set_module_version(arguments.needed("version"));
  arguments.add_problem("driver: '" + what + "' is none of unload, load, mismatch");
  return nullptr;
}

Change fail(Arguments& arguments, const World&) {
  const std::string code = arguments.needed("code");
  const auto number = parse_code(code);
  if (!number || *number == 0) {
    const auto meant = nearest(lower(code), code_names());
    arguments.add_problem("--code: '" + code + "' is no error code" +
                          (meant ? "; did you mean '" + *meant + "'?" : ""));
  }
  return fail_call({.call = arguments.needed("call"),
                    .code = number.value_or(0),
                    .times = arguments.number<unsigned>("times"),
                    .gpu = optional_gpu(arguments),
                    .field = arguments.number<unsigned>("field")});
}

Change process(Arguments& arguments, const World&) {
  const std::vector<std::string> kinds = {"compute", "graphics", "mps"};
  const std::string kind = arguments.text("kind").value_or("compute");
  const Process made{.pid = arguments.needed_number<unsigned>("pid"),
                     .name = arguments.text("name").value_or("process"),
                     .kind = Process::Kind(chosen(arguments, "kind", kinds, kind)),
                     .memory_mib = arguments.number<std::uint64_t>("memory-mib").value_or(0),
                     .sm = arguments.number<unsigned>("sm").value_or(0),
                     .memory = arguments.number<unsigned>("memory").value_or(0),
                     .gpu_instance = arguments.number<unsigned>("gi"),
                     .compute_instance = arguments.number<unsigned>("ci")};
  return edit_gpu(needed_gpu(arguments), [made](Gpu& gpu) {
    std::erase_if(gpu.processes, [&](const Process& old) { return old.pid == made.pid; });
    gpu.processes.push_back(made);
  });
}

Change process_end(Arguments& arguments, const World&) {
  const auto pid = arguments.needed_number<unsigned>("pid");
  return edit_gpu(needed_gpu(arguments), [pid](Gpu& gpu) {
    std::erase_if(gpu.processes, [&](const Process& old) { return old.pid == pid; });
  });
}

Change fabric(Arguments& arguments, const World&) {
  const std::vector<std::string> states = {"not_supported", "not_started", "in_progress",
                                           "completed"};
  const std::string word = arguments.needed("state");
  const auto state = Fabric::State(chosen(arguments, "state", states, word));
  return edit_gpu(needed_gpu(arguments), [state](Gpu& gpu) { gpu.fabric.state = state; });
}

Change link(Arguments& arguments, const World&) {
  const std::string state = arguments.needed("state");
  const bool up = chosen(arguments, "state", {"down", "up"}, state) == 1;
  return set_link(needed_gpu(arguments), arguments.needed_number<unsigned>("link"), up);
}

Change vitals(Arguments& arguments, const World&) {
  const auto temperature = arguments.number<unsigned>("temperature");
  const auto power = arguments.number<unsigned>("power-mw");
  const auto energy = arguments.number<std::uint64_t>("energy-mj");
  const auto replays = arguments.number<unsigned>("pcie-replays");
  const auto utilization = arguments.number<unsigned>("utilization");
  return edit_gpu(needed_gpu(arguments), [=](Gpu& gpu) {
    Vitals& now = gpu.vitals;
    now.temperature_c = temperature.value_or(now.temperature_c);
    now.power_mw = power.value_or(now.power_mw);
    now.energy_mj = energy.value_or(now.energy_mj);
    now.pcie_replays = replays.value_or(now.pcie_replays);
    now.gpu_utilization = utilization.value_or(now.gpu_utilization);
  });
}

// A verb that needs no more than its GPU.
std::function<Change(Arguments&, const World&)> of_gpu(Change (*change)(GpuRef)) {
  return [change](Arguments& arguments, const World&) { return change(needed_gpu(arguments)); };
}

struct Verb {
  std::string name;
  std::string options;  // for synopsis()
  std::string help;
  std::function<Change(Arguments&, const World&)> parse;
};

std::vector<Verb> gpu_verbs() {
  return {
      {"xid", "gpu xid [gi ci] [route] [pid process]",
       "the driver reports an error, to sessions and the kernel's log", xid},
      {"lose", "gpu", "every call on the GPU fails; it is still counted", of_gpu(lose)},
      {"unreachable", "gpu",
       "the driver still says who the GPU is; every read of the card says that it is lost",
       of_gpu(make_unreachable)},
      {"fall-off", "gpu", "the GPU is gone from the enumeration, and the log says so",
       of_gpu(fall_off)},
      {"require-reset", "gpu", "the GPU tells who it is, but does no work", of_gpu(require_reset)},
      {"come-back", "gpu", "the GPU is present again, its counters restarted", of_gpu(come_back)},
      {"reset", "gpu", "the GPU was reset: what was on it is gone", of_gpu(reset)},
      {"rebind", "gpu", "as reset, and the kernel gave it to the driver again", of_gpu(rebind)},
      {"ecc", "gpu", "an uncorrectable memory error, with all that follows",
       of_gpu(uncorrectable_ecc)},
      {"recovery", "gpu action", "the recovery action changes", recovery},
      {"event", "gpu type [data]", "any other event", event},
      {"mig", "gpu layout", "MIG on, cut so", mig},
      {"mig-remove", "gpu index", "one MIG device is destroyed",
       [](Arguments& arguments, const World&) {
         return remove_mig_device(needed_gpu(arguments),
                                  arguments.needed_number<unsigned>("index"));
       }},
      {"mig-off", "gpu", "MIG off", of_gpu(mig_off)},
      {"plug", "model [pci] [uuid] [minor] [numa]", "a card is added", plug_card},
      {"unplug", "gpu", "the card is taken out", of_gpu(unplug)},
      {"swap", "gpu [uuid] [model]",
       "another card in the same slot: same PCI address and minor, other uuid and serial", swap},
      {"memory", "gpu memory-mib",
       "a reset after which the memory size is another, as when ECC is switched", memory},
      {"process", "gpu pid [name] [kind] [memory-mib] [sm] [gi ci]",
       "a process runs on the GPU, or changes", process},
      {"process-end", "gpu pid", "it ends", process_end},
      {"fabric", "gpu state=completed|in_progress|not_started|not_supported", "the fabric's state",
       fabric},
      {"link", "gpu link state=up|down", "an NVLink goes down or up", link},
      {"vitals", "gpu [temperature] [power-mw] [energy-mj] [utilization] [pcie-replays]",
       "numbers that tell how the GPU is", vitals},
  };
}

std::vector<Verb> node_verbs() {
  return {
      {"driver", "unload|load|mismatch [version]",
       "the kernel module goes, comes, or is of another version", driver},
      {"reboot", "[boot-id]", "a new boot: counters restart, processes are gone",
       [](Arguments& arguments, const World&) {
         return reboot(arguments.text("boot-id").value_or(""));
       }},
      {"log", "text", "a line in the kernel's log",
       [](Arguments& arguments, const World&) { return log_line(arguments.needed("text")); }},
      {"block", "call [times] [gpu]",
       "the call does not return until `clear`: N calls of each process, or all",
       [](Arguments& arguments, const World&) {
         return block_call(arguments.needed("call"), optional_gpu(arguments),
                           arguments.number<unsigned>("times"));
       }},
      {"fail", "call code [times] [gpu] [field]",
       "the call fails: N times in each process, or always", fail},
      {"clear", "[call]", "takes back block and fail",
       [](Arguments& arguments, const World&) {
         return clear_faults(arguments.text("call").value_or(""));
       }},
  };
}

std::vector<Verb> verbs() {
  std::vector<Verb> all = gpu_verbs();
  std::ranges::move(node_verbs(), std::back_inserter(all));
  return all;
}

}  // namespace

Result<Change> parse_fault(const std::string& verb, Arguments& arguments, const World& world) {
  std::vector<std::string> names;
  for (const Verb& each : verbs()) {
    names.push_back(each.name);
    if (each.name != verb) continue;
    Change change = each.parse(arguments, world);
    if (Status read = arguments.finish(); !read) return read.error().in(verb);
    return change;
  }
  if (verb.empty()) return refused("fault needs a verb: " + join(names, ", "));
  const auto meant = nearest(verb, names);
  return refused("there is no fault '" + verb + "'" +
                 (meant ? "; did you mean '" + *meant + "'?" : ": " + join(names, ", ")));
}

std::string fault_help() {
  std::string help;
  for (const Verb& verb : verbs()) {
    help += "  " + verb.name + " " + synopsis(verb.options) + "\n      " + verb.help + "\n";
  }
  return help;
}

}  // namespace tranche::testbed::sim
