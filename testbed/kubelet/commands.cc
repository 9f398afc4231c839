// SPDX-License-Identifier: Apache-2.0
#include "testbed/kubelet/commands.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "base/text.h"

namespace tranche::testbed::standin {
namespace {

Error wrong(std::string message) { return {ErrorCode::kInvalidArgument, std::move(message)}; }

Result<std::uint64_t> parse_count(const std::string& flag, const std::string& value) {
  const auto number = parse_number<std::uint64_t>(value);
  if (!number) return wrong(flag + ": \"" + value + "\" is not a number");
  return *number;
}

// A flag with a value: how it is written into the flags.
using Setter = std::function<Status(Flags&, const std::string& flag, const std::string& value)>;

Status set_seconds(std::chrono::milliseconds& time, const std::string& flag,
                   const std::string& value) {
  const Result<std::uint64_t> seconds = parse_count(flag, value);
  if (!seconds) return seconds.error();
  time = std::chrono::seconds(*seconds);
  return Done{};
}

Status set_version(KubeletVersion& version, const std::string& flag, const std::string& value) {
  if (value != "1.36" && value != "1.37") return wrong(flag + ": give 1.36 or 1.37");
  version = value == "1.37" ? KubeletVersion::k137 : KubeletVersion::k136;
  return Done{};
}

std::map<std::string, Setter> value_flags() {
  return {
      {"--dir",
       [](Flags& flags, const std::string&, const std::string& value) -> Status {
         flags.kubelet.directory = value;
         return Done{};
       }},
      {"--pod-resources",
       [](Flags& flags, const std::string&, const std::string& value) -> Status {
         flags.kubelet.pod_resources_directory = value;
         return Done{};
       }},
      {"--kubelet-version",
       [](Flags& flags, const std::string& flag, const std::string& value) {
         return set_version(flags.kubelet.version, flag, value);
       }},
      {"--grace",
       [](Flags& flags, const std::string& flag, const std::string& value) {
         return set_seconds(flags.kubelet.grace, flag, value);
       }},
      {"--timeout",
       [](Flags& flags, const std::string& flag, const std::string& value) {
         return set_seconds(flags.timeout, flag, value);
       }},
      {"--seed",
       [](Flags& flags, const std::string& flag, const std::string& value) -> Status {
         const Result<std::uint64_t> seed = parse_count(flag, value);
         if (!seed) return seed.error();
         flags.kubelet.seed = *seed;
         return Done{};
       }},
      {"--wait-resource",
       [](Flags& flags, const std::string& flag, const std::string& value) -> Status {
         Result<Limits> limits = parse_limits(value);
         if (!limits) return limits.error().in(flag);
         flags.wait_for.merge(*limits);
         return Done{};
       }},
      {"--admit",
       [](Flags& flags, const std::string& flag, const std::string& value) -> Status {
         Result<Limits> limits = parse_limits(value);
         if (!limits) return limits.error().in(flag);
         flags.admit = std::move(*limits);
         return Done{};
       }},
  };
}

struct Form {
  Command::Kind kind;
  std::size_t words;  // the command itself included; admit takes more
  std::string help;

