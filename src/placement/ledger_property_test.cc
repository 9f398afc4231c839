// SPDX-License-Identifier: Apache-2.0
//
// Whatever happens in whatever order, nothing is given twice: a kubelet and an
// agent as values, and long random lives of both.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "gpu/testing/literals.h"
#include "ledger/coverage.h"
#include "ledger/records.h"
#include "placement/fit.h"
#include "placement/prefer.h"
#include "sharing/offer.h"
#include "sharing/share_id.h"

namespace tranche {
namespace {

constexpr std::uint64_t kGiB = 1ULL << 30;

struct Container {
  std::string resource;
  std::vector<std::string> ids;
  std::string uid;
  bool alive = true;
};

// One node: the kubelet's truth, its lagging view of our lists, and an agent
// that can lose all it remembers.
class World {
 public:
  World(std::vector<ResourcePolicy> rows, unsigned seed) : random_(seed) {
    node_ = a_node(3);
    node_.gpus[0].memory_bytes = 16 * kGiB;
    node_.gpus[1].memory_bytes = 24 * kGiB;
    node_.gpus[2].memory_bytes = 16 * kGiB;
    policy_.policies = std::move(rows);
    renew_catalog();
    read_sources();
    for (const Offer& offer : catalog_.offers) deliver_list(offer);
  }

  void step() {
    now_ += std::chrono::milliseconds(random_() % 2000);
    switch (random_() % 10) {
      case 0:
      case 1:
      case 2: return start_container();
      case 3:
      case 4: return end_container();
      case 5:
      case 6: return deliver_list(catalog_.offers[random_() % catalog_.offers.size()]);
      case 7: return read_sources();
      case 8: return restart_agent();
      case 9: return random_() % 2 == 0 ? break_or_mend() : write_checkpoint();
    }
  }

  void check() const {
    std::map<std::string, std::uint64_t> bytes;
    std::map<std::string, std::set<std::string>> holders;
    std::set<std::string> seen;
    std::set<std::string> whole;
    for (const Container& container : containers_) {
      if (!container.alive) continue;
      const Offer& offer = named(container.resource);
      for (const std::string& id : container.ids) {
        const OfferedDevice* device = offer.find(id);
        ASSERT_NE(device, nullptr);
        ASSERT_TRUE(seen.insert(container.resource + " " + id).second) << id << " is held twice";
        bytes[device->uuid] += device->share_bytes;
        holders[device->uuid].insert(container.uid);
        if (!device->replicas) whole.insert(device->uuid);
      }
    }
    for (const Gpu& gpu : node_.gpus) {
      ASSERT_LE(bytes[gpu.uuid.text], gpu.memory_bytes) << gpu.uuid.text << " is given too often";
      if (whole.contains(gpu.uuid.text)) {
        ASSERT_EQ(holders[gpu.uuid.text].size(), 1U) << gpu.uuid.text << " is not whole";
      }
    }
  }

  unsigned granted() const { return granted_; }
  unsigned refused() const { return refused_; }

 private:
  const Offer& named(const std::string& name) const {
    return *std::ranges::find(catalog_.offers, ResourceName(name), &Offer::name);
  }

  void renew_catalog() {
    catalog_ = offer(node_, policy_);
    for (Offer& offer : catalog_.offers) {
      offer.terms.one_device = offer.terms.form == ShareForm::kMemory;
    }
  }

  // What the kubelet takes for healthy and free.
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
    forget_ended();  // the kubelet does, before it allocates
    const Offer& offer = catalog_.offers[random_() % catalog_.offers.size()];
    std::vector<std::string> free = available(offer.name.text);
    if (free.empty()) return;
    const std::size_t size = 1 + random_() % std::min<std::size_t>(free.size(), 12);
    std::shuffle(free.begin(), free.end(), random_);
    const Ledger ledger = present(records_);
    const Coverage coverage(catalog_, ledger);
    const OfferRoom room = coverage.room(offer);
    std::vector<std::string_view> ids{free.begin(), free.end()};
    if (size < free.size()) ids = prefer(offer, room, {}, {{free.begin(), free.end()}, {}, size});
    ids.resize(std::min(ids.size(), size));
    const bool healthy =
        std::ranges::all_of(ids, [&](std::string_view id) { return offer.find(id)->health.ok(); });
    if (!healthy || !fits(offer, &room, ids) || !coverage.admits(offer, ids)) {
      ++refused_;
      return;
    }
    FreshGrant grant{offer.name.text, {ids.begin(), ids.end()}, now_};
    std::ranges::sort(grant.shares);
    records_ = with_grant(std::move(records_), grant);
    containers_.push_back({offer.name.text, grant.shares, "uid-" + std::to_string(++granted_)});
    write_checkpoint();
  }

