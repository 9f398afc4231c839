// SPDX-License-Identifier: Apache-2.0
//
// All allocated shares with their holders, as a value. records.h computes it; coverage.h
// computes what is free.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tranche::core {

// As much as is known: the kubelet's checkpoint has the pod's uid, its pod-resources
// service has the names, a recent grant of ours has neither.
struct Holder {
  std::string pod_namespace;
  std::string pod;
  std::string pod_uid;
  std::string container;

  auto operator<=>(const Holder&) const = default;
};

// "namespace/pod, container name", or the uid, or "a container that is being created".
std::string to_string(const Holder& holder);

// The shares of one resource that one container has.
struct Holding {
  std::string resource;
  Holder holder;
  std::vector<std::string> shares;  // ids, sorted

  auto operator<=>(const Holding&) const = default;
};

// The memory in bytes that a share was granted with, by resource and share id. 0: its
// memory was not counted. Whole devices have none.
using GrantedSizes =
    std::map<std::string, std::map<std::string, std::uint64_t, std::less<>>, std::less<>>;

struct Ledger {
  std::vector<Holding> holdings;  // sorted; a share of a resource is in one of them
  // Of shares that are held. A share keeps its size whatever is configured later; a share
  // that is missing here has the size that is offered now.
  GrantedSizes sizes;

  bool operator==(const Ledger&) const = default;
};

}  // namespace tranche::core
