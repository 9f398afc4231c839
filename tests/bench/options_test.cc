// SPDX-License-Identifier: Apache-2.0
#include "bench/options.h"

#include <gtest/gtest.h>

#include "bench/scenario.h"

namespace tranche::bench {
namespace {

TEST(BenchOptions, AreReadFromTheCommandLine) {
  EXPECT_EQ(*parse_options({}), Options{});
  EXPECT_EQ(*parse_options({"--quick", "-o", "json"}), (Options{.quick = true, .json = true}));
  EXPECT_EQ(*parse_options({"-o", "table"}), Options{});
  EXPECT_TRUE(parse_options({"--help"})->help);
}

TEST(BenchOptions, NameTheirMistakes) {
  EXPECT_EQ(parse_options({"--fast"}).error().message,
            "--fast: unknown flag; --help lists all of them");
  EXPECT_EQ(parse_options({"-o"}).error().message, "-o: needs a value; write -o=table");
  EXPECT_EQ(parse_options({"-o", "xml"}).error().message,
            "-o xml: unknown format xml (allowed: table, json)");
}

TEST(Scenarios, GoUpToWhatTheKubeletTakes) {
  unsigned most = 0;
  for (const Scenario& scenario : scenarios(false)) most = std::max(most, scenario.replicas);
  EXPECT_EQ(most, 7000U);
}

TEST(Scenarios, RestForAWholeHeartbeatWithTheApiFeatures) {
  EXPECT_EQ(api_scenario(false).node.rest, std::chrono::minutes(3));
  EXPECT_EQ(api_scenario(false).pods, 100);
  EXPECT_LT(api_scenario(true).node.rest, std::chrono::seconds(1));
}

TEST(Scenarios, NeedAFileOnlyForShares) {
  EXPECT_EQ(config_of({}), "");
  EXPECT_EQ(config_of({.replicas = 3}),
            "version: v1\nsharing: {timeSlicing: {resources: [{name: gpu, replicas: 3}]}}\n");
  EXPECT_EQ(config_of({.unit = "1GiB"}),
            "version: v1\ntranche: {policies: [{resource: example.com/gpu-memory, share: memory, "
            "unit: 1GiB}]}\n");
}

}  // namespace
}  // namespace tranche::bench