  bool fits(std::size_t count) const {
    return kind == Command::Kind::kAdmit ? count >= words : count == words;
  }
};

std::map<std::string, Form> forms() {
  using enum Command::Kind;
  return {
      {"admit",
       {kAdmit, 3,
        "admit NAME [[init:|sidecar:]CONTAINER:]RESOURCE=COUNT[,…] …  admit a pod and start it"}},
      {"start", {kStart, 2, "start NAME  start the pod's containers again"}},
      {"remove", {kRemove, 2, "remove NAME  the pod has ended"}},
      {"wait",
       {kWait, 2, "wait RESOURCE=COUNT[,…]  until exactly so many are allocatable, or --timeout"}},
      {"node", {kNode, 1, "node  capacity and allocatable of each resource"}},
      {"devices", {kDevices, 2, "devices RESOURCE  its devices and their health"}},
      {"restart", {kRestart, 1, "restart  kill the kubelet and start it again"}},
      {"readmit",
       {kReadmit, 1, "readmit  admit the pods again, as a kubelet does after a restart"}},
      {"stop-stream", {kStopStream, 2, "stop-stream RESOURCE  cut its ListAndWatch"}},
      {"pod-resources",
       {kPodResources, 2, "pod-resources on|off  the service of that name comes or goes"}},
      {"help", {kHelp, 1, "help  this"}},
      {"quit", {kQuit, 1, "quit  end; so does the end of the input"}},
  };
}

std::vector<std::string> words_of(std::string_view line) {
  std::vector<std::string> words = split(trim(line), ' ');
  std::erase(words, "");
  return words;
}

// A container, and where it belongs.
struct Place {
  bool is_init = false;
  Container container{.name = "main"};
};

Result<Place> parse_container(const std::string& word) {
  std::vector<std::string> parts = split(word, ':');
  const std::string limits_text = parts.back();
  parts.pop_back();
  Place place;
  if (parts.size() == 2 && (parts[0] == "init" || parts[0] == "sidecar")) {
    place.is_init = true;
    place.container.restartable = parts[0] == "sidecar";
    parts.erase(parts.begin());
  }
  if (parts.size() > 1 || (parts.size() == 1 && parts[0].empty())) {
    return wrong("\"" + word + "\" is not [[init:|sidecar:]CONTAINER:]RESOURCE=COUNT[,…]");
  }
  if (parts.size() == 1) place.container.name = parts[0];
  if (parts.size() == 1 && limits_text.empty()) return place;
  Result<Limits> limits = parse_limits(limits_text);
  if (!limits) return limits.error();
  place.container.limits = std::move(*limits);
  return place;
}

}  // namespace

Result<Pod> parse_pod(const std::string& name, const std::vector<std::string>& words) {
  Pod pod{.name = name};
  std::set<std::string> names;
  for (const std::string& word : words) {
    Result<Place> place = parse_container(word);
    if (!place) return place.error();
    if (!names.insert(place->container.name).second) {
      return wrong("two containers have the name \"" + place->container.name + "\"");
    }
    (place->is_init ? pod.init_containers : pod.containers).push_back(std::move(place->container));
  }
  return pod;
}

Result<Limits> parse_limits(std::string_view text) {
  Limits limits;
  for (const std::string& part : split(text, ',')) {
    const std::size_t equals = part.rfind('=');
    const auto count = equals == std::string::npos
                           ? std::nullopt
                           : parse_number<std::int64_t>(part.substr(equals + 1));
    if (equals == 0 || !count || *count < 0) {
      return wrong("\"" + part + "\" is not RESOURCE=COUNT");
    }
    if (!limits.emplace(part.substr(0, equals), *count).second) {
      return wrong("\"" + part + "\": the resource is given twice");
    }
  }
  return limits;
}

Result<Flags> parse_flags(const std::vector<std::string>& arguments) {
  const std::map<std::string, Setter> setters = value_flags();
  Flags flags;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& flag = arguments[i];
    if (flag == "--help") flags.help = true;
    if (flag == "--print") flags.print = true;
    if (flag == "--help" || flag == "--print") continue;
    const auto setter = setters.find(flag);
    if (setter == setters.end()) return wrong("unknown flag \"" + flag + "\"; see --help");
    if (++i == arguments.size()) return wrong(flag + " needs a value");
    if (Status set = setter->second(flags, flag, arguments[i]); !set) return set.error();
  }
  if (flags.print && !flags.admit) return wrong("--print needs --admit");
  return flags;
}

std::string usage() {
  return R"(kubelet-standin: a stand-in for the kubelet's device manager

  --dir DIRECTORY            the device-plugins directory; default /var/lib/kubelet/device-plugins
  --pod-resources DIRECTORY  serve pod-resources in this directory; default: not at all
  --kubelet-version VERSION  1.36 (default) or 1.37
  --grace SECONDS            how long a lost plugin's devices stay in the capacity; default 300
  --seed NUMBER              of the random order of ids; default 1

Without more it reads commands from its input ("help" lists them) and writes a line for each event.
Each command is answered by lines that end with "ok" or "error: …".

One pod, then the end; status 0 if it was admitted:
  --wait-resource RESOURCE=COUNT   first wait until so many are allocatable; may be repeated
  --admit RESOURCE=COUNT[,…]       what the pod asks for
  --print                          what it was given, a fact a line
  --timeout SECONDS                of the wait, and of the command "wait"; default 60
)";
}

