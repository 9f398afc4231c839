// SPDX-License-Identifier: Apache-2.0
//
// What agent, kubelet and containers said, as lines for people, and how they
// are fitted to a terminal. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "testbed/kubelet/kubelet.h"
#include "testbed/kubelet/values.h"

namespace tranche::demo {

// In lines of at most `width` columns, broken at spaces; 0 is no limit. A word
// that is wider stays whole, so that it can be copied.
std::vector<std::string> wrap(std::string_view text, std::size_t width);

// "GPU-8f1c2d3e" for a GPU's whole uuid, and so for MIG devices. The columns
// right of a table's UUID column move with it.
std::string shorten_uuids(const std::string& text);

// A line of the agent's log without its time.
std::string_view without_time(std::string_view log_line);

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
