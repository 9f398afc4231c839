// SPDX-License-Identifier: Apache-2.0
#include "apps/commands.h"

#include <cstdio>
#include <iostream>
#include <string>

#include "apps/compose.h"
#include "apps/node_status.h"
#include "capture/capture.h"
#include "control/control_client.h"
#include "control/control_server.h"
#include "host/host_files.h"
#include "inventory/device_node_source.h"
#include "inventory/fallback_source.h"
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

// What an agent would see. Reads and leaves nothing behind: faults that an
// agent remembers are taken into account, none are written down.
NodeStatus own_look(const Settings& settings) {
  Log quiet([](std::string_view) {});
  const HostFiles host(settings.host_root);
  nvml::NvmlSource nvml(settings.driver, host, quiet);
  DeviceNodeSource nodes(host);
  FallbackSource source(nvml, nodes);
  NodeState state;
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
  return status;
}

}  // namespace

int run_devices(const Loaded& loaded, OutputFormat format) {
  const Result<std::string> answer = ask_status(control_socket(loaded.settings.state_dir));
  std::string json;
  bool driver_is_there = true;
  if (answer) {
    json = *answer;
  } else {
    const NodeStatus status = own_look(loaded.settings);
    driver_is_there = status.inventory.driver != DriverKind::kNone;
    json = to_json(status);
  }
  if (format == OutputFormat::kJson) {
    std::cout << json;
    return driver_is_there ? 0 : 1;
  }
  const Result<std::string> tables = status_tables(json);
  if (!tables) return complain(tables.error());
  std::cout << *tables;
  return driver_is_there ? 0 : 1;
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
