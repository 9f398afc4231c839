// SPDX-License-Identifier: Apache-2.0
//
// What containers got and what the kubelet counts, as lines for people. Pure.
#pragma once

#include <string>
#include <vector>

#include "standin/kubelet.h"
#include "standin/values.h"

namespace tranche::demo {

struct Labelled {
  std::string who;
  std::string text;

  bool operator==(const Labelled&) const = default;
};

// Everything that a container is given, by kind.
std::vector<Labelled> grant_lines(const standin::ContainerResponse& response);

// "nvidia.com/gpu: 7 of 8 allocatable, 3 in use".
std::string count_line(const std::string& resource, const standin::ResourceView& view);

// The lines of the resources whose numbers are others now, in order.
std::vector<std::string> changed_counts(const standin::NodeView& before,
                                        const standin::NodeView& now);

}  // namespace tranche::demo
