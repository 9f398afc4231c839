// SPDX-License-Identifier: Apache-2.0
//
// An index in the configuration goes on meaning the same slot, whatever the
// driver counts.
#include <nlohmann/json.hpp>

#include "integration/node_story.h"

namespace tranche::tests {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kSecond = "example.com/second";

// Four GPUs: 0 and 1 as nvidia.com/gpu, 2 by a policy, 3 excluded.
class NumberStory : public NodeStory {
 protected:
  void begin_with_four(std::vector<std::string> flags = {}) {
    write("config.yaml",
          "version: v1\n"
          "tranche:\n"
          "  excludeDevices: [3]\n"
          "  policies: [{resource: example.com/second, devices: [2]}]\n");
    flags.push_back("--config-file=" + path("config.yaml"));
    flags_ = flags;
    begin("t4-quad", flags);
    expect_allocatable(kGpu, 2);
    expect_allocatable(kSecond, 1);
    const auto world = node_->world();
    ASSERT_TRUE(world);
    for (const sim::Gpu& gpu : world->gpus) uuids_.push_back(gpu.uuid.text);
  }

  // Reads the driver in a fresh session.
  void reopen() {
    EXPECT_EQ(command({"release"}).exit_code, 0);
    expect_allocatable(kGpu, 0);
    EXPECT_EQ(command({"resume"}).exit_code, 0);
  }

  nlohmann::json devices() {
    return nlohmann::json::parse(command({"devices", "-o", "json"}).output);
  }

  // What the configuration keeps back.
  std::vector<std::string> not_offered() {
    std::vector<std::string> uuids;
    const auto json = devices();
    for (const auto& gpu : json.at("notOffered")) uuids.push_back(gpu.at("uuid"));
    return uuids;
  }

  std::vector<std::string> shown() {
    std::vector<std::string> rows;
    const auto json = devices();
    for (const auto& gpu : json.at("gpus")) {
      rows.push_back(gpu.at("index").dump() + "=" + gpu.at("uuid").get<std::string>() + " driver " +
                     gpu.at("driverIndex").dump());
    }
    return rows;
  }

  std::string row(unsigned number, const std::string& driver_index) {
    return std::to_string(number) + "=" + uuids_.at(number) + " driver " + driver_index;
  }

  // GPU 1 is off the bus, and the driver counts three.
  void expect_the_same_slots() {
    expect_allocatable(kGpu, 1);
    expect_allocatable(kSecond, 1);
    EXPECT_EQ(granted("pod", {{kSecond, 1}}).envs.at("NVIDIA_VISIBLE_DEVICES"), uuids_[2]);
    remove("pod");
    EXPECT_THAT(shown(), ElementsAre(row(0, "0"), row(1, "null"), row(2, "1"), row(3, "2")));
    EXPECT_THAT(not_offered(), ElementsAre(uuids_[3]));
  }

  void expect_all_four() {
    expect_allocatable(kGpu, 2);
    expect_allocatable(kSecond, 1);
    EXPECT_THAT(shown(), ElementsAre(row(0, "0"), row(1, "1"), row(2, "2"), row(3, "3")));
  }

