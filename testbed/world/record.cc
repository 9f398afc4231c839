// SPDX-License-Identifier: Apache-2.0
#include "testbed/world/record.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "node/driver/nvml/abi.h"

namespace tranche::testbed::sim {
namespace {

// Enough for a session that is busy elsewhere for a while, without the file
// growing for ever.
constexpr std::size_t kKept = 256;

template <typename T>
void keep_latest(std::vector<T>& records) {
  if (records.size() > kKept) {
    records.erase(records.begin(), records.end() - static_cast<std::ptrdiff_t>(kKept));
  }
}

// The driver's log leaves the function away: "PCI:0000:05:00".
std::string log_address(const PciAddress& pci) {
  const std::string text = to_string(pci);
  return "PCI:" + text.substr(0, text.rfind('.'));
}

std::string usual_text(unsigned xid) {
  switch (xid) {
    case 13: return "Graphics Exception: ESR 0x514730=0x4000e 0x514734=0x20";
    case 31: return "Ch 0000001e, intr 10000000. MMU Fault: ENGINE GRAPHICS HUBCLIENT_HOST";
    case 43: return "channel 0x0b00000a";
    case 48: return "DBE (double bit error) ECC Error";
    case 63: return "Row Remapper: New row marked for remapping, reset gpu to activate.";
    case 64: return "Row Remapper: Recording of a row remapping failed.";
    case 74: return "NVLink: fatal error detected on link 0(0x10000, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)";
    case 79: return "GPU has fallen off the bus.";
    case 94: return "Contained: SM (0x1). RST: No, D-RST: No";
    case 95: return "Uncontained: LTC TAG (0x2,0x0). RST: Yes, D-RST: No";
    case 119: return "Timeout after 6s of waiting for RPC response from GPU0 GSP!";
    case 120: return "GSP task exception: load access page fault";
    default: return "channel 0x00000008";
  }
}

std::string process_text(const Xid& xid) {
  if (xid.pid == 0) return "pid='<unknown>', name=<unknown>, ";
  return "pid=" + std::to_string(xid.pid) +
         ", name=" + (xid.process.empty() ? "<unknown>" : xid.process) + ", ";
}

// Once for each GPU the log maps its address to its uuid.
void introduce(World& world, const Gpu& gpu) {
  const std::string text = "NVRM: GPU at " + log_address(gpu.pci) + ": " + gpu.uuid.text;
  if (std::ranges::count(world.kernel_log, text, &LogRecord::text) == 0) add_log(world, text);
}

std::string action_text(unsigned action) {
  constexpr std::array<const char*, 5> kNames = {
      "None", "GPU Reset Required", "Node Reboot Required", "Drain P2P", "Drain and Reset"};
  std::array<char, 16> number{};
  std::snprintf(number.data(), number.size(), "0x%x", action);
  return std::string(number.data()) + " (" +
         (action < kNames.size() ? kNames.at(action) : "Unknown") + ")";
}

}  // namespace

void add_event(World& world, Event event) {
  event.number = world.next_number++;
  world.events.push_back(std::move(event));
  keep_latest(world.events);
}

void add_log(World& world, std::string text) {
  world.kernel_log.push_back({world.next_number++, std::move(text)});
  keep_latest(world.kernel_log);
}

void record_xid(World& world, const Gpu& gpu, const Xid& xid) {
  const bool log_only = xid.number == 79 || xid.number == 119 || xid.number == 120;
  const bool usual = xid.route == Xid::Route::kUsual;
  if (xid.route != Xid::Route::kEvent) {
    introduce(world, gpu);
    add_log(world, "NVRM: Xid (" + log_address(gpu.pci) + "): " + std::to_string(xid.number) +
                       ", " + process_text(xid) +
                       (xid.text.empty() ? usual_text(xid.number) : xid.text));
  }
  if (xid.route == Xid::Route::kLog || (usual && log_only)) return;
  add_event(world, {.gpu = gpu.uuid,
                    .type = nvml::abi::kEventXid,
                    .data = xid.number,
                    .gpu_instance = xid.gpu_instance,
                    .compute_instance = xid.compute_instance});
}

void record_recovery_action(World& world, Gpu& gpu, unsigned action) {
  const unsigned before = gpu.vitals.recovery_action;
  if (before == action) return;
  gpu.vitals.recovery_action = action;
  if (branch_of(world.driver) < 565) return;
  introduce(world, gpu);
  add_log(world, "NVRM: Xid (" + log_address(gpu.pci) +
                     "): 154, GPU recovery action changed from " + action_text(before) + " to " +
                     action_text(action));
  add_event(world, {.gpu = gpu.uuid, .type = nvml::abi::kEventXid, .data = 154});
  add_event(world, {.gpu = gpu.uuid, .type = nvml::abi::kEventRecoveryAction});
}

}  // namespace tranche::testbed::sim
