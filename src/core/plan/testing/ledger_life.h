// SPDX-License-Identifier: Apache-2.0
//
// A kubelet, an agent and the hardware as values, for random lives of all three.
// Configurations change under running pods, GPUs are cut, swapped and lost,
// enforcement comes and goes, calls are in flight while all that happens, and the
// agent is killed. The oracle (ledger_oracle.h) knows nothing of offers and ledgers.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/gpu/testing/literals.h"
#include "core/ledger/coverage.h"
#include "core/ledger/ledger_sizes.h"
#include "core/ledger/records.h"
#include "core/placement/fit.h"
#include "core/placement/prefer.h"
#include "core/plan/device_list.h"
#include "core/plan/plan.h"
#include "core/plan/testing/ledger_oracle.h"
#include "core/sharing/share_id.h"

namespace tranche::core::ledger_life {

inline constexpr std::uint64_t kGiB = 1ULL << 30;
inline constexpr const char* kForeign = "other.com/gpu";

// The kubelet's state and its lagging view of our lists, and an agent that can lose everything
// but its file.
class World {
 public:
  World(std::vector<Settings> configurations, unsigned seed)
      : random_(seed), configurations_(std::move(configurations)), oracle_(node_) {
    node_ = a_node(3);
    node_.gpus[0].memory_bytes = 16 * kGiB;
    node_.gpus[1].memory_bytes = 24 * kGiB;
    node_.gpus[2].memory_bytes = 16 * kGiB;
    node_.limits_memory = true;
    if (random_() % 2 == 0) hold_by_another_plugin();
    read_sources();
    reconcile();
    for (const Serving& serving : wanted_.servings) deliver_list(serving.offer.name.text);
  }

  void step() {
    now_ += std::chrono::milliseconds(random_() % 2000);
    switch (random_() % 16) {
      case 0:
      case 1:
      case 2:
      case 3: return start_container();
      case 4:
      case 5: return end_container();
      case 6:
      case 7: return deliver_some_list();
      case 8: return read_sources();
      case 9: return restart_agent();
      case 10: return write_checkpoint();
      case 11: return reconcile();
      case 12: return break_or_mend();
      case 13: return reload();
      case 14: return random_() % 3 == 0 ? lose_or_regain_enforcement() : start_container();
      default: return random_() % 3 == 0 ? change_hardware() : start_container();
    }
  }

  // Empty while nothing was allocated twice; otherwise what was, with the history.
  std::string complaint() const { return complaint_.empty() ? "" : complaint_ + history_; }
  unsigned granted() const { return granted_; }
  unsigned refused() const { return refused_; }
  unsigned in_flight() const { return in_flight_; }

 private:
  template <typename T>
  const T& any_of(const std::vector<T>& values) {
    return values[random_() % values.size()];
  }

  void note(const std::string& what) { history_ += "\n  " + what; }

  // The agent's main loop: observes, plans, writes its file, applies.
  void reconcile() {
    const Observed seen{.inventory = node_,
                        .ledger = std::make_shared<const Ledger>(present(records_))};
    wanted_ = plan(seen, configurations_[configuration_]);
    records_ = with_offer(std::move(records_), offered_sizes(wanted_.catalog), now_);
    file_ = {records_.sizes, records_.offered, records_.offered_before};
  }

  void reload() {
    const Wanted before = wanted_;
    configuration_ = random_() % configurations_.size();
    note("reload to configuration " + std::to_string(configuration_));
    reconcile();
    // A call in progress continues with its old value.
    if (random_() % 2 == 0 && !before.servings.empty()) {
      const Serving& serving = any_of(before.servings);
      if (listed_.contains(serving.offer.name.text)) {
        in_flight_ += admit(serving) ? 1 : 0;
      }
    }
  }

  // The agent forgets everything but its file, and serves nothing before it has read the
  // checkpoint; it may then have another configuration.
  void restart_agent() {
    records_ = {};
    records_.sizes = file_.granted;
    records_.offered = file_.offered;
    records_.offered_before = file_.offered_before;
    records_.offered_at = now_;
    if (random_() % 2 == 0) configuration_ = random_() % configurations_.size();
    note("restart with configuration " + std::to_string(configuration_));
    read_sources();
    reconcile();
  }

