// SPDX-License-Identifier: Apache-2.0
#include "core/placement/aligned.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

namespace tranche::core {
namespace {

// Up to this number every set is tried: 16 GPUs, any size, give 12,870 at most.
constexpr std::uint64_t kSetsToLookAt = 20000;

std::uint64_t sets_of(std::size_t n, std::size_t k) {
  std::uint64_t count = 1;
  for (std::size_t i = 1; i <= std::min(k, n - k); ++i) {
    count = count * (n - i + 1) / i;
    if (count > kSetsToLookAt) break;
  }
  return count;
}

class Search {
 public:
  Search(const Offer& offer, const Topology& topology, const Choice& choice)
      : free_(choice.candidates.size()), needed_(std::min(choice.needed, free_)) {
    std::vector<std::size_t> devices;
    for (const Candidate& candidate : choice.candidates) devices.push_back(candidate.device);
    nearness_.resize(free_ * free_);
    pull_.resize(free_);
    loss_.resize(free_);
    for (std::size_t i = 0; i < free_; ++i) {
      for (std::size_t j = 0; j < free_; ++j) {
        if (i != j) at(i, j) = between(offer, topology, devices[i], devices[j]);
        loss_[i] += at(i, j);
      }
      for (const std::size_t decided : choice.decided) {
        pull_[i] += between(offer, topology, devices[i], decided);
      }
    }
  }

  std::vector<std::size_t> best() {
    if (sets_of(free_, needed_) <= kSetsToLookAt) {
      look_at_sets(0, 0, 0);
    } else {
      for (std::size_t seed = 0; seed < free_; ++seed) grow_from(seed);
    }
    return best_;
  }

 private:
  static unsigned between(const Offer& offer, const Topology& topology, std::size_t a,
                          std::size_t b) {
    const OfferedDevice& one = offer.devices[a];
    const OfferedDevice& other = offer.devices[b];
    const std::size_t place_a = topology.position(one.gpu);
    const std::size_t place_b = topology.position(other.gpu);
    const bool known = place_a != Topology::kNowhere && place_b != Topology::kNowhere;
    return nearness(known ? topology.between(place_a, place_b) : GpuLink{}, one.numa_node,
                    other.numa_node);
  }

  unsigned& at(std::size_t i, std::size_t j) { return nearness_[i * free_ + j]; }

  // The nearness gained by adding `next` to the set.
  std::uint64_t gain(std::size_t next) {
    std::uint64_t sum = pull_[next];
    for (const std::size_t member : set_) sum += at(member, next);
    return sum;
  }

  // The nearness inside the remaining free GPUs is the total, less each chosen GPU's part, plus
  // what was counted twice inside the set. So for sets of equal inner nearness, the least `loss`
  // leaves the most.
  void consider(std::uint64_t inner, std::uint64_t loss) {
    if (!best_.empty() && (inner < best_inner_ || (inner == best_inner_ && loss >= best_loss_))) {
      return;
    }
    best_ = set_;
    best_inner_ = inner;
    best_loss_ = loss;
  }

  void look_at_sets(std::size_t from, std::uint64_t inner, std::uint64_t loss) {
    if (set_.size() == needed_) return consider(inner, loss);
    for (std::size_t next = from; next + (needed_ - set_.size()) <= free_; ++next) {
      const std::uint64_t gained = gain(next);
      set_.push_back(next);
      look_at_sets(next + 1, inner + gained, loss + loss_[next]);
      set_.pop_back();
    }
  }

  // With too many sets: grow greedily by the nearest GPU, from each possible first one.
  void grow_from(std::size_t seed) {
    set_ = {seed};
    std::uint64_t inner = pull_[seed];
    std::uint64_t loss = loss_[seed];
    while (set_.size() < needed_) {
      std::size_t nearest = free_;
      std::uint64_t most = 0;
      for (std::size_t next = 0; next < free_; ++next) {
        if (std::ranges::find(set_, next) != set_.end()) continue;
        const std::uint64_t gained = gain(next);
        const bool better =
            nearest == free_ || gained > most || (gained == most && loss_[next] < loss_[nearest]);
        if (better) nearest = next, most = gained;
      }
      inner += most;
      loss += loss_[nearest];
      set_.push_back(nearest);
    }
    consider(inner, loss);
    set_.clear();
  }

  const std::size_t free_;
  const std::size_t needed_;
  std::vector<unsigned> nearness_;   // free × free
  std::vector<std::uint64_t> pull_;  // nearness to what is decided already
  std::vector<std::uint64_t> loss_;  // nearness to everything free

  std::vector<std::size_t> set_;
  std::vector<std::size_t> best_;
  std::uint64_t best_inner_ = 0;
  std::uint64_t best_loss_ = 0;
};

}  // namespace

unsigned nearness(const GpuLink& link, std::optional<unsigned> numa_a,
                  std::optional<unsigned> numa_b) {
  constexpr unsigned kOneNvLink = 100;
  const unsigned nvlink = link.nvlinks * kOneNvLink;
  switch (link.pcie) {
    case PcieDistance::kSameBoard: return nvlink + 60;
    case PcieDistance::kOneSwitch: return nvlink + 50;
    case PcieDistance::kSeveralSwitches: return nvlink + 40;
    case PcieDistance::kHostBridge: return nvlink + 30;
    case PcieDistance::kSameNode: return nvlink + 20;
    case PcieDistance::kAcrossSystem: return nvlink + 10;
    case PcieDistance::kUnknown: break;
  }
  // The driver does not report it; the kernel may still know the NUMA nodes.
  if (!numa_a || !numa_b) return nvlink;
  return nvlink + (*numa_a == *numa_b ? 20 : 10);
}

std::vector<std::string_view> pick_aligned(const Offer& offer, const Topology& topology,
                                           Choice choice) {
  // In the offer's order, so that the kubelet's random order has no effect.
  std::ranges::sort(choice.candidates, {}, &Candidate::device);
  std::vector<std::string_view> picked;
  if (choice.candidates.size() <= choice.needed) {
    for (const Candidate& candidate : choice.candidates) picked.push_back(candidate.id);
    return picked;
  }
  if (choice.needed == 0) return picked;
  std::vector<std::size_t> best = Search(offer, topology, choice).best();
  std::ranges::sort(best);
  for (const std::size_t position : best) picked.push_back(choice.candidates[position].id);
  return picked;
}

}  // namespace tranche::core
