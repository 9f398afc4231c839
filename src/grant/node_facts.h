// SPDX-License-Identifier: Apache-2.0
//
// What a grant must know of the node beside the devices themselves. Gathered
// at the edge, so that granting is a function of values.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

namespace tranche {

struct NodeFacts {
  // Of /dev/nvidiactl and its like, those that are there. As the container
  // will see them.
  std::vector<std::string> control_nodes;
  std::vector<unsigned> imex_channels;  // asked for and there

  // Names that CDI specifications on disk resolve, by class: "gpu" to uuids
  // or indexes, "gds" to "all". A class that is not here has no specification.
  std::map<std::string, std::set<std::string>> cdi;
  std::string cdi_problem;  // why specifications are not current; empty: they are

  bool operator==(const NodeFacts&) const = default;
};

}  // namespace tranche
