// SPDX-License-Identifier: Apache-2.0
//
// The keeper on a folder without a kubelet. With one: tests/integration.
#include "node/holders/ledger_keeper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>

#include "os/files.h"
#include "os/latest.h"
#include "os/testing/temp_dir.h"

namespace tranche::node {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

constexpr std::chrono::seconds kPatience{60};
constexpr const char* kGpu = "a.b/gpu";

std::string checkpoint_with(const std::string& id) {
  return R"({"Data":{"PodDeviceEntries":[{"PodUID":"u","ContainerName":"c",)"
         R"("ResourceName":"a.b/gpu","DeviceIDs":{"-1":[")" +
         id + R"("]},"AllocResp":""}],"RegisteredDevices":{}},"Checksum":1})";
}

Holding holding_of(const std::string& id) { return {kGpu, {"", "", "u", "c"}, {id}}; }

TEST(LedgerSources, AreMountedWhereTheirFoldersAre) {
  const TempDir dir;
  LedgerSourceOptions options{.pod_resources_socket = dir.path("pods/kubelet.sock"),
                              .checkpoint = dir.path("plugins/checkpoint")};
  EXPECT_FALSE(mounted_sources(options).any());
  std::filesystem::create_directory(dir.path("plugins"));
  EXPECT_EQ(mounted_sources(options), (MountedSources{false, true}));
  std::filesystem::create_directory(dir.path("pods"));
  EXPECT_EQ(mounted_sources(options), (MountedSources{true, true}));
  EXPECT_FALSE(mounted_sources({.pod_resources_socket = "", .checkpoint = ""}).any());
}

TEST(LedgerSources, TellSinceWhenASourceDoesNotAnswer) {
  const auto at = [](int second) {
    return std::chrono::system_clock::time_point(std::chrono::seconds(second));
  };
  const Error error{ErrorCode::kUnavailable, "gone"};
  SourceStatus status = after_read({.is_mounted = true}, error, at(1));
  EXPECT_EQ(status, (SourceStatus{true, false, false, at(1), "gone"}));
  status = after_read(status, error, at(2));
  EXPECT_EQ(status.since, at(1));
  status = after_read(status, std::nullopt, at(3));
  EXPECT_EQ(status, (SourceStatus{true, true, true, at(3), ""}));
  status = after_read(status, std::nullopt, at(4));
  EXPECT_EQ(status.since, at(3));
  status = after_read(status, error, at(5));
  EXPECT_EQ(status, (SourceStatus{true, false, true, at(5), "gone"}));
}

class Keeper : public testing::Test {
 protected:
  void begin() {
    std::filesystem::create_directories(dir_.path("plugins"));
    if (has_pods_folder_) std::filesystem::create_directories(dir_.path("pods"));
    keeper_ = std::make_unique<LedgerKeeper>(
        LedgerSourceOptions{.pod_resources_socket = dir_.path("pods/kubelet.sock"),
                            .checkpoint = dir_.path("plugins/checkpoint"),
                            .period = period_},
        LedgerKeeper::Hooks{.list = [](const std::stop_token&) -> Result<std::vector<Holding>> {
                              return Error{ErrorCode::kUnavailable, "no answer"};
                            },
                            .publish =
                                [this](const LedgerReading& reading) {
                                  records_.publish(with_reading(*records_.get().value, reading));
                                },
                            .wants_confirmation = [] { return true; },
                            .nudge = [this] { ++nudges_; }},
        gate_, log_);
    keeper_->start();
  }

  void write_file(const std::string& text) {
    ASSERT_TRUE(write_atomically(dir_.path("plugins/checkpoint"), text));
  }

  template <typename Condition>
  bool await(Condition holds) {
    const auto end = std::chrono::steady_clock::now() + kPatience;
    while (std::chrono::steady_clock::now() < end) {
      const auto records = records_.get();
      if (holds(*records.value)) return true;
      records_.wait_newer(records.version, milliseconds(20));
    }
    return false;
  }

  bool await_held(const std::string& id) {
    return await([&](const Records& records) {
      return present(records).holdings == std::vector{holding_of(id)};
    });
  }

  std::string said() {
    const std::lock_guard lock(said_mutex_);
    return said_;
  }

