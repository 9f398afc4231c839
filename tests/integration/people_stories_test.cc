// SPDX-License-Identifier: Apache-2.0
//
// What people type, and what they are told.
#include <nlohmann/json.hpp>

#include "integration/node_story.h"

namespace tranche::tests {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;

using PeopleStory = NodeStory;

TEST_F(PeopleStory, DevicesShowsWhatARunningAgentKnows) {
  begin("hgx-h200");
  expect_allocatable(kGpu, 8);
  happens(sim::raise_xid(3, {.number = 79, .route = sim::Xid::Route::kBoth}));
  expect_allocatable(kGpu, 7);
  const auto shown = command({"devices"});
  EXPECT_EQ(shown.exit_code, 0);
  EXPECT_THAT(shown.output, ContainsRegex("Driver: 580.105.08, CUDA 13.0"));
  EXPECT_THAT(shown.output, ContainsRegex("Agent:  [0-9.]+, running since"));
  EXPECT_THAT(shown.output, ContainsRegex("INDEX +UUID +MODEL +MEMORY"));
  EXPECT_THAT(shown.output,
              ContainsRegex("0 +GPU-.* +NVIDIA H200 +140.4 GiB +0000:1b:00.0 +0 +healthy"));
  EXPECT_THAT(shown.output, HasSubstr("UNHEALTHY: XID 79: the GPU fell off the bus"));
  EXPECT_THAT(shown.output, ContainsRegex("nvidia.com/gpu +8 +8 +7 +7 +registered"));
}

TEST_F(PeopleStory, DevicesLooksForItselfWhereNoAgentRuns) {
  make_node("dgx-a100-mig-mixed");
  const auto shown = command({"devices", "--mig-strategy=mixed"});
  EXPECT_EQ(shown.exit_code, 0) << shown.error;
  EXPECT_THAT(shown.output, HasSubstr("not running here"));
  EXPECT_THAT(shown.output, HasSubstr("MIG 3g.20gb"));
  EXPECT_THAT(shown.output, ContainsRegex("nvidia.com/mig-1g.5gb +9 +9 +9 +9"));
  EXPECT_THAT(shown.output, HasSubstr("NOT OFFERED"));
}

TEST_F(PeopleStory, DevicesSpeaksJsonToPrograms) {
  begin("t4-quad");
  expect_allocatable(kGpu, 4);
  const auto json = nlohmann::json::parse(command({"devices", "-o", "json"}).output);
  EXPECT_EQ(json.at("driver").at("kind"), "nvml");
  EXPECT_EQ(json.at("gpus").size(), 4U);
  EXPECT_EQ(json.at("resources").at(0).at("name"), kGpu);
  EXPECT_EQ(json.at("resources").at(0).at("kubelet").at("registered"), true);
  EXPECT_EQ(json.at("resources").at(0).at("kubelet").at("registrations"), 1);
}

TEST_F(PeopleStory, DevicesFailsWhereThereIsNoDriver) {
  const auto shown = command({"devices"});
  EXPECT_EQ(shown.exit_code, 1);
  EXPECT_THAT(shown.output, HasSubstr("Driver: not reached"));
}

TEST_F(PeopleStory, CheckConfigSaysWhereEachValueCameFrom) {
  write("config.yaml", "version: v1\nflags: {migStrategy: single}\n");
  const auto shown =
      command({"check-config", "--config-file=" + path("config.yaml"), "--gds-enabled"});
  EXPECT_EQ(shown.exit_code, 0) << shown.error;
  EXPECT_THAT(shown.output, ContainsRegex("migStrategy: single +#.*config.yaml:2"));
  EXPECT_THAT(shown.output, ContainsRegex("gdsEnabled: true +#.*--gds-enabled"));
}

TEST_F(PeopleStory, CheckConfigFailsOnABadFile) {
  write("config.yaml", "version: v2\n");
  const auto shown = command({"check-config", "--config-file=" + path("config.yaml")});
  EXPECT_EQ(shown.exit_code, 1);
  EXPECT_THAT(shown.error, HasSubstr("unknown version"));
}

TEST_F(PeopleStory, HelpTeaches) {
  const auto help = command({"help"});
  EXPECT_EQ(help.exit_code, 0);
  EXPECT_THAT(help.output, HasSubstr("--mig-strategy"));
  EXPECT_THAT(help.output, HasSubstr("Examples:"));
}

TEST_F(PeopleStory, ATypoIsAnsweredWithWhatWasMeant) {
  EXPECT_THAT(command({"devcies"}).error, HasSubstr("did you mean 'devices'?"));
  const auto flag = command({"--mig-stategy=mixed"});
  EXPECT_EQ(flag.exit_code, 1);
  EXPECT_THAT(flag.error, HasSubstr("mig-strategy"));
  EXPECT_THAT(command({"devices", "-o", "xml"}).error, HasSubstr("allowed: table, json, pods"));
  EXPECT_THAT(command({"numbers", "-o", "pods"}).error, HasSubstr("allowed: table, json)"));
}

TEST_F(PeopleStory, AGpuInTheWrongPlaceIsAnsweredWithTheRightOne) {
  EXPECT_THAT(command({"release", "--gpu", "3"}).error,
              HasSubstr("release takes GPUs without a flag: `release 3`"));
  EXPECT_THAT(command({"resume", "0"}).error,
              HasSubstr("resume takes no GPU: it ends the whole release"));
  EXPECT_THAT(command({"devices", "gpu", "3"}).error,
              HasSubstr("to see one GPU: `devices --gpu 3`"));
}

TEST_F(PeopleStory, ACommandsHelpIsItsOwn) {
  const auto help = command({"release", "--help"});
  EXPECT_EQ(help.exit_code, 0);
  EXPECT_THAT(help.output, testing::AllOf(HasSubstr("release [GPU...] [flags]"),
                                          HasSubstr("--help' has every flag"),
                                          testing::Not(HasSubstr("--mig-strategy"))));
}

TEST_F(PeopleStory, ReleaseSaysWhereNoAgentRuns) {
  const auto released = command({"release"});
  EXPECT_EQ(released.exit_code, 1);
  EXPECT_THAT(released.error,
              testing::AllOf(HasSubstr(": node "), HasSubstr("no agent runs here")));
}

TEST_F(PeopleStory, LogsAreJsonWhereThatIsAskedFor) {
  begin("t4-single", {"--log-format=json"});
  expect_allocatable(kGpu, 1);
  for (const auto& line : agent_->lines()) {
    EXPECT_TRUE(nlohmann::json::accept(line.text)) << line.text;
  }
}

}  // namespace
}  // namespace tranche::tests
