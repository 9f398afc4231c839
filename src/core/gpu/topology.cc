// SPDX-License-Identifier: Apache-2.0
#include "core/gpu/topology.h"

#include <algorithm>
#include <utility>

namespace tranche::core {

Topology::Topology(std::vector<GpuUuid> gpus)
    : gpus_(std::move(gpus)), links_(gpus_.size() * gpus_.size()) {}

void Topology::set(std::size_t a, std::size_t b, GpuLink link) {
  links_.at(a * gpus_.size() + b) = link;
  links_.at(b * gpus_.size() + a) = link;
}

const GpuLink& Topology::between(std::size_t a, std::size_t b) const {
  return links_.at(a * gpus_.size() + b);
}

std::size_t Topology::position(const GpuUuid& gpu) const {
  const auto found = std::ranges::find(gpus_, gpu);
  return found == gpus_.end() ? kNowhere : static_cast<std::size_t>(found - gpus_.begin());
}

}  // namespace tranche::core