  // The devices that the kubelet considers healthy and free.
  std::vector<std::string> available(const std::string& resource) const {
    std::set<std::string> free = listed_.at(resource);
    for (const Container& container : containers_) {
      if (container.resource != resource) continue;
      for (const std::string& id : container.ids) free.erase(id);
    }
    return {free.begin(), free.end()};
  }

  void forget_ended() {
    std::erase_if(containers_, [](const Container& container) { return !container.alive; });
  }

  void start_container() {
    if (wanted_.servings.empty()) return;
    const Serving& serving = any_of(wanted_.servings);
    if (listed_.contains(serving.offer.name.text)) admit(serving);
  }

  // One admission, answered by this serving; returns whether it was granted.
  bool admit(const Serving& serving) {
    forget_ended();  // the kubelet does, before it allocates
    const Offer& offer = serving.offer;
    std::vector<std::string> free = available(offer.name.text);
    std::erase_if(free, [&](const std::string& id) { return offer.find(id) == nullptr; });
    if (free.empty()) return false;
    const std::size_t size = 1 + random_() % std::min<std::size_t>(free.size(), 12);
    std::shuffle(free.begin(), free.end(), random_);
    const Ledger ledger = present(records_);
    const Coverage coverage(*serving.catalog, ledger);
    const OfferRoom room = coverage.room(offer);
    std::vector<std::string_view> ids{free.begin(), free.end()};
    if (size < free.size()) ids = prefer(offer, room, {}, {{free.begin(), free.end()}, {}, size});
    ids.resize(std::min(ids.size(), size));
    if (ids.empty()) return false;
    const bool healthy =
        std::ranges::all_of(ids, [&](std::string_view id) { return offer.find(id)->health.ok(); });
    if (!healthy || !fits(offer, &room, ids) || !coverage.admits(offer, ids)) {
      ++refused_;
      return false;
    }
    record(offer, {ids.begin(), ids.end()});
    return true;
  }

  void record(const Offer& offer, std::vector<std::string> ids) {
    std::ranges::sort(ids);
    FreshGrant grant{offer.name.text, ids, now_};
    std::map<std::string, Promise> promises;
    for (const std::string& id : ids) {
      const OfferedDevice& device = *offer.find(id);
      if (device.replicas) grant.sizes[device.uuid] = device.share_bytes;
      Promise& promise = promises[device.uuid];
      promise.device = device.uuid;
      promise.whole = !device.replicas;
      promise.bytes += device.replicas ? device.share_bytes : 0;
    }
    records_ = with_grant(std::move(records_), grant);
    // A size that contradicts the file is written before the call is answered.
    const bool is_in_file = std::ranges::any_of(
        ids, [&](const std::string& id) { return file_.granted[grant.resource].contains(id); });
    if (is_in_file) file_ = {records_.sizes, records_.offered, records_.offered_before};
    Container container{offer.name.text, ids, "uid-" + std::to_string(++granted_)};
    for (const auto& [uuid, promise] : promises) {
      const std::string wrong = oracle_.complaint(containers_, promise);
      if (!wrong.empty()) {
        complaint_ = container.uid + " (" + container.resource + "): " + wrong;
      }
      container.promises.push_back(promise);
    }
    note(container.uid + " gets " + std::to_string(ids.size()) + " of " + container.resource +
         ", " + ids.front() + " first");
    containers_.push_back(std::move(container));
    write_checkpoint();
  }

  // A container of another sharing plugin, which was here before us.
  void hold_by_another_plugin() {
    containers_.push_back({kForeign, {"GPU-1-_-0"}, "uid-foreign", {{.device = "GPU-1"}}});
    write_checkpoint();
  }

  void end_container() {
    if (containers_.empty()) return;
    Container& container = containers_[random_() % containers_.size()];
    container.alive = false;
    note(container.uid + " ends");
  }

  void deliver_some_list() {
    std::set<std::string> names;
    for (const auto& [name, ids] : listed_) names.insert(name);
    for (const Serving& serving : wanted_.servings) names.insert(serving.offer.name.text);
    if (names.empty()) return;
    deliver_list(*std::next(names.begin(), static_cast<long>(random_() % names.size())));
  }

