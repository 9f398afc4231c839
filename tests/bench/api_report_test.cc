// SPDX-License-Identifier: Apache-2.0
#include "bench/api_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace tranche::bench {
namespace {

using testing::Contains;
using testing::HasSubstr;

// With 16 MiB beside 8.
ApiMeasurement measured() {
  return {.scenario = "small",
          .on = {.memory = {.resident_kib = 16384},
                 .rest = {.cpu_us_per_s = 9, .driver_us_per_s = 4, .wakes_per_s = 3}},
          .off = {.memory = {.resident_kib = 8192}, .rest = {.cpu_us_per_s = 6}},
          .writes_per_min = 60.0 / 180,
          .written_bytes_per_min = 2048};
}

TEST(ApiFigures, ShowTheFeaturesOnAndOff) {
  const auto figures = api_figures(measured());
  EXPECT_THAT(figures, Contains(ApiFigure{"memory at rest", "MiB", 16, 8}));
  EXPECT_THAT(figures, Contains(ApiFigure{"CPU at rest, without the driver", "us/s", 5, 6}));
  EXPECT_THAT(figures, Contains(ApiFigure{"written at rest", "KiB/min", 2, 0}));
  EXPECT_DOUBLE_EQ(figures[0].ratio(), 2);
  EXPECT_DOUBLE_EQ((ApiFigure{.on = 1}.ratio()), 0);
}

TEST(ApiAims, Are20MegabytesAndTheHeartbeat) {
  ApiMeasurement one = measured();
  for (const Aim& aim : api_aims(one)) EXPECT_TRUE(aim.is_met()) << aim.text;
  one.on.memory.resident_kib = 19'532;  // 20.001 MB
  one.writes_per_min *= 2;
  for (const Aim& aim : api_aims(one)) EXPECT_FALSE(aim.is_met()) << aim.text;
}

TEST(ApiFigures, AreInTheReportWhereTheyWereMeasured) {
  EXPECT_THAT(to_text({.api = measured()}), HasSubstr("  on |  off | ratio |"));
  const auto json = nlohmann::json::parse(to_json({.api = measured()}));
  EXPECT_EQ(json["api"].size(), api_figures(measured()).size());
  EXPECT_EQ(json["api"][0]["on"], 16);
  EXPECT_EQ(json["aims"].size(), aims_of({}).size() + 2);
  EXPECT_FALSE(nlohmann::json::parse(to_json({})).contains("api"));
}

}  // namespace
}  // namespace tranche::bench
