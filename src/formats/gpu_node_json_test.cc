// SPDX-License-Identifier: Apache-2.0
#include "formats/gpu_node_json.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <limits>
#include <random>

#include <nlohmann/json.hpp>

#include "core/gpu/testing/literals.h"
#include "core/placement/fit.h"
#include "core/placement/prefer.h"
#include "core/report/prediction.h"
#include "core/sharing/offer.h"
#include "core/sharing/share_id.h"

namespace tranche::formats {
namespace {

using nlohmann::ordered_json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::uint64_t kGiB = 1ULL << 30;

ResourcePolicy row(const char* name, ShareForm form, SharePlacement placement, unsigned replicas) {
  ResourcePolicy policy{.resource = ResourceName(name), .replicas = replicas, .unit = kGiB};
  policy.terms.form = form;
  policy.terms.placement = placement;
  return policy;
}

// Four GPUs in NVLink pairs, one with MIG devices, under every form and placement.
Inventory a_rich_node() {
  Inventory node =
      an_inventory({a_gpu(0), a_gpu(1), a_gpu(2), a_gpu(3), a_cut_gpu(4, {k1g10gb, k3g40gb})});
  for (Gpu& gpu : node.gpus) {
    gpu.numa_node = gpu.index / 2;
    gpu.memory_bytes = (gpu.index % 2 == 0 ? 24 : 16) * kGiB;
    gpu.driver_index = gpu.index;
    for (MigDevice& mig : gpu.mig) mig.memory_bytes = 6 * kGiB;
  }
  for (std::size_t a = 0; a < 4; ++a) {
    for (std::size_t b = a + 1; b < 4; ++b) {
      node.topology.set(a, b,
                        {a / 2 == b / 2 ? PcieDistance::kOneSwitch : PcieDistance::kSameNode,
                         a / 2 == b / 2 ? 4U : 0U});
    }
  }
  node.cuda_version = "13.0";
  return node;
}

std::vector<ResourcePolicy> every_policy() {
  std::vector<ResourcePolicy> rows{row("a.b/whole", ShareForm::kWhole, SharePlacement::kPack, 1)};
  const std::pair<const char*, SharePlacement> placements[] = {
      {"spread", SharePlacement::kSpread},
      {"pack", SharePlacement::kPack},
      {"distributed", SharePlacement::kDistributed},
      {"packed", SharePlacement::kPacked}};
  for (const auto& [name, placement] : placements) {
    rows.push_back(row((std::string("a.b/r-") + name).c_str(), ShareForm::kReplicas, placement, 5));
    rows.push_back(row((std::string("a.b/m-") + name).c_str(), ShareForm::kMemory, placement, 1));
    rows.back().terms.one_device = true;
  }
  rows.back().terms.shown = ShownSize::kLargestBlock;
  rows[1].terms.distinct_gpus = true;
  return rows;
}

GpuNode a_full_node() {
  Inventory inventory = a_rich_node();
  inventory.gpus[1].health.troubles = {"XID 79"};
  inventory.remedies = {{"GPU-1", "XID 79", "a reboot of the node"}};
  const Catalog catalog =
      offer(inventory, {.mig = MigStrategy::kMixed, .policies = every_policy()});
  const Ledger ledger{.holdings = {{"a.b/whole", {"ml", "a", "u", "c"}, {"GPU-2"}}}};
  return gpu_node(inventory, catalog, &ledger, "",
                  {.version = "0.1",
                   .started = "2026-11-18T00:00:00Z",
                   .boot_id = "b",
                   .config_file = "/config/config.yaml",
                   .config_name = "small",
                   .config_generation = 3,
                   .config_refused = 1,
                   .last_refusal = "line 2"});
}

TEST(GpuNodeJson, SurvivesARoundTrip) {
  const GpuNode node = a_full_node();
  const auto reading =
      parse_gpu_node_status(with_observed_at(gpu_node_status(node), "2026-11-18T01:02:03Z"));
  ASSERT_TRUE(reading) << reading.error().message;
  EXPECT_EQ(reading->observed_at, "2026-11-18T01:02:03Z");
  EXPECT_THAT(reading->not_understood, IsEmpty());
  EXPECT_EQ(gpu_node_status(reading->node), gpu_node_status(node));
  EXPECT_EQ(reading->node.topology, node.topology);
  EXPECT_EQ(reading->node.holders, node.holders);
  EXPECT_EQ(reading->node.remedies, node.remedies);
  EXPECT_EQ(reading->node.agent, node.agent);
}

TEST(GpuNodeJson, HasColumnsForPeople) {
  const ordered_json json = ordered_json::parse(gpu_node_status(a_full_node()));
  const ordered_json& summary = json["summary"];
  EXPECT_EQ(summary["gpus"], 5);
  EXPECT_EQ(summary["healthyGpus"], 4);
  EXPECT_EQ(summary["models"], "5x H100 80GB HBM3");
  EXPECT_EQ(summary["memory"], "104Gi");
  EXPECT_EQ(summary["held"], "1 container on 1 GPU");
  EXPECT_EQ(summary["health"], "1 of 5 unhealthy: GPU 1: XID 79");
  EXPECT_EQ(json["gpus"][1]["reasons"][0]["clearedBy"], "a reboot of the node");
}

TEST(GpuNodeJson, FitsEtcdAndTheSchema) {
  GpuNode node = a_full_node();
  node.gpus.push_back(node.gpus.front());
  node.gpus.front().memory_bytes = std::numeric_limits<std::uint64_t>::max();
  node.holders.assign(20'000, node.holders.front());
  const std::string status = gpu_node_status(node);
  EXPECT_LE(status.size(), 1'000'000U);
  const ordered_json json = ordered_json::parse(status);
  EXPECT_EQ(json["gpus"].size() + 1, node.gpus.size());
  EXPECT_EQ(json["gpus"][0]["memoryBytes"], std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(json["leftOut"], ordered_json::array({"holders"}));
  EXPECT_EQ(json["resources"].size(), node.resources.size());
}

TEST(GpuNodeJson, IsReadWithFieldsOfANewerAgent) {
  ordered_json json = ordered_json::parse(gpu_node_status(a_full_node()));
  json["temperature"] = 40;
  json["gpus"][0]["bridge"] = {{"a", 1}};
  json["resources"][0]["devices"][0]["queue"] = "x";
  json["links"][0]["pcie"] = "optical";
  json["resources"][1]["placement"] = "by-weather";
  const auto reading = parse_gpu_node_status(json.dump());
  ASSERT_TRUE(reading) << reading.error().message;
  EXPECT_THAT(reading->not_understood,
              ElementsAre(json["resources"][1]["name"].get<std::string>()));
  EXPECT_EQ(reading->node.resources.size() + 1, json["resources"].size());
  EXPECT_EQ(reading->node.topology.between(0, 1).pcie, PcieDistance::kUnknown);
}

TEST(GpuNodeJson, IsReadWithoutFieldsOfAnOlderAgent) {
  const auto reading =
      parse_gpu_node_status(R"({"gpus":[{"slot":0,"uuid":"GPU-0"}],)"
                            R"("resources":[{"name":"a.b/c","share":"whole","placement":"pack",)"
                            R"("devices":[{"uuid":"GPU-0","gpuSlot":0}]}]})");
  ASSERT_TRUE(reading) << reading.error().message;
  // What is not said to be healthy is not.
  EXPECT_FALSE(reading->node.gpus.at(0).health.ok());
  EXPECT_FALSE(reading->node.resources.at(0).offer.devices.at(0).health.ok());
  EXPECT_FALSE(reading->node.holders_known);
}

TEST(GpuNodeJson, RefusesWhatIsNoStatus) {
  const std::pair<const char*, const char*> texts[] = {
      {"", "parse error"},
      {"[]", "the status is not an object"},
      {R"({"gpus": 3})", "gpus is not a list"},
      {R"({"gpus": [7]})", "a GPU is not an object"},
      {R"({"gpus": [{"slot": -1, "uuid": "a"}]})", "slot is -1"},
      {R"({"resources": [{"name": "a", "share": "whole", "placement": "pack",)"
       R"("devices": [{"uuid": "u", "gpuSlot": 0, "shares": 4000000000}]}]})",
       "shares is 4000000000"}};
  for (const auto& [text, reason] : texts) {
    const auto reading = parse_gpu_node_status(text);
    ASSERT_FALSE(reading) << text;
    EXPECT_THAT(reading.error().message, HasSubstr(reason));
  }
}

// A container of `shares` shares, as the agent and the kubelet choose them.
Result<std::map<std::string, std::size_t>> agents_choice(const Catalog& catalog, const Offer& offer,
                                                         const Ledger& ledger,
                                                         const Topology& topology,
                                                         std::size_t shares, std::mt19937& random) {
  const OfferRoom room = Coverage(catalog, ledger).room(offer);
  const OfferRoom listed = shown(offer, room);
  std::vector<std::string> free;
  for (std::size_t i = 0; i < offer.devices.size(); ++i) {
    const OfferedDevice& device = offer.devices[i];
    unsigned left = device.health.ok() ? listed[i].free : 0;
    for (unsigned number = 0; number < device.shares() && left > 0; ++number) {
      if (std::ranges::count(listed[i].held, number) > 0) continue;
      --left;
      free.push_back(share_id(device.uuid, device.tag,
                              device.replicas ? std::optional(number) : std::nullopt));
    }
  }
  if (free.size() < shares) return Error{ErrorCode::kUnavailable, "too few"};
  std::ranges::shuffle(free, random);
  auto chosen = prefer(offer, room, topology, {{free.begin(), free.end()}, {}, shares});
  for (const std::string& id : free) {  // as the kubelet does
    if (chosen.size() < shares && std::ranges::count(chosen, id) == 0) chosen.emplace_back(id);
  }
  if (const Status fitting = fits(offer, &room, chosen); !fitting) return fitting.error();
  std::map<std::string, std::size_t> counts;
  for (const std::string_view id : chosen) ++counts[offer.find(id)->uuid];
  return counts;
}

// Some random containers, each on what the ones before left.
Ledger a_busy_ledger(const Catalog& catalog, const Topology& topology, std::mt19937& random) {
  Ledger ledger;
  for (int i = 0; i < 6; ++i) {
    const Offer& offer = catalog.offers[random() % catalog.offers.size()];
    const OfferRoom room = Coverage(catalog, ledger).room(offer);
    std::vector<std::string> free;
    for (std::size_t d = 0; d < offer.devices.size(); ++d) {
      for (unsigned number = 0; number < offer.devices[d].shares(); ++number) {
        if (room[d].free == 0 || std::ranges::count(room[d].held, number) > 0) continue;
        free.push_back(share_id(offer.devices[d].uuid, offer.devices[d].tag,
                                offer.devices[d].replicas ? std::optional(number) : std::nullopt));
      }
    }
    if (free.empty()) continue;
    const std::size_t size = 1 + random() % std::min<std::size_t>(free.size(), 5);
    auto chosen = prefer(offer, room, topology, {{free.begin(), free.end()}, {}, size});
    if (!fits(offer, &room, chosen) || !Coverage(catalog, ledger).admits(offer, chosen)) continue;
    std::vector<std::string> ids(chosen.begin(), chosen.end());
    std::ranges::sort(ids);
    ledger.holdings.push_back(
        {offer.name.text, {"n", "p" + std::to_string(i), "", "c"}, std::move(ids)});
    std::ranges::sort(ledger.holdings);
  }
  return ledger;
}

TEST(GpuNodeJson, IsEnoughToPredictTheAgentsChoiceUnderEveryPolicy) {
  std::mt19937 random(1);
  unsigned choices = 0;
  unsigned refusals = 0;
  for (int life = 0; life < 60; ++life) {
    Inventory inventory = a_rich_node();
    if (life % 3 == 0) inventory.gpus[random() % 5].health.troubles = {"XID 79"};
    const Catalog catalog =
        offer(inventory, {.mig = MigStrategy::kMixed, .policies = every_policy()});
    const Ledger ledger = a_busy_ledger(catalog, inventory.topology, random);
    const auto reading =
        parse_gpu_node_status(gpu_node_status(gpu_node(inventory, catalog, &ledger, "", {})));
    ASSERT_TRUE(reading) << reading.error().message;
    ASSERT_EQ(reading->node.resources.size(), catalog.offers.size());
    for (std::size_t i = 0; i < catalog.offers.size(); ++i) {
      for (const std::size_t shares : {1U, 2U, 3U, 7U}) {
        const auto wanted =
            agents_choice(catalog, catalog.offers[i], ledger, inventory.topology, shares, random);
        const auto predicted = predict(reading->node.resources[i], reading->node.topology, shares);
        ASSERT_EQ(static_cast<bool>(predicted), static_cast<bool>(wanted))
            << catalog.offers[i].name.text << " " << shares << ": "
            << (predicted ? wanted.error().message : predicted.error().message);
        wanted ? ++choices : ++refusals;
        if (wanted) {
          ASSERT_EQ(*predicted, *wanted) << catalog.offers[i].name.text << " " << shares;
        }
      }
    }
  }
  EXPECT_GT(choices, 500U);
  EXPECT_GT(refusals, 50U);
}

}  // namespace
}  // namespace tranche::formats
