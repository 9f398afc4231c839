// SPDX-License-Identifier: Apache-2.0
//
// Who holds which shares, as a value. Where it comes from is records.h; what
// it leaves for others is coverage.h.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tranche {

// As much as is known: the kubelet's checkpoint knows the pod's uid, its
// pod-resources service the names, a grant of a moment ago none of them.
struct Holder {
  std::string pod_namespace;
  std::string pod;
  std::string pod_uid;
  std::string container;

  auto operator<=>(const Holder&) const = default;
};

// "namespace/pod, container name", or the uid, or "a container that is just
// being made".
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
  // Of shares that are held. A share keeps its size whatever is configured later; one
  // that is missing here has the size that it is offered with now.
  GrantedSizes sizes;

  bool operator==(const Ledger&) const = default;
};

}  // namespace tranche
