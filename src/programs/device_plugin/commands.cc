// SPDX-License-Identifier: Apache-2.0
#include "apps/commands.h"

#include <cstdio>
#include <iostream>
#include <string>

#include "apps/compose.h"
#include "apps/node_status.h"
#include "apps/numbers.h"
#include "capture/capture.h"
#include "control/control_client.h"
#include "control/control_server.h"
#include "host/host_files.h"
#include "inventory/device_node_source.h"
#include "inventory/fallback_source.h"
#include "inventory/gpu_numbers_file.h"
#include "inventory/scanner.h"
#include "nested/host_grant_reader.h"
#include "nvml/nvml_source.h"

namespace tranche {
namespace {

int complain(const Error& error) {
  std::cerr << "tranche-device-plugin: " << error.message << "\n";
  return 1;
}

// In a nested cluster: what is left of the driver's GPUs.
GuestInventory as_granted(const Settings& settings, NodeStatus& status) {
  GuestInventory all{.inventory = status.inventory};
  if (!settings.nested.guest) return all;
  const Result<HostGrant> grant = read_host_grant(settings.nested);
  status.host_grant = grant ? GuestFacts{*grant, ""} : GuestFacts{{}, grant.error().message};
  return grant ? granted_part(status.inventory, *grant)
               : unknown_part(status.inventory, grant.error().message);
}

// What an agent would see. It uses the GPU numbers that an agent has kept, and
// writes nothing.
NodeStatus own_look(const Settings& settings) {
  Log quiet([](std::string_view) {});
  const HostFiles host(settings.host_root);
  nvml::NvmlSource nvml(settings.driver, host, quiet);
  DeviceNodeSource nodes(host);
  FallbackSource source(nvml, nodes);
  NodeState state;
  const Result<GpuNumbers> numbers = read_gpu_numbers(gpu_numbers_path(settings.state_dir));
  if (numbers) state.inventory.numbers = *numbers;
  if (const Status opened = source.open(); !opened) {
    state = with_driver_trouble(state, opened.error().message, false);
  } else if (const Result<DriverReading> reading = source.read({}); !reading) {
    state = with_driver_trouble(state, reading.error().message, false);
  } else {
    state = with_reading(state, *reading, {});
  }
  source.close();
  NodeStatus status{.inventory = present(state)};
  const GuestInventory granted = as_granted(settings, status);
  status.inventory = granted.inventory;
  status.catalog = compose(status.inventory, settings, {}).catalog;
  status.catalog.notes.insert(status.catalog.notes.end(), granted.notes.begin(),
                              granted.notes.end());
  if (!numbers && numbers.error().code != ErrorCode::kNotFound) {
    status.catalog.notes.push_back("cannot read the GPU numbers, so indexes are the driver's: " +
                                   numbers.error().message);
  }
  return status;
}

struct StatusDocument {
  std::string json;
  bool driver_is_there = true;
};

// The running agent's, or from a look of our own.
StatusDocument status_document(const Settings& settings) {
  if (const auto answer = ask_status(control_socket(settings.state_dir))) return {*answer, true};
  const NodeStatus status = own_look(settings);
  return {to_json(status), status.inventory.driver != DriverKind::kNone};
}

int print(const Result<std::string>& text) {
  if (!text) return complain(text.error());
  std::cout << *text;
  return 0;
}

// By the running agent; in its file only where none runs.
Result<std::string> forget_numbers(const Settings& settings,
                                   const std::vector<std::string>& words) {
  Result<std::string> answer = ask_forget_numbers(control_socket(settings.state_dir), words);
  if (answer || answer.error().code != ErrorCode::kUnavailable) return answer;
  const std::string path = gpu_numbers_path(settings.state_dir);
  Result<GpuNumbers> numbers = read_gpu_numbers(path);
  if (!numbers) return numbers.error().in("no agent runs here, and its file cannot be read");
  const Result<std::set<unsigned>> forgotten = numbers_named(words, *numbers);
  if (!forgotten) return forgotten.error();
  for (const unsigned number : *forgotten) numbers->erase(number);
  if (const Status written = write_gpu_numbers(path, *numbers); !written) return written.error();
  return forget_answer(*forgotten);
}

}  // namespace

int run_devices(const Loaded& loaded, OutputFormat format) {
  const StatusDocument document = status_document(loaded.settings);
  const int printed =
      print(format == OutputFormat::kJson ? document.json : status_tables(document.json));
  return document.driver_is_there ? printed : 1;
}

int run_numbers(const Loaded& loaded, OutputFormat format) {
  std::vector<std::string> words = loaded.positionals;
  if (words.empty()) {
    const std::string json = status_document(loaded.settings).json;
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
    for (const std::string& notice : loaded.notices) std::cerr << "note: " << notice << "\n";
  }
  return 0;
}

int run_capture(const Loaded& loaded, bool without_identity) {
  Result<CapturedNode> node =
      capture_node(loaded.settings.driver, HostFiles(loaded.settings.host_root));
  if (!node) return complain(node.error());
  std::cout << to_world(without_identity ? anonymous(*std::move(node)) : *node);
  return 0;
}

int run_release(const Loaded& loaded) {
  const Result<std::string> answer =
      ask_release(control_socket(loaded.settings.state_dir), loaded.positionals);
  if (!answer) return complain(answer.error());
  std::cout << *answer << "\n";
  return 0;
}

int run_resume(const Loaded& loaded) {
  const Result<std::string> answer = ask_resume(control_socket(loaded.settings.state_dir));
  if (!answer) return complain(answer.error());
  std::cout << *answer << "\n";
  return 0;
}

}  // namespace tranche
