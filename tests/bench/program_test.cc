// SPDX-License-Identifier: Apache-2.0
//
// The program as `make bench` runs it, but quick.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <set>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "testbed/process/agent_process.h"

namespace tranche::bench {
namespace {

using testing::HasSubstr;
using testing::IsSupersetOf;

constexpr std::chrono::seconds kPatience{240};

struct Ran {
  int exit_code = -1;
  std::string output;
  std::string error;
};

Ran run(std::vector<std::string> words) {
  words.insert(words.begin(), TRANCHE_BENCH);
  const auto started = standin::AgentProcess::start({.command = std::move(words)});
  EXPECT_TRUE(started);
  const auto end = (*started)->wait_for_end(kPatience);
  EXPECT_TRUE(end) << end.error().message;
  Ran ran{.exit_code = end ? end->exit_code : -1};
  for (const auto& line : (*started)->lines()) {
    (line.stream == standin::AgentProcess::Stream::kOutput ? ran.output : ran.error) +=
        line.text + "\n";
  }
  return ran;
}

TEST(BenchProgram, MeasuresEveryFigureOfEveryNodeOnBothSides) {
  const Ran ran = run({"--quick", "-o", "json"});
  ASSERT_EQ(ran.exit_code, 0) << ran.error;
  const auto json = nlohmann::json::parse(ran.output);
  ASSERT_EQ(json["nodes"].size(), 4U);
  std::set<std::string> kinds;
  for (const auto& figure : json["figures"]) {
    const std::string what = figure["figure"];
    kinds.insert(what);
    // Nothing happening is what we hope for.
    if (what.find("at rest") != std::string::npos) continue;
    EXPECT_GT(figure["agent"], 0) << figure;
    EXPECT_GT(figure["floor"], 0) << figure;
    EXPECT_GT(figure["ratio"], 0) << figure;
  }
  EXPECT_THAT(kinds, IsSupersetOf({"start to registered", "registered to first list",
                                   "Allocate p50", "Allocate p99", "GetPreferredAllocation p50",
                                   "GetPreferredAllocation p99", "memory, listed", "CPU at rest",
                                   "kubelet restart to registered", "SIGTERM to end"}));
  ASSERT_EQ(json["api"].size(), 8U);
  EXPECT_EQ(json["api"][0]["figure"], "memory at rest");
  EXPECT_GT(json["api"][0]["on"], 0);
  EXPECT_GT(json["api"][0]["off"], 0);
  EXPECT_EQ(json["aims"].size(), 8U);
}

TEST(BenchProgram, RefusesAFlagThatItDoesNotKnow) {
  const Ran ran = run({"--quik"});
  EXPECT_EQ(ran.exit_code, 1);
  EXPECT_THAT(ran.error, HasSubstr("--quik: unknown flag; did you mean --quick?"));
}

TEST(BenchProgram, ExplainsItself) {
  const Ran ran = run({"--help"});
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_THAT(ran.output, HasSubstr("--quick"));
}

}  // namespace
}  // namespace tranche::bench
