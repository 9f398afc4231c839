// SPDX-License-Identifier: Apache-2.0
#include "bench/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace tranche::bench {
namespace {

using testing::Contains;
using testing::Field;
using testing::HasSubstr;

Measurement one(const std::string& name, std::size_t devices, double agent, double floor) {
  Measurement measurement{.scenario = name, .devices = devices, .replicated = true};
  measurement.agent.allocate = {.p50_us = agent, .p99_us = 2 * agent};
  measurement.floor.allocate = {.p50_us = floor, .p99_us = 2 * floor};
  measurement.agent.prefer.p50_us = static_cast<double>(devices);
  measurement.agent.listed.resident_kib = 3072;
  measurement.floor.listed.resident_kib = 2048;
  return measurement;
}

const Aim& aim(const std::vector<Aim>& aims, const std::string& begin) {
  return *std::ranges::find_if(aims, [&](const Aim& each) { return each.text.starts_with(begin); });
}

TEST(Figures, HaveTheRatioOfAgentToFloor) {
  const auto figures = figures_of({.measurements = {one("small", 8, 110, 100)}});
  EXPECT_THAT(figures, Contains(Figure{"Allocate p50", "small", "us", 110, 100}));
  EXPECT_THAT(figures, Contains(Figure{"memory, listed", "small", "MiB", 3, 2}));
  EXPECT_DOUBLE_EQ((Figure{.agent = 110, .floor = 100}.ratio()), 1.1);
  EXPECT_DOUBLE_EQ((Figure{.agent = 1, .floor = 0}.ratio()), 0);
}

TEST(Figures, OfRestAreThereOnlyWhereItWasMeasured) {
  Measurement watched = one("watched", 8, 1, 1);
  watched.agent.rest = Rest{.cpu_us_per_s = 7, .driver_us_per_s = 4, .wakes_per_s = 2};
  watched.floor.rest = Rest{.cpu_us_per_s = 3, .wakes_per_s = 1};
  const auto figures = figures_of({.measurements = {one("not", 8, 1, 1), watched}});
  EXPECT_THAT(figures, Contains(Figure{"CPU at rest", "watched", "us/s", 7, 3}));
  EXPECT_THAT(figures, Contains(Field(&Figure::what, "CPU at rest")).Times(1));
  EXPECT_THAT(figures,
              Contains(Figure{"CPU at rest, without the driver", "watched", "us/s", 3, 3}));
}

TEST(Aims, AreJudgedByTheWorstNode) {
  const auto aims =
      aims_of({.measurements = {one("small", 80, 110, 100), one("large", 800, 140, 100)}});
  EXPECT_EQ(aim(aims, "Allocate").where, "large");
  EXPECT_DOUBLE_EQ(aim(aims, "Allocate").worst, 1.4);
  EXPECT_FALSE(aim(aims, "Allocate").is_met());
  EXPECT_DOUBLE_EQ(aim(aims, "memory").worst, 1.5);
  EXPECT_TRUE(aim(aims, "memory").is_met());
}

TEST(Aims, SeeWhenTimeGrowsFasterThanTheIds) {
  Measurement large = one("large", 800, 1, 1);
  EXPECT_DOUBLE_EQ(
      aim(aims_of({.measurements = {one("small", 80, 1, 1), large}}), "GetPreferred").worst, 1);
  large.agent.prefer.p50_us = 8000;
  const auto aims = aims_of({.measurements = {one("small", 80, 1, 1), large}});
  EXPECT_DOUBLE_EQ(aim(aims, "GetPreferred").worst, 2);
  EXPECT_EQ(aim(aims, "GetPreferred").where, "small to large");
  EXPECT_FALSE(aim(aims, "GetPreferred").is_met());
}

TEST(Text, IsATableWithAimsBelow) {
  const std::string text = to_text({.measurements = {one("small", 8, 110, 100)}});
  EXPECT_THAT(text, HasSubstr("| Allocate p50 "));
  EXPECT_THAT(text, HasSubstr(" 1.10 |\n"));
  EXPECT_THAT(text, HasSubstr("| met"));
}

TEST(Json, HasTheSameFigures) {
  const auto json = nlohmann::json::parse(to_json({.measurements = {one("small", 8, 110, 100)}}));
  EXPECT_EQ(json["figures"].size(), figures_of({.measurements = {one("small", 8, 1, 1)}}).size());
  EXPECT_EQ(json["figures"][2]["figure"], "Allocate p50");
  EXPECT_EQ(json["nodes"][0]["devices"], 8);
  EXPECT_EQ(json["aims"][0]["met"], true);
}

}  // namespace
}  // namespace tranche::bench