  // The newest list reaches the kubelet, which then writes its checkpoint. The list of a resource
  // that is no longer offered is empty.
  void deliver_list(const std::string& name) {
    const auto serving = std::ranges::find_if(
        wanted_.servings, [&](const Serving& each) { return each.offer.name.text == name; });
    std::set<std::string>& healthy = listed_[name];
    healthy.clear();
    if (serving != wanted_.servings.end()) {
      for (const ListedDevice& device : list_of(serving->offer, serving->shown)) {
        if (!device.healthy) continue;
        for (unsigned n = 0; n < device.shares(); ++n) {
          healthy.insert(
              share_id(device.uuid, device.tag,
                       device.replicas ? std::optional(device.first + n) : std::nullopt));
        }
      }
    }
    write_checkpoint();
  }

  std::vector<Holding> holdings(bool only_alive) const {
    std::vector<Holding> all;
    for (const Container& container : containers_) {
      if (only_alive && !container.alive) continue;
      all.push_back({container.resource, {"", "", container.uid, "main"}, container.ids});
    }
    return all;
  }

  void write_checkpoint() { checkpoint_ = holdings(false); }

  void read_sources() {
    LedgerReading reading{.begun = now_, .checkpoint = checkpoint_};
    if (random_() % 4 != 0) {  // else it does not answer
      forget_ended();
      reading.pod_resources = holdings(true);
      for (Holding& holding : *reading.pod_resources) {
        holding.holder = {"default", holding.holder.pod_uid, "", "main"};
      }
    }
    note(reading.pod_resources ? "both sources are read" : "the checkpoint is read");
    records_ = with_reading(std::move(records_), reading);
  }

  void break_or_mend() {
    auto& troubles = any_gpu().health.troubles;
    troubles.empty() ? troubles.push_back("lost") : troubles.clear();
    reconcile();
  }

  void lose_or_regain_enforcement() {
    bool& limits = node_.limits_memory;
    limits = !limits;
    note(limits ? "the driver limits memory" : "the driver does not limit memory");
    reconcile();
  }

  Gpu& any_gpu() { return node_.gpus[random_() % node_.gpus.size()]; }

  // MIG on, off, or partitioned differently with the same uuids; or another card in a slot.
  // Containers that hold removed devices hold nothing.
  void change_hardware() {
    if (random_() % 2 == 0) {
      Gpu& gpu = node_.gpus[2];
      for (Container& container : containers_) drop_promises_of(container, gpu.uuid.text);
      gpu.uuid = GpuUuid("GPU-2-" + std::to_string(random_() % 1000));
      note("another card: " + gpu.uuid.text);
    } else {
      Gpu& gpu = node_.gpus[0];
      std::set<std::string> before;
      for (const MigDevice& mig : gpu.mig) before.insert(mig.uuid.text);
      gpu.mig.clear();
      const unsigned slices = static_cast<unsigned>(random_() % 3);
      gpu.mig_enabled = slices > 0;
      note("GPU-0 is cut into " + std::to_string(slices));
      for (unsigned i = 0; i < slices; ++i) {
        gpu.mig.push_back(a_slice(0, i, slices == 1 ? k3g40gb : k1g10gb));
        gpu.mig.back().memory_bytes = (slices == 1 ? 12 : 6) * kGiB;
        before.erase(gpu.mig.back().uuid.text);
      }
      for (const std::string& gone : before) {
        for (Container& container : containers_) drop_promises_of(container, gone);
      }
    }
    reconcile();
  }

  static void drop_promises_of(Container& container, const std::string& device) {
    std::erase_if(container.promises,
                  [&](const Promise& promise) { return promise.device == device; });
  }

  std::mt19937 random_;
  const std::vector<Settings> configurations_;
  std::size_t configuration_ = 0;
  Inventory node_;
  const Oracle oracle_;
  Wanted wanted_;
  LedgerTime now_;
  std::vector<Container> containers_;
  std::map<std::string, std::set<std::string>> listed_;
  std::vector<Holding> checkpoint_;
  Records records_;
  LedgerSizes file_;
  std::string complaint_;
  std::string history_;
  unsigned granted_ = 0;
  unsigned refused_ = 0;
  unsigned in_flight_ = 0;
};

}  // namespace tranche::core::ledger_life
