// SPDX-License-Identifier: Apache-2.0
#include "core/ledger/records.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "core/sharing/share_id.h"

namespace tranche::core {
namespace {

using Holdings = std::vector<Holding>;

// A resource's shares that have a holder, each with its holding's place.
using Taken = std::unordered_map<std::string_view, std::size_t>;
using TakenByResource = std::map<std::string_view, Taken>;

// Joins the sources, most trusted first. Views point into the sources.
class Joining {
 public:
  // All shares that were not added before.
  void add(const Holding& holding, const Holder& holder) {
    Taken& taken = taken_[holding.resource];
    Holding added{holding.resource, holder, {}};
    for (const std::string& share : holding.shares) {
      if (taken.try_emplace(share, joined_.size()).second) added.shares.push_back(share);
    }
    if (!added.shares.empty()) joined_.push_back(std::move(added));
  }

  // The holding of the same container and shares, if it was added before.
  Holding* same_as(const Holding& holding) {
    if (holding.shares.empty()) return nullptr;
    const auto resource = taken_.find(holding.resource);
    if (resource == taken_.end()) return nullptr;
    const auto share = resource->second.find(holding.shares.front());
    if (share == resource->second.end()) return nullptr;
    Holding& found = joined_[share->second];
    const bool is_same =
        found.holder.container == holding.holder.container && found.shares == holding.shares;
    return is_same ? &found : nullptr;
  }

  Holdings& joined() { return joined_; }

 private:
  TakenByResource taken_;
  Holdings joined_;
};

std::vector<const Holding*> pointers_to(const Holdings& source) {
  std::vector<const Holding*> pointers;
  pointers.reserve(source.size());
  for (const Holding& holding : source) pointers.push_back(&holding);
  return pointers;
}

std::vector<const Holding*> sorted(const Holdings& source) {
  std::vector<const Holding*> ordered = pointers_to(source);
  std::ranges::sort(ordered, [](const Holding* a, const Holding* b) { return *a < *b; });
  return ordered;
}

// In the checkpoint, as in the kubelet, the shares of a finished init container are also its
// successor's: the larger holding owns them.
std::vector<const Holding*> larger_first(const Holdings& checkpoint) {
  std::vector<const Holding*> ordered = pointers_to(checkpoint);
  std::ranges::sort(ordered, [](const Holding* a, const Holding* b) {
    if (a->shares.size() != b->shares.size()) return a->shares.size() > b->shares.size();
    return *a < *b;
  });
  return ordered;
}

// If both sources have a container, the checkpoint adds the pod's uid and pod-resources its
// names. The names then serve for the pod's init containers too.
void add_checkpoint(Joining& joining, const Holdings& checkpoint) {
  const std::vector<const Holding*> ordered = larger_first(checkpoint);
  std::map<std::string_view, Holder> names;  // by uid
  for (const Holding* holding : ordered) {
    Holding* same = joining.same_as(*holding);
    if (same == nullptr || !same->holder.pod_uid.empty()) continue;
    same->holder.pod_uid = holding->holder.pod_uid;
    names.try_emplace(holding->holder.pod_uid, same->holder);
  }
  for (const Holding* holding : ordered) {
    Holder holder = holding->holder;
    if (const auto known = names.find(holder.pod_uid); known != names.end()) {
      holder.pod_namespace = known->second.pod_namespace;
      holder.pod = known->second.pod;
    }
    joining.add(*holding, holder);
  }
}

void add_pod_resources(Joining& joining, const Holdings& pod_resources) {
  for (const Holding* holding : sorted(pod_resources)) joining.add(*holding, holding->holder);
}

// Sorted. What pod-resources has comes first in the joining, so the rest is the
// checkpoint's own.
Holdings only_in_checkpoint(const Records& records) {
  if (!records.pod_resources || !records.checkpoint) return {};
  Joining joining;
  add_pod_resources(joining, *records.pod_resources);
  const std::size_t listed = joining.joined().size();
  add_checkpoint(joining, *records.checkpoint);
  Holdings& all = joining.joined();
  Holdings rest(std::make_move_iterator(all.begin() + static_cast<std::ptrdiff_t>(listed)),
                std::make_move_iterator(all.end()));
  std::ranges::sort(rest);
  return rest;
}

// Shares by resource and the pod's uid: a share passes from an init container to its
// successor, and names are learned later.
using SharesOfPods = std::map<std::pair<std::string_view, std::string_view>, Taken>;

SharesOfPods by_pod(const Holdings& holdings) {
  SharesOfPods pods;
  for (const Holding& holding : holdings) {
    Taken& shares = pods[{holding.resource, holding.holder.pod_uid}];
    for (const std::string& share : holding.shares) shares.emplace(share, 0);
  }
  return pods;
}

bool has_all_of(const SharesOfPods& pods, const Holding& holding) {
  const auto shares = pods.find({holding.resource, holding.holder.pod_uid});
  return shares != pods.end() && std::ranges::all_of(holding.shares, [&](const std::string& share) {
           return shares->second.contains(share);
         });
}

// Called after a List. A share that was confirmed before any List could have its pod loses its
// confirmation, unless this List has the pod.
void note_unlisted(Records& records) {
  Holdings unlisted = only_in_checkpoint(records);
  std::set<std::string_view> listed_pods;  // by uid
  for (const Holding& holding : unlisted) {
    if (!holding.holder.pod.empty()) listed_pods.insert(holding.holder.pod_uid);
  }
  const SharesOfPods before = by_pod(records.unlisted);
  std::erase_if(records.confirmed, [&](const Holding& holding) {
    return !has_all_of(before, holding) && !listed_pods.contains(holding.holder.pod_uid);
  });
  records.unlisted = std::move(unlisted);
}

bool has_lost_one(const Holdings& before, const Holdings& now) {
  Holdings sorted = now;
  std::ranges::sort(sorted);
  return !std::ranges::all_of(
      before, [&](const Holding& holding) { return std::ranges::binary_search(sorted, holding); });
}

// The shares of a source, to look grants up in.
class Shown {
 public:
  explicit Shown(const std::optional<Holdings>& source) {
    if (!source) return;
    for (const Holding& holding : *source) {
      for (const std::string& share : holding.shares) taken_[holding.resource].emplace(share, 0);
    }
  }