  bool has_pods_folder_ = true;
  TempDir dir_;
  milliseconds period_{std::chrono::hours(1)};
  std::mutex said_mutex_;
  std::string said_;  // guarded by said_mutex_
  Log log_{[this](std::string_view line) {
    const std::lock_guard lock(said_mutex_);
    said_ += line;
  }};
  CallGate gate_;
  Latest<Records> records_;
  std::atomic<int> nudges_ = 0;
  std::unique_ptr<LedgerKeeper> keeper_;  // last: its thread uses the rest
};

TEST_F(Keeper, ReadsTheCheckpointThatIsThere) {
  std::filesystem::create_directories(dir_.path("plugins"));
  write_file(checkpoint_with("x"));
  begin();
  EXPECT_TRUE(await_held("x"));
}

TEST_F(Keeper, ReadsACheckpointThatComesAndEveryOneAfterIt) {
  begin();
  write_file(checkpoint_with("x"));
  EXPECT_TRUE(await_held("x"));
  write_file(checkpoint_with("y"));
  EXPECT_TRUE(await_held("y"));
  // In place, not by a rename.
  std::ofstream(dir_.path("plugins/checkpoint")) << checkpoint_with("z");
  EXPECT_TRUE(await_held("z"));
}

TEST_F(Keeper, ATornCheckpointChangesNothingAndIsLoggedOnce) {
  begin();
  write_file(checkpoint_with("x"));
  ASSERT_TRUE(await_held("x"));
  write_file("{");
  ASSERT_TRUE(await([&](const Records&) { return !keeper_->status().checkpoint.answers; }));
  EXPECT_THAT(keeper_->status().checkpoint.error, HasSubstr("plugins/checkpoint"));
  EXPECT_TRUE(await_held("x"));
  write_file(checkpoint_with("y"));
  ASSERT_TRUE(await_held("y"));
  EXPECT_TRUE(keeper_->status().checkpoint.answers);
  EXPECT_THAT(said(), HasSubstr("does not answer; keeping its last answer source=checkpoint"));
  EXPECT_THAT(said(), HasSubstr("allocation source recovered source=checkpoint"));
}

TEST_F(Keeper, ACheckpointThatVanishesChangesNothing) {
  begin();
  write_file(checkpoint_with("x"));
  ASSERT_TRUE(await_held("x"));
  std::filesystem::remove(dir_.path("plugins/checkpoint"));
  ASSERT_TRUE(await([&](const Records&) { return !keeper_->status().checkpoint.answers; }));
  EXPECT_TRUE(await_held("x"));
}

// With the checkpoint alone, ended pods would hold their devices for ever.
TEST_F(Keeper, ReadsNothingBeforeTheFolderOfPodResourcesIsThere) {
  period_ = milliseconds(20);
  has_pods_folder_ = false;
  begin();
  write_file(checkpoint_with("x"));
  std::filesystem::create_directories(dir_.path("pods"));
  ASSERT_TRUE(await_held("x"));
  std::filesystem::remove_all(dir_.path("pods"));
  write_file(checkpoint_with("y"));
  EXPECT_TRUE(await_held("y")) << "once it was there, the checkpoint goes on counting";
}

TEST_F(Keeper, ARecreatedFolderIsWatchedAgain) {
  period_ = milliseconds(20);
  begin();
  write_file(checkpoint_with("x"));
  ASSERT_TRUE(await_held("x"));
  std::filesystem::remove_all(dir_.path("plugins"));
  std::filesystem::create_directory(dir_.path("plugins"));
  write_file(checkpoint_with("y"));
  EXPECT_TRUE(await_held("y"));
}

TEST_F(Keeper, AMissingSocketIsAStateAndLoggedOnce) {
  period_ = milliseconds(1);
  begin();
  write_file(checkpoint_with("x"));
  ASSERT_TRUE(await_held("x"));
  ASSERT_TRUE(
      await([&](const Records&) { return !keeper_->status().pod_resources.error.empty(); }));
  keeper_.reset();
  const std::string line = "pod-resources folder mounted here? source=pod-resources";
  const std::string log = said();
  EXPECT_THAT(log,
              testing::ContainsRegex("(WARN|warning)[^\n]*unknown which pods hold which devices"));
  ASSERT_THAT(log, HasSubstr(line));
  EXPECT_EQ(log.find(line), log.rfind(line)) << log;
  EXPECT_EQ(nudges_, 0) << "without pod-resources nothing can be confirmed";
}

}  // namespace
}  // namespace tranche::node
