// SPDX-License-Identifier: Apache-2.0
//
// Everything one container gets for its shares, as a value. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/grant/node_facts.h"
#include "core/nested/nested_grant.h"
#include "core/settings/grant_options.h"
#include "core/sharing/catalog.h"

namespace tranche::core {

struct GrantedMount {
  std::string container_path;
  std::string host_path;
  bool read_only = false;
  bool operator==(const GrantedMount&) const = default;
};

struct GrantedNode {
  std::string container_path;
  std::string host_path;
  std::string permissions;
  bool operator==(const GrantedNode&) const = default;
};

struct ContainerGrant {
  std::map<std::string, std::string> env;
  std::vector<GrantedMount> mounts;
  std::vector<GrantedNode> nodes;
  std::map<std::string, std::string> annotations;
  std::vector<std::string> cdi_devices;  // "vendor/class=device"
  // The files for a container that is itself a node; their mounts are added once they are
  // written.
  std::optional<NestedGrant> nested;
  std::vector<std::string> warnings;  // for the log, for example about a tiny share

  bool operator==(const ContainerGrant&) const = default;
};

// Either everything that was requested, or an error that says which id is wrong and why.
// The order of the ids does not matter: the grant follows the devices'.
Result<ContainerGrant> grant(const Offer& offer, const GrantOptions& options,
                             const NodeFacts& facts, const std::vector<std::string_view>& ids);

}  // namespace tranche::core
