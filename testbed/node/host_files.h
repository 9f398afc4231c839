// SPDX-License-Identifier: Apache-2.0
//
// The files that a node with this world has: device nodes, what the driver
// shows below /proc and /sys, and the driver's own files, all as one value.
// Pure; SimulatedNode writes them.
#pragma once

#include <compare>
#include <map>
#include <string>
#include <variant>

#include "testbed/world/world.h"

namespace tranche::testbed::sim {

struct PlainFile {
  std::string content;
  unsigned mode = 0644;
  auto operator<=>(const PlainFile&) const = default;
};
struct CharDevice {
  unsigned major = 0;
  unsigned minor = 0;
  unsigned mode = 0666;
  auto operator<=>(const CharDevice&) const = default;
};
struct SymLink {
  std::string target;
  unsigned made = 0;  // another number: it was removed and made again
  auto operator<=>(const SymLink&) const = default;
};
// A socket file that nobody listens on: what looks for daemons goes by it.
struct Socket {
  auto operator<=>(const Socket&) const = default;
};
struct Folder {
  auto operator<=>(const Folder&) const = default;
};
// The simulated library itself, copied here.
struct DriverLibrary {
  auto operator<=>(const DriverLibrary&) const = default;
};
using HostFile = std::variant<PlainFile, CharDevice, SymLink, Socket, Folder, DriverLibrary>;

// By absolute path on the host.
using HostFiles = std::map<std::string, HostFile>;

HostFiles host_files(const World& world);

// Majors, as /proc/devices of such a node lists them.
inline constexpr unsigned kNvidiaMajor = 195;
inline constexpr unsigned kNvlinkMajor = 234;
inline constexpr unsigned kCapsMajor = 235;
inline constexpr unsigned kImexMajor = 236;
inline constexpr unsigned kDrmMajor = 226;
inline constexpr unsigned kInfinibandMajor = 231;
inline constexpr unsigned kUvmMajor = 510;
inline constexpr unsigned kNvSwitchMajor = 511;
inline constexpr unsigned kGdrdrvMajor = 508;
inline constexpr unsigned kNvidiaFsMajor = 509;

}  // namespace tranche::testbed::sim
