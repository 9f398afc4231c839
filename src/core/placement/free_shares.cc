// SPDX-License-Identifier: Apache-2.0
#include "core/placement/free_shares.h"

#include <algorithm>

namespace tranche::core {

std::vector<std::vector<std::string_view>> free_shares(std::size_t devices, const Choice& choice) {
  std::vector<std::vector<const Candidate*>> found(devices);
  for (const Candidate& candidate : choice.candidates) {
    found[candidate.device].push_back(&candidate);
  }
  std::vector<std::vector<std::string_view>> ids(devices);
  for (std::size_t i = 0; i < devices; ++i) {
    const std::size_t room = i < choice.room.size() ? choice.room[i] : found[i].size();
    const std::size_t most = std::min({found[i].size(), room, choice.needed});
    // Sorts only the shares that can be taken.
    std::ranges::partial_sort(found[i], found[i].begin() + static_cast<std::ptrdiff_t>(most), {},
                              &Candidate::replica);
    const std::size_t kept = std::min(found[i].size(), room);
    for (std::size_t k = 0; k < kept; ++k) ids[i].push_back(found[i][k]->id);
  }
  return ids;
}

}  // namespace tranche::core
