// SPDX-License-Identifier: Apache-2.0
#include "testbed/kubelet/commands.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "base/text.h"
#include "os/settings/option_help.h"
#include "os/settings/read_options.h"

namespace tranche::testbed::standin {
namespace {

Error wrong(std::string message) { return {ErrorCode::kInvalidArgument, std::move(message)}; }

Result<std::uint64_t> parse_count(const std::string& text) {
  const auto number = parse_number<std::uint64_t>(text);
  if (!number) return wrong("\"" + text + "\" is not a number");
  return *number;
}

Result<std::chrono::seconds> parse_seconds(const std::string& text) {
  const Result<std::uint64_t> seconds = parse_count(text);
  if (!seconds) return seconds.error();
  return std::chrono::seconds(*seconds);
}

constexpr Word<KubeletVersion> kVersions[] = {{"1.36", KubeletVersion::k136},
                                              {"1.37", KubeletVersion::k137}};

constexpr auto kKubeletOptions = flags_only(
    "Options", {
                   {.name = "dir",
                    .to = {field<&Flags::kubelet, &KubeletOptions::directory>},
                    .fallback = "/var/lib/kubelet/device-plugins",
                    .placeholder = "DIRECTORY",
                    .help = "The device-plugins directory."},
                   {.name = "pod-resources",
                    .to = {field<&Flags::kubelet, &KubeletOptions::pod_resources_directory>},
                    .fallback_note = "not at all",
                    .placeholder = "DIRECTORY",
                    .help = "Serve pod-resources in this directory."},
                   {.name = "kubelet-version",
                    .to = {word_field<kVersions, &Flags::kubelet, &KubeletOptions::version>},
                    .fallback = "1.36",
                    .complaint = "unknown version ",
                    .help = "The kubelet that it behaves like."},
                   {.name = "grace",
                    .to = {parsed_field<parse_seconds, &Flags::kubelet, &KubeletOptions::grace>},
                    .fallback = "300",
                    .placeholder = "SECONDS",
                    .help = "How long a lost plugin's devices stay in the capacity."},
                   {.name = "seed",
                    .to = {parsed_field<parse_count, &Flags::kubelet, &KubeletOptions::seed>},
                    .fallback = "1",
                    .placeholder = "NUMBER",
                    .help = "Of the random order of ids."},
                   {.name = "timeout",
                    .to = {parsed_field<parse_seconds, &Flags::timeout>},
                    .fallback = "60",
                    .placeholder = "SECONDS",
                    .help = "Of --wait-resource, and of the command \"wait\"."},
               });
constexpr auto kOneShotOptions =
    flags_only("One pod, then the end; status 0 if it was admitted",
               {
                   {.name = "wait-resource",
                    .to = {field<&Flags::wait_resources>},
                    .placeholder = "RESOURCE=COUNT[,…]",
                    .help = "First wait until so many are allocatable; may be repeated."},
                   {.name = "admit",
                    .to = {parsed_field<parse_limits, &Flags::admit>},
                    .placeholder = "RESOURCE=COUNT[,…]",
                    .help = "What the pod asks for."},
                   {.name = "print",
                    .to = {field<&Flags::print>},
                    .help = "What it was given, a fact a line."},
               });
constexpr auto kOptions = joined(kKubeletOptions, kOneShotOptions);

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
  Result<Flags> flags = read_flags<Flags>(kOptions, arguments);
  if (!flags) return flags;
  if (flags->print && !flags->admit) return wrong("--print needs --admit");
  if (flags->wait_resources.empty()) return flags;
  Result<Limits> limits = parse_limits(join(flags->wait_resources, ","));
  if (!limits) return limits.error().in("--wait-resource");
  flags->wait_for = *std::move(limits);
  return flags;
}

std::string usage() {
  return "kubelet-standin: a stand-in for the kubelet's device manager\n" + options_help(kOptions) +
         R"(
Without options of the last group it reads commands from its input ("help" lists them) and writes a
line for each event. Each command is answered by lines that end with "ok" or "error: …".
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
