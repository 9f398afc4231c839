// SPDX-License-Identifier: Apache-2.0
//
// A CDI specification as a value: the runtime's changes to a container with one of the devices.
// It has the fields of the format that GPUs need.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tranche::core {

struct CdiDeviceNode {
  std::string path;       // in the container
  std::string host_path;  // empty: the same
  unsigned major = 0;
  unsigned minor = 0;
  unsigned mode = 0;  // permission bits
  unsigned gid = 0;   // 0: the container's own

  bool operator==(const CdiDeviceNode&) const = default;
};

struct CdiMount {
  std::string host_path;
  std::string container_path;
  std::vector<std::string> options;

  bool operator==(const CdiMount&) const = default;
};

struct CdiHook {
  std::string stage;  // "createContainer"
  std::string path;
  std::vector<std::string> args;
  std::vector<std::string> env;

  bool operator==(const CdiHook&) const = default;
};

struct CdiEdits {
  std::vector<std::string> env;
  std::vector<CdiDeviceNode> nodes;
  std::vector<CdiHook> hooks;
  std::vector<CdiMount> mounts;
  std::vector<unsigned> additional_gids;

  // A device with empty edits makes the whole file invalid.
  bool empty() const;
  bool operator==(const CdiEdits&) const = default;
};

struct CdiDevice {
  std::string name;
  CdiEdits edits;

  bool operator==(const CdiDevice&) const = default;
};

struct CdiSpec {
  std::string device_class;  // "gpu"
  std::vector<CdiDevice> devices;
  CdiEdits common;  // for a container with any of the devices

  bool operator==(const CdiSpec&) const = default;
};

// The lowest version of the format that has all the fields in use: older
// runtimes refuse a file that claims a newer one.
std::string_view cdi_version(const CdiSpec& spec);

// Removes duplicates, and sorts where order does not matter: nodes and mounts by depth and then
// path, so that a folder is mounted before its content. The first of two mounts to one path
// stays.
CdiEdits normalised(CdiEdits edits);

// All of `parts` in one, normalised.
CdiEdits merged(const std::vector<CdiEdits>& parts);

}  // namespace tranche::core
