// SPDX-License-Identifier: Apache-2.0
#include "programs/device_plugin/commands.h"

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <iterator>
#include <string>

#include "core/sharing/offer.h"
#include "node/capture/capture.h"
#include "node/control/agent_client.h"
#include "node/control/control_server.h"
#include "node/driver/gpu_numbers_file.h"
#include "node/driver/kernel_files.h"
#include "programs/device_plugin/node_status.h"
#include "programs/device_plugin/node_warnings.h"
#include "programs/device_plugin/numbers.h"
#include "programs/device_plugin/own_look.h"

namespace tranche::programs {
namespace {

int complain(const Error& error) {
  std::cerr << "tranche-device-plugin: " << error.message << "\n";
  return 1;
}

struct StatusDocument {
  std::string json;
  bool driver_is_there = true;
  std::string numbers_problem;  // why the numbers in it are not those that were kept
};

// The running agent's, or from a look of our own.
StatusDocument status_document(const Settings& settings) {
  const Result<std::string> answer = ask_status(control_socket(settings.state_dir));
  if (answer) return {*answer, true};
  NodeStatus status = own_look(settings);
  if (answer.error().code != ErrorCode::kUnavailable) {
    status.agent.problem = answer.error().message;
  }
  return {to_json(status), status.inventory.driver != DriverKind::kNone, numbers_problem(settings)};
}

int print(const Result<std::string>& text) {
  if (!text) return complain(text.error());
  std::cout << *text;
  return 0;
}

int print_pods(const Result<std::string>& json) {
  if (!json) return complain(json.error());
  const Result<HolderPods> pods = holder_pods(*json);
  if (!pods) return complain(pods.error());
  std::cout << pods->lines;
  for (const std::string& sentence : pods->unnamed) {
    std::cerr << "tranche-device-plugin: " << sentence << "\n";
  }
  return pods->unnamed.empty() ? 0 : 1;
}

// The agent's own errors name the node; one of not reaching it does not.
Result<std::string> on_node(const Result<std::string>& answer, const Settings& settings) {
  if (answer || answer.error().code == ErrorCode::kInvalidArgument) return answer;
  return answer.error().in("node " + node_name(settings));
}

// By the running agent; in its file only where none runs.
Result<std::string> forget_numbers(const Settings& settings,
                                   const std::vector<std::string>& words) {
  Result<std::string> answer = ask_forget_numbers(control_socket(settings.state_dir), words);
  if (answer || answer.error().code != ErrorCode::kUnavailable) return on_node(answer, settings);
  const std::string path = gpu_numbers_path(settings.state_dir);
  Result<GpuNumbers> numbers = read_gpu_numbers(path);
  const std::string node = node_name(settings);
  if (!numbers) {
    return numbers.error().in("no agent runs here, and its file cannot be read").in("node " + node);
  }
  const Result<std::set<unsigned>> forgotten = numbers_named(words, *numbers);
  if (!forgotten) return forgotten.error().in("node " + node);
  for (const unsigned number : *forgotten) numbers->erase(number);
  if (const Status written = write_gpu_numbers(path, *numbers); !written) return written.error();
  return forget_answer(*forgotten, node);
}

// Whether a configuration names GPUs, so that only a node can say which they are.
bool names_gpus(const SharingPolicy& sharing) {
  return !sharing.policies.empty() || !sharing.replications.empty() || !sharing.excluded.empty() ||
         !sharing.gpu_names.empty() || !sharing.mig_names.empty();
}

// Says what of the configuration matches no GPU here, where the driver is here.
void check_against_node(const Loaded& loaded) {
  const Settings& settings = loaded.settings;
  if (!names_gpus(settings.sharing)) return;
  const NodeStatus status = own_look(settings);
  if (status.inventory.driver == DriverKind::kNone) {
    std::cerr << "note: indexes, uuids, models and sizes were not compared with GPUs, because "
                 "there is no driver here ("
              << status.inventory.driver_trouble
              << "); to compare them, run check-config in the agent's pod on the node\n";
    return;
  }
  std::vector<std::string> notes = status.catalog.notes;
  std::ranges::move(unmatched_patterns(status.inventory, settings.sharing),
                    std::back_inserter(notes));
  for (const std::string& warning : node_warnings(loaded, notes)) {
    std::cerr << "warning: " << warning << "\n";
  }
}

}  // namespace

int run_devices(const Loaded& loaded, OutputFormat format, const std::optional<std::string>& gpu) {
  const StatusDocument document = status_document(loaded.settings);
  if (format == OutputFormat::kPods) {
    return print_pods(gpu ? gpu_json(document.json, *gpu) : document.json);
  }
  if (gpu) {
    const Result<std::string> json = gpu_json(document.json, *gpu);
    return print(json && format == OutputFormat::kTable ? gpu_text(*json) : json);
  }
  const int printed =
      print(format == OutputFormat::kJson ? document.json : status_tables(document.json));
  return document.driver_is_there ? printed : 1;
}

int run_numbers(const Loaded& loaded, OutputFormat format) {
  std::vector<std::string> words = loaded.positionals;
  if (words.empty()) {
    const StatusDocument document = status_document(loaded.settings);
    if (!document.numbers_problem.empty()) {
      return complain({ErrorCode::kUnavailable, document.numbers_problem});
    }
    const std::string& json = document.json;
    return print(format == OutputFormat::kJson ? numbers_json(json) : numbers_table(json));
  }
  if (words.front() != "forget") {
    return complain({ErrorCode::kInvalidArgument,
                     "'numbers' takes nothing or 'forget', and not '" + words.front() + "'"});
  }
  words.erase(words.begin());
  Result<std::string> answer = forget_numbers(loaded.settings, words);
  return print(answer ? *answer + "\n" : answer);
}

int run_check_config(const Loaded& loaded, OutputFormat format) {
  std::cout << (format == OutputFormat::kJson ? effective_json(loaded) : effective_yaml(loaded));
  if (format == OutputFormat::kTable) {
    for (const std::string& warning : loaded.warnings) std::cerr << "warning: " << warning << "\n";
    for (const std::string& notice : loaded.notices) std::cerr << "note: " << notice << "\n";
  }
  check_against_node(loaded);
  return 0;
}

int run_capture(const Loaded& loaded, bool without_identity) {
  Result<CapturedNode> node =
      capture_node(loaded.settings.driver, KernelFiles(loaded.settings.host_root));
  if (!node) return complain(node.error());
  std::cout << to_world(without_identity ? anonymous(*std::move(node)) : *node);
  return 0;
}

int run_release(const Loaded& loaded) {
  const Result<std::string> answer = on_node(
      ask_release(control_socket(loaded.settings.state_dir), loaded.positionals), loaded.settings);
  if (!answer) return complain(answer.error());
  std::cout << *answer << "\n";
  return 0;
}

int run_resume(const Loaded& loaded) {
  const Result<std::string> answer =
      on_node(ask_resume(control_socket(loaded.settings.state_dir)), loaded.settings);
  if (!answer) return complain(answer.error());
  std::cout << *answer << "\n";
  return 0;
}

}  // namespace tranche::programs
