// SPDX-License-Identifier: Apache-2.0
//
// tranche-mps-trial: the supervisor of src/node/mps alone, controlled by a person or a script.
//
//   tranche-mps-trial DIRECTORY DRIVER-ROOT UUID=MIB...
//
// keeps a daemon for each device and prints a line of JSON for each report.
// It reads commands from standard input, one a line:
//   held UUID MIB   the largest share held of the device is now so large (0: none)
//   drop UUID       the device leaves the plan
//   stop            every daemon is ended, and then the program
//   leave           the program ends, daemons go on; so does the end of input
#include <unistd.h>

#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "base/text.h"
#include "core/mps/mps_plan.h"
#include "nlohmann/json.hpp"
#include "node/mps/launch.h"
#include "node/mps/supervisor.h"
#include "os/log.h"

namespace tranche::tests {
namespace {

std::string report_line(const MpsReport& report) {
  nlohmann::ordered_json daemons = nlohmann::ordered_json::array();
  for (const MpsDaemonStatus& status : report.daemons) {
    daemons.push_back({{"name", status.plan.name},
                       {"state", to_string(status.state)},
                       {"problem", status.problem()},
                       {"last_problem", status.last_problem},
                       {"restarts", status.restarts},
                       {"adopted", status.adopted},
                       {"pid", status.pid},
                       {"server_pid", status.server_pid.value_or(0)},
                       {"clients", status.clients},
                       {"root_clients", status.root_clients},
                       {"limits_hold_for", status.limits_hold_for()},
                       {"foreign_command", status.foreign_command},
                       {"client_view", status.plan.client_view()}});
  }
  return nlohmann::ordered_json{{"daemons", daemons}}.dump();
}

struct World {
  Catalog catalog;
  MpsOptions options;
  LargestHeld held;
};

World world_of(const std::vector<std::string>& words) {
  World world;
  world.options.directory = words[1];
  Offer offer{.name = ResourceName("example.com/gpu-mem"),
              .terms = {.enforcement = Enforcement::kMps}};
  for (std::size_t i = 3; i < words.size(); ++i) {
    const std::size_t equals = words[i].find('=');
    const std::string uuid = words[i].substr(0, equals);
    const auto mib =
        parse_number<std::uint64_t>(equals == std::string::npos ? "" : words[i].substr(equals + 1));
    offer.devices.push_back(
        {.uuid = uuid, .gpu = GpuUuid(uuid), .memory_bytes = mib.value_or(0) << 20});
  }
  world.catalog.offers.push_back(std::move(offer));
  return world;
}

// False: exit.
bool obey(const std::string& line, World& world, MpsSupervisor& supervisor) {
  std::istringstream words(line);
  std::string verb;
  std::string uuid;
  std::uint64_t mib = 0;
  words >> verb >> uuid >> mib;
  if (verb == "leave") return false;
  if (verb == "stop") {
    supervisor.stop();
    return false;
  }
  if (verb == "held") world.held[uuid] = mib << 20;
  if (verb == "drop") {
    std::erase_if(world.catalog.offers[0].devices,
                  [&](const OfferedDevice& device) { return device.uuid == uuid; });
  }
  supervisor.set_plan(plan_mps(world.catalog, world.options, world.held));
  return true;
}

int run(const std::vector<std::string>& words) {
  if (words.size() < 4) {
    std::cerr << "usage: tranche-mps-trial DIRECTORY DRIVER-ROOT UUID=MIB...\n";
    return 1;
  }
  World world = world_of(words);
  const Log log;
  MpsSupervisor supervisor({.driver_root = words[2]}, MpsTimings{.drain = std::chrono::seconds(3)},
                           {}, log);
  supervisor.on_report([&] {
    std::cout << report_line(*supervisor.reports().get().value) << "\n" << std::flush;
  });
  supervisor.set_plan(plan_mps(world.catalog, world.options, world.held));
  for (std::string line; std::getline(std::cin, line) && obey(line, world, supervisor);) {
  }
  return 0;
}

}  // namespace
}  // namespace tranche::tests

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv, argv + argc);
  if (const std::optional<int> played = tranche::tests::play_mps_role(words)) return *played;
  return tranche::tests::run(words);
}