  bool has(const FreshGrant& grant) const {
    const auto resource = taken_.find(grant.resource);
    if (resource == taken_.end()) return false;
    return std::ranges::all_of(
        grant.shares, [&](const std::string& share) { return resource->second.contains(share); });
  }

 private:
  TakenByResource taken_;
};

void settle_grants(Records& records, const LedgerReading& reading) {
  if (records.fresh.empty()) return;
  const Shown listed(reading.pod_resources);
  const Shown saved(reading.checkpoint);
  // records already has the checkpoint of this or an earlier reading.
  const bool can_expire =
      records.checkpoint ? reading.checkpoint.has_value() : reading.pod_resources.has_value();
  std::erase_if(records.fresh, [&](const FreshGrant& grant) {
    if (reading.begun < grant.at) return false;
    if (listed.has(grant) || saved.has(grant)) return true;
    return can_expire && reading.begun >= grant.at + kGrantPatience;
  });
}

template <typename Sizes>
const std::uint64_t* find_size(const Sizes& sizes, std::string_view resource,
                               std::string_view key) {
  const auto of_resource = sizes.find(resource);
  if (of_resource == sizes.end()) return nullptr;
  const auto size = of_resource->second.find(key);
  return size == of_resource->second.end() ? nullptr : &size->second;
}

// The size of a share by what its device was offered with; null for a whole device.
const std::uint64_t* offered_size(const OfferedSizes& offered, const std::string& resource,
                                  const std::string& share) {
  const auto parsed = parse_share_id(share);
  if (!parsed || !parsed->replica) return nullptr;
  return find_size(offered, resource, parsed->device);
}

// For a share that was allocated with one of two sizes. 0 (not counted) can be any size.
std::uint64_t larger(std::uint64_t one, std::uint64_t other) {
  return one == 0 || other == 0 ? 0 : std::max(one, other);
}

OfferedSizes larger(OfferedSizes sizes, const OfferedSizes& others) {
  for (const auto& [resource, devices] : others) {
    for (const auto& [device, bytes] : devices) {
      const auto [known, is_new] = sizes[resource].emplace(device, bytes);
      if (!is_new) known->second = larger(known->second, bytes);
    }
  }
  return sizes;
}

// A held share without a size gets the size that was offered when it was allocated.
void add_missing_sizes(Records& records, const Ledger& held) {
  const OfferedSizes offered = larger(records.offered, records.offered_before);
  for (const Holding& holding : held.holdings) {
    for (const std::string& share : holding.shares) {
      if (find_size(records.sizes, holding.resource, share) != nullptr) continue;
      const std::uint64_t* size = offered_size(offered, holding.resource, share);
      if (size != nullptr) records.sizes[holding.resource].emplace(share, *size);
    }
  }
}

// Only the checkpoint counts: it has every container's shares from their admission on,
// while a kubelet that has just started lists no pods.
void drop_sizes_of_free_shares(Records& records, const Ledger& held) {
  if (!records.checkpoint) return;
  GrantedSizes kept;
  for (const Holding& holding : held.holdings) {
    for (const std::string& share : holding.shares) {
      const std::uint64_t* size = find_size(records.sizes, holding.resource, share);
      if (size != nullptr) kept[holding.resource].emplace(share, *size);
    }
  }
  records.sizes = std::move(kept);
}

// Everything that counts as held, without its sizes.
Ledger held_now(const Records& records) {
  Joining joining;
  if (records.pod_resources) add_pod_resources(joining, *records.pod_resources);
  if (records.checkpoint) add_checkpoint(joining, *records.checkpoint);
  Holdings grants;
  for (const FreshGrant& grant : records.fresh) {
    grants.push_back({grant.resource, {}, grant.shares});
  }
  for (const Holding& grant : grants) joining.add(grant, {});
  Ledger ledger{std::move(joining.joined())};
  std::ranges::sort(ledger.holdings);
  return ledger;
}

}  // namespace

Records with_reading(Records records, const LedgerReading& reading) {
  if (reading.pod_resources) {
    const bool has_ended =
        records.pod_resources && has_lost_one(*records.pod_resources, *reading.pod_resources);
    if (has_ended) records.confirmed.clear();
    records.pod_resources = reading.pod_resources;
    // As it was when pod-resources answered.
    if (reading.checkpoint && !reading.checkpoint_is_newer) records.checkpoint = reading.checkpoint;
    note_unlisted(records);
  }
  if (reading.begun >= records.confirmed_at + kConfirmationLasts) records.confirmed.clear();
  if (reading.checkpoint) {
    records.checkpoint = reading.checkpoint;
    if (reading.checkpoint_is_newer) {
      records.confirmed = only_in_checkpoint(records);
      records.confirmed_at = reading.begun;
    }
  }
  settle_grants(records, reading);
  const Ledger held = held_now(records);
  drop_sizes_of_free_shares(records, held);
  add_missing_sizes(records, held);
  return records;
}

Records with_grant(Records records, FreshGrant grant) {
  for (FreshGrant& older : records.fresh) {
    if (older.resource != grant.resource) continue;
    std::erase_if(older.shares, [&](const std::string& share) {
      return std::ranges::binary_search(grant.shares, share);
    });
  }
  std::erase_if(records.fresh, [](const FreshGrant& older) { return older.shares.empty(); });
  const OfferedSizes offered{{grant.resource, grant.sizes}};
  for (const std::string& share : grant.shares) {
    const std::uint64_t* size = offered_size(offered, grant.resource, share);
    if (size != nullptr) records.sizes[grant.resource].insert_or_assign(share, *size);
  }
  records.fresh.push_back(std::move(grant));
  return records;
}

Records with_offer(Records records, OfferedSizes offered, LedgerTime now) {
  if (!records.is_known()) return records;
  const bool is_over = now >= records.offered_at + kGrantPatience;
  if (is_over) records.offered_before.clear();
  if (records.offered == offered) return records;
  add_missing_sizes(records, held_now(records));
  records.offered_before = larger(std::move(records.offered_before), records.offered);
  records.offered = std::move(offered);
  records.offered_at = now;
  return records;
}

Ledger present(const Records& records) {
  Ledger ledger = held_now(records);
  ledger.sizes = records.sizes;
  return ledger;
}

std::vector<Holding> to_confirm(const Records& records) {
  const SharesOfPods confirmed = by_pod(records.confirmed);
  std::vector<Holding> unconfirmed = only_in_checkpoint(records);
  std::erase_if(unconfirmed, [&](const Holding& each) { return has_all_of(confirmed, each); });
  return unconfirmed;
}

}  // namespace tranche::core