  std::vector<std::string> flags_;
  std::vector<std::string> uuids_;
};

TEST_F(NumberStory, IndexesMeanTheSameSlotsAfterARestartWithoutAGpu) {
  begin_with_four();
  happens(sim::fall_off(1));
  expect_allocatable(kGpu, 1);
  stop_agent();
  expect_allocatable(kGpu, 0);
  start_agent(flags_);
  expect_the_same_slots();
  happens(sim::come_back(1));
  expect_all_four();
}

TEST_F(NumberStory, IndexesMeanTheSameSlotsInAFreshSessionWithoutAGpu) {
  begin_with_four();
  happens(sim::fall_off(1));
  expect_allocatable(kGpu, 1);
  reopen();
  expect_the_same_slots();
  happens(sim::come_back(1));
  expect_all_four();
}

TEST_F(NumberStory, AnotherCardInASlotTakesItsNumber) {
  begin_with_four();
  sim::Gpu other = node_->world()->gpus.at(3);
  happens(sim::unplug(1));
  expect_capacity(kGpu, 1);
  happens(sim::unplug(2));  // slot 3
  expect_log("excludeDevices: index 3 is PCI address .*, where no GPU is now");
  other.uuid = GpuUuid("GPU-00000000-1111-2222-3333-444444444444");
  happens(sim::plug(other));
  expect_log(
      "another gpu is in the slot; it takes the slot's number, and the old gpu is no longer "
      "listed index=3");
  expect_log("device is not offered: " + other.uuid.text + ": excluded by the configuration");
  EXPECT_EQ(kubelet_->node().capacity(kGpu), 1);
}

TEST_F(NumberStory, TheRuntimeIsGivenTheDriversIndex) {
  begin_with_four({"--device-id-strategy=index"});
  happens(sim::fall_off(1));
  expect_allocatable(kGpu, 1);
  reopen();
  expect_allocatable(kGpu, 1);
  expect_allocatable(kSecond, 1);
  EXPECT_EQ(granted("pod", {{kSecond, 1}}).envs.at("NVIDIA_VISIBLE_DEVICES"), "1");
}

TEST_F(NumberStory, ReleaseRefusesAnIndexThatCanMeanTwoGpus) {
  begin_with_four();
  happens(sim::fall_off(1));
  expect_allocatable(kGpu, 1);
  reopen();
  expect_allocatable(kGpu, 1);
  const auto refused = command({"release", "2"});
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.error, AllOf(HasSubstr("'2' can mean two GPUs"), HasSubstr(uuids_[2]),
                                   HasSubstr(uuids_[3]), HasSubstr("uuid or PCI address")));
  EXPECT_EQ(command({"release", to_string(node_->world()->gpus.at(2).pci)}).exit_code, 0);
  expect_allocatable(kSecond, 0);
}

TEST_F(NumberStory, NumbersAreShownAndForgottenOnCommand) {
  begin_with_four();
  happens(sim::fall_off(1));
  expect_allocatable(kGpu, 1);
  reopen();
  expect_allocatable(kGpu, 1);
  EXPECT_THAT(command({"numbers"}).output,
              AllOf(ContainsRegex("NUMBER +PCI +UUID LAST SEEN +MODEL +PRESENT +DRIVER INDEX"),
                    ContainsRegex("1 +[0-9a-f:.]+ +" + uuids_[1] + " +Tesla T4 +no +-"),
                    ContainsRegex("2 +[0-9a-f:.]+ +" + uuids_[2] + " +Tesla T4 +yes +1")));
  const auto json = nlohmann::json::parse(command({"numbers", "-o", "json"}).output);
  EXPECT_EQ(json.at("numbers").at(3).at("driverIndex"), 2);
  const auto refused = command({"numbers", "forget", "9"});
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.error, AllOf(HasSubstr(": node "),
                                   HasSubstr("'9' is not bound; known numbers: 0, 1, 2, 3")));
  const auto mark = log_mark();
  const auto shifted = command({"numbers", "forget", "all"});
  EXPECT_EQ(shifted.exit_code, 1);
  EXPECT_THAT(shifted.error, HasSubstr("GPU 1 is missing"));
  const auto forgotten = command({"numbers", "forget", "1"});
  EXPECT_EQ(forgotten.exit_code, 0) << forgotten.error;
  expect_log_after(mark, "gpu number forgotten index=1");
}

TEST_F(NumberStory, NumbersAreForgottenInTheFileWhereNoAgentRuns) {
  begin_with_four();
  stop_agent();
  EXPECT_EQ(command({"numbers", "forget", "2", "3"}).exit_code, 0);
  const auto again = command({"numbers", "forget", "2"});
  EXPECT_EQ(again.exit_code, 1);
  EXPECT_THAT(again.error, HasSubstr("'2' is not bound; known numbers: 0, 1"));
  EXPECT_EQ(command({"numbers", "forgit", "2"}).exit_code, 1);
}

}  // namespace
}  // namespace tranche::tests