Result<Command> parse_command(std::string_view line) {
  const std::vector<std::string> words = words_of(line);
  if (words.empty()) return wrong("no command; try \"help\"");
  const std::map<std::string, Form> known = forms();
  const auto form = known.find(words[0]);
  if (form == known.end()) return wrong("unknown command \"" + words[0] + "\"; try \"help\"");
  if (!form->second.fits(words.size())) return wrong("give: " + form->second.help);
  Command command{.kind = form->second.kind};
  if (command.kind == Command::Kind::kWait) {
    Result<Limits> limits = parse_limits(words.back());
    if (!limits) return limits.error();
    command.limits = std::move(*limits);
    return command;
  }
  if (words.size() > 1) command.name = words[1];
  if (command.kind == Command::Kind::kPodResources && command.name != "on" &&
      command.name != "off") {
    return wrong("give: " + form->second.help);
  }
  if (command.kind == Command::Kind::kAdmit) {
    Result<Pod> pod = parse_pod(words[1], {words.begin() + 2, words.end()});
    if (!pod) return pod.error();
    command.pod = std::move(*pod);
  }
  return command;
}

std::vector<std::string> help_lines() {
  const std::map<std::string, Form> known = forms();
  std::vector<std::string> lines;
  lines.reserve(known.size());
  for (const auto& [word, form] : known) lines.push_back(form.help);
  return lines;
}

std::vector<std::string> response_lines(const std::string& container,
                                        const ContainerResponse& response) {
  std::vector<std::string> lines;
  const auto add = [&](const std::string& kind, const std::string& fact) {
    lines.push_back(join({kind, container, fact}, " "));
  };
  const auto pair = [](const auto& entry) { return join({entry.first, entry.second}, "="); };
  for (const auto& entry : response.envs) add("env", pair(entry));
  for (const Mount& mount : response.mounts) {
    add("mount", join({mount.host_path, mount.container_path, mount.read_only ? "ro" : "rw"}, " "));
  }
  for (const DeviceNode& device : response.devices) {
    add("device", join({device.host_path, device.container_path, device.permissions}, " "));
  }
  for (const auto& entry : response.annotations) add("annotation", pair(entry));
  for (const std::string& name : response.cdi_devices) add("cdi", name);
  return lines;
}

std::vector<std::string> grant_lines(const AdmissionResult& result) {
  std::vector<std::string> lines;
  for (const ContainerGrant& grant : result.containers) {
    for (const auto& [resource, ids] : grant.devices) {
      lines.push_back("granted " + grant.name + " " + resource + " " +
                      join(IdList(ids.begin(), ids.end()), " "));
    }
    const std::vector<std::string> more = response_lines(grant.name, grant.response);
    lines.insert(lines.end(), more.begin(), more.end());
  }
  return lines;
}

std::vector<std::string> node_lines(const NodeView& view) {
  std::vector<std::string> lines;
  lines.reserve(view.resources.size());
  for (const auto& [resource, shown] : view.resources) {
    lines.push_back("resource " + resource + " capacity=" + std::to_string(shown.capacity) +
                    " allocatable=" + std::to_string(shown.allocatable) +
                    " allocated=" + std::to_string(shown.allocated.size()) +
                    " connected=" + (shown.connected ? "true" : "false"));
  }
  return lines;
}

std::vector<std::string> device_lines(const NodeView& view, const std::string& resource) {
  std::vector<std::string> lines;
  const auto found = view.resources.find(resource);
  if (found == view.resources.end()) return lines;
  for (const auto& [id, device] : found->second.devices) {
    std::vector<std::string> nodes;
    nodes.reserve(device.numa_nodes.size());
    for (const std::int64_t node : device.numa_nodes) nodes.push_back(std::to_string(node));
    lines.push_back("listed " + id + (device.healthy ? " healthy" : " unhealthy") +
                    " numa=" + join(nodes, ","));
  }
  return lines;
}

}  // namespace tranche::testbed::standin