  void end_container() {
    if (containers_.empty()) return;
    containers_[random_() % containers_.size()].alive = false;
  }

  // The newest list reaches the kubelet, which writes its checkpoint then.
  void deliver_list(const Offer& offer) {
    const Ledger ledger = present(records_);
    const OfferRoom room = shown(offer, Coverage(catalog_, ledger).room(offer));
    std::set<std::string>& healthy = listed_[offer.name.text];
    healthy.clear();
    for (std::size_t i = 0; i < offer.devices.size(); ++i) {
      const OfferedDevice& device = offer.devices[i];
      if (!device.health.ok()) continue;
      unsigned free = room[i].free;
      for (unsigned n = 0; n < device.shares(); ++n) {
        const bool held = std::ranges::binary_search(room[i].held, n);
        if (!held && free == 0) continue;
        if (!held) --free;
        healthy.insert(
            share_id(device.uuid, device.tag, device.replicas ? std::optional(n) : std::nullopt));
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
    records_ = with_reading(std::move(records_), reading);
  }

  // It forgets everything, and does not serve before it has read the checkpoint.
  void restart_agent() {
    records_ = {};
    read_sources();
  }

  void break_or_mend() {
    auto& troubles = node_.gpus[random_() % node_.gpus.size()].health.troubles;
    troubles.empty() ? troubles.push_back("lost") : troubles.clear();
    renew_catalog();
  }

  std::mt19937 random_;
  Inventory node_;
  SharingPolicy policy_;
  Catalog catalog_;
  LedgerTime now_;
  std::vector<Container> containers_;
  std::map<std::string, std::set<std::string>> listed_;
  std::vector<Holding> checkpoint_;
  Records records_;
  unsigned granted_ = 0;
  unsigned refused_ = 0;
};

ResourcePolicy row(const char* name, ShareForm form, unsigned replicas = 1) {
  ResourcePolicy policy{.resource = ResourceName(name), .replicas = replicas, .unit = kGiB};
  policy.terms.form = form;
  policy.terms.placement = SharePlacement::kPack;
  return policy;
}

void live_long(const std::vector<ResourcePolicy>& rows) {
  unsigned granted = 0;
  unsigned refused = 0;
  for (unsigned seed = 0; seed < 20; ++seed) {
    World world(rows, seed);
    for (int step = 0; step < 400; ++step) {
      world.step();
      world.check();
      if (testing::Test::HasFatalFailure()) FAIL() << "seed " << seed << ", step " << step;
    }
    granted += world.granted();
    refused += world.refused();
  }
  EXPECT_GT(granted, 500U) << "the lives were too quiet to show anything";
  EXPECT_GT(refused, 0U) << "and Allocate was never the last line";
}

TEST(NothingIsGivenTwice, UnderThreeNamesOfOneGpu) {
  live_long({row("nvidia.com/gpu", ShareForm::kWhole),
             row("aliyun.com/gpu-mem", ShareForm::kMemory),
             row("deepomatic.com/shared-gpu", ShareForm::kReplicas, 8)});
}

TEST(NothingIsGivenTwice, UnderTwoNamesThatBothCountMemory) {
  ResourcePolicy coarse = row("example.com/coarse", ShareForm::kMemory);
  coarse.unit = 4 * kGiB;
  live_long({row("aliyun.com/gpu-mem", ShareForm::kMemory), coarse});
}

TEST(NothingIsGivenTwice, WhereTheLargestBlockIsShown) {
  ResourcePolicy memory = row("aliyun.com/gpu-mem", ShareForm::kMemory);
  memory.terms.shown = ShownSize::kLargestBlock;
  live_long({memory, row("nvidia.com/gpu", ShareForm::kWhole)});
}

}  // namespace
}  // namespace tranche
