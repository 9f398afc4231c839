// SPDX-License-Identifier: Apache-2.0
#include "testbed/kubelet/choice.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace tranche::testbed::standin {
namespace {

Ids minus(const Ids& a, const Ids& b) {
  Ids result;
  std::ranges::set_difference(a, b, std::inserter(result, result.end()));
  return result;
}

Ids common(const Ids& a, const Ids& b) {
  Ids result;
  std::ranges::set_intersection(a, b, std::inserter(result, result.end()));
  return result;
}

Ids united(Ids a, const Ids& b) {
  a.insert(b.begin(), b.end());
  return a;
}

Ids available_devices(const NodeState& state, const std::string& resource) {
  const Ids& healthy = state.healthy.at(resource);
  const auto allocated = state.allocated.find(resource);
  return allocated == state.allocated.end() ? healthy : minus(healthy, allocated->second);
}

// Picks from `pool` until the choice is complete or the pool is empty.
void pick_from(Choice& choice, const Ids& pool, Random& random) {
  if (choice.is_complete()) return;
  for (std::string& id : random.shuffled(minus(pool, choice.picked))) {
    choice.picked.insert(std::move(id));
    if (--choice.needed == 0) return;
  }
}

Error refused(std::string message) { return {ErrorCode::kUnavailable, std::move(message)}; }

// What the container was given before and whether that still serves. Returns
// how many devices are missing.
Result<std::int64_t> still_needed(const NodeState& state, const ChoiceRequest& request) {
  const Allocation* before =
      find_allocation(state, request.pod_uid, request.container, request.resource);
  const Ids held = before == nullptr ? Ids{} : ids_of(before->devices);
  const auto held_count = static_cast<std::int64_t>(held.size());
  if (before != nullptr && held_count != request.required) {
    return refused("pod \"" + request.pod_uid + "\" container \"" + request.container +
                   "\" changed request for resource \"" + request.resource + "\" from " +
                   std::to_string(held_count) + " to " + std::to_string(request.required));
  }
  // Even if a device is unhealthy, or nobody has registered the resource yet.
  if (request.running) return 0;
  const auto healthy = state.healthy.find(request.resource);
  if (healthy == state.healthy.end()) {
    return refused("cannot allocate unregistered device " + request.resource);
  }
  if (healthy->second.empty()) {
    return refused("no healthy devices present; cannot allocate unhealthy devices " +
                   request.resource);
  }
  if (!std::ranges::includes(healthy->second, held)) {
    return refused(
        "previously allocated devices are no longer healthy; cannot allocate unhealthy devices " +
        request.resource);
  }
  return request.required - held_count;
}

// Both sides are what the kubelet writes into the question: picked devices are
// offered too, because the plugin must include them in its answer.
void ask(Choice& choice, const Ids& offered, std::int64_t required) {
  choice.question = PreferenceQuestion{united(offered, choice.picked), choice.picked, required};
  choice.candidates = offered;
}

}  // namespace

ByAffinity split_by_affinity(const ListedDevices& listed, const Ids& available,
                             const std::optional<NumaNodes>& affinity) {
  const bool takes_part = std::ranges::any_of(
      listed, [](const auto& entry) { return !entry.second.numa_nodes.empty(); });
  if (!affinity || !takes_part) return {.without_affinity = available};

  ByAffinity result;
  for (const std::string& id : available) {
    const std::vector<std::int64_t>& nodes = listed.at(id).numa_nodes;
    if (nodes.empty()) {
      result.without_affinity.insert(id);
    } else if (std::ranges::any_of(nodes, [&](auto node) { return affinity->contains(node); })) {
      result.aligned.insert(id);
    } else {
      result.unaligned.insert(id);
    }
  }
  return result;
}

Result<Choice> begin_choice(const NodeState& state, const ChoiceRequest& request, Random& random) {
  const Result<std::int64_t> needed = still_needed(state, request);
  if (!needed) return needed.error();
  Choice choice{.needed = *needed};
  pick_from(choice, request.reusable, random);
  if (choice.is_complete()) return choice;

  const Ids available = available_devices(state, request.resource);
  if (static_cast<std::int64_t>(available.size()) < choice.needed) {
    return refused("requested number of devices unavailable for " + request.resource +
                   ". Requested: " + std::to_string(choice.needed) +
                   ", Available: " + std::to_string(available.size()));
  }
  ByAffinity parts =
      split_by_affinity(state.listed.at(request.resource), available, request.affinity);
  if (choice.needed < static_cast<std::int64_t>(parts.aligned.size())) {
    ask(choice, parts.aligned, request.required);
    choice.fallbacks = {std::move(parts.aligned)};
    return choice;
  }
  // All aligned ones are needed, whatever the plugin prefers.
  pick_from(choice, parts.aligned, random);
  if (choice.is_complete()) return choice;
  ask(choice, available, request.required);
  choice.fallbacks = {std::move(parts.unaligned), std::move(parts.without_affinity)};
  return choice;
}

Result<Ids> finish_choice(Choice choice, const Ids& preferred, std::int64_t required,
                          Random& random) {
  pick_from(choice, common(preferred, choice.candidates), random);
  for (const Ids& pool : choice.fallbacks) pick_from(choice, pool, random);
  if (choice.is_complete()) return std::move(choice.picked);
  return refused("unexpectedly allocated less resources than required. Requested: " +
                 std::to_string(required) + ", Got: " + std::to_string(required - choice.needed));
}

}  // namespace tranche::testbed::standin
