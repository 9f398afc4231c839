// SPDX-License-Identifier: Apache-2.0
#include "nested/handed_off.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "base/files.h"
#include "base/testing/temp_dir.h"
#include "base/unique_fd.h"

namespace tranche {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;
using testing::SizeIs;

NestedGrant two_gpus() {
  return {.resource = "nvidia.com/gpu",
          .devices = {{.uuid = "GPU-a", .gpu = "GPU-a"}, {.uuid = "GPU-b", .gpu = "GPU-b"}}};
}

class HandedOffTest : public testing::Test {
 protected:
  HandedOffPaths must_issue(HandedOff& store) const {
    const auto paths = store.issue(two_gpus(), now_);
    EXPECT_TRUE(paths) << (paths ? "" : paths.error().message);
    return paths ? *paths : HandedOffPaths{};
  }

  static NestedGrant document(const HandedOffPaths& paths) {
    const auto text = read_file(below(paths.folder, "grant.json"));
    const auto grant = text ? parse_nested_grant(*text) : Result<NestedGrant>(text.error());
    EXPECT_TRUE(grant) << (grant ? "" : grant.error().message);
    return grant ? *grant : NestedGrant{};
  }

  static std::string env(const HandedOffPaths& paths) {
    const auto text = read_file(paths.gpu_env);
    return text ? *text : text.error().message;
  }

  static HandedOff::HealthOf lost(const std::string& uuid) {
    return [uuid](const std::string& /*resource*/, const NestedDevice& device) {
      return device.uuid == uuid ? Health{{"lost"}} : Health{};
    };
  }

  const TempDir dir_;
  Log quiet_{[](std::string_view) {}};
  const HandedOff::Clock::time_point now_ = HandedOff::Clock::now();
};

TEST_F(HandedOffTest, IsOnDiskBeforeTheContainerIs) {
  HandedOff store(dir_.path("nested"), quiet_);
  const HandedOffPaths paths = must_issue(store);
  EXPECT_EQ(env(paths), "GPU-a,GPU-b\n");
  EXPECT_THAT(document(paths).devices, SizeIs(2));
  EXPECT_EQ(document(paths).id, paths.id);
}

TEST_F(HandedOffTest, IsTheContainersAlone) {
  HandedOff store(dir_.path(), quiet_);
  const HandedOffPaths one = must_issue(store);
  const HandedOffPaths other = must_issue(store);
  EXPECT_NE(one.gpu_env, other.gpu_env);
  std::ofstream(one.gpu_env) << "mine";
  EXPECT_EQ(env(other), "GPU-a,GPU-b\n");
}

TEST_F(HandedOffTest, IsRefusedWhereItCannotBeWritten) {
  std::ofstream(dir_.path("file")) << "in the way";
  HandedOff store(dir_.path("file"), quiet_);
  const auto refused = store.issue(two_gpus(), now_);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr(dir_.path("file")));
  EXPECT_TRUE(store.empty());
}

TEST_F(HandedOffTest, SaysWhenAGpuIsLostAndWhenItIsBack) {
  HandedOff store(dir_.path(), quiet_);
  const HandedOffPaths paths = must_issue(store);
  // As a mount has it: by the file and not by its name.
  const UniqueFd mounted(::open(paths.gpu_env.c_str(), O_RDONLY | O_CLOEXEC));
  store.refresh(lost("GPU-a"));
  EXPECT_EQ(document(paths).devices[0].health.reason(), "lost");
  EXPECT_EQ(document(paths).generation, 2U);
  std::string seen(100, '\0');
  seen.resize(static_cast<std::size_t>(::pread(mounted.get(), seen.data(), seen.size(), 0)));
  EXPECT_EQ(seen, "GPU-b\n");
  store.refresh(lost("none"));
  EXPECT_EQ(env(paths), "GPU-a,GPU-b\n");
  EXPECT_EQ(document(paths).generation, 3U);
  store.refresh(lost("none"));
  EXPECT_EQ(document(paths).generation, 3U);
}

TEST_F(HandedOffTest, LeavesAGpuEnvAloneThatItsPodWroteOtherwise) {
  HandedOff store(dir_.path(), quiet_);
  const HandedOffPaths paths = must_issue(store);
  std::ofstream(paths.gpu_env) << "GPU-b";
  store.refresh(lost("GPU-b"));
  EXPECT_EQ(env(paths), "GPU-b");
  EXPECT_FALSE(document(paths).devices[1].health.ok());
}

TEST_F(HandedOffTest, KeepsAGpuEnvCurrentThatItsPodWroteAsGranted) {
  HandedOff store(dir_.path(), quiet_);
  const HandedOffPaths paths = must_issue(store);
  std::ofstream(paths.gpu_env) << "GPU-a,GPU-b\r\n";
  store.refresh(lost("GPU-b"));
  EXPECT_EQ(env(paths), "GPU-a\n");
}

TEST_F(HandedOffTest, OutlivesTheAgent) {
  HandedOffPaths paths;
  {
    HandedOff store(dir_.path(), quiet_);
    paths = must_issue(store);
    store.refresh(lost("GPU-a"));
  }
  HandedOff next(dir_.path(), quiet_);
  next.recall(now_);
  ASSERT_THAT(next.grants(), SizeIs(1));
  next.refresh(lost("none"));
  EXPECT_EQ(document(paths).generation, 3U);
  EXPECT_EQ(env(paths), "GPU-a,GPU-b\n");
}

TEST_F(HandedOffTest, LeavesWhatItCannotReadAsItIsWhileItIsMounted) {
  HandedOffPaths paths;
  {
    HandedOff store(dir_.path(), quiet_);
    paths = must_issue(store);
  }
  ASSERT_TRUE(write_atomically(below(paths.folder, "grant.json"), "torn"));
  HandedOff next(dir_.path(), quiet_);
  next.recall(now_);
  next.refresh(lost("GPU-a"));
  EXPECT_EQ(env(paths), "GPU-a,GPU-b\n");
  next.tidy({paths.folder}, now_ + seconds(1000));
  EXPECT_TRUE(path_exists(paths.gpu_env));
  next.tidy({}, now_ + seconds(2000));
  next.tidy({}, now_ + seconds(2010));
  EXPECT_FALSE(path_exists(paths.gpu_env));
}

TEST_F(HandedOffTest, IsRemovedWhenTheKubeletHasNoSuchMountForAWhile) {
  HandedOff store(dir_.path(), quiet_);
  const HandedOffPaths paths = must_issue(store);
  EXPECT_FALSE(store.tidy({paths.gpu_env, paths.folder}, now_));
  EXPECT_TRUE(store.tidy({}, now_ + seconds(1)));
  EXPECT_TRUE(path_exists(paths.gpu_env));
  EXPECT_FALSE(store.tidy({}, now_ + seconds(11)));
  EXPECT_FALSE(path_exists(dir_.path(paths.id)));
  EXPECT_TRUE(store.empty());
}

TEST_F(HandedOffTest, StaysWhenTheKubeletHasForgottenItForAMomentOnly) {
  HandedOff store(dir_.path(), quiet_);
  const HandedOffPaths paths = must_issue(store);
  store.tidy({paths.folder}, now_);
  store.tidy({}, now_ + seconds(1));
  store.tidy({paths.folder}, now_ + seconds(9));
  store.tidy({}, now_ + seconds(15));
  store.tidy({}, now_ + seconds(20));
  EXPECT_TRUE(path_exists(paths.gpu_env));
}

TEST_F(HandedOffTest, WaitsForAContainerThatIsJustBeingMade) {
  HandedOff store(dir_.path(), quiet_);
  const HandedOffPaths paths = must_issue(store);
  EXPECT_TRUE(store.tidy({}, now_ + seconds(59)));
  EXPECT_TRUE(path_exists(paths.gpu_env));
  store.tidy({}, now_ + seconds(60));
  store.tidy({}, now_ + seconds(70));
  EXPECT_FALSE(path_exists(paths.gpu_env));
}

TEST_F(HandedOffTest, IsGoneAtOnceWhenTheGrantIsTakenBack) {
  HandedOff store(dir_.path(), quiet_);
  const HandedOffPaths paths = must_issue(store);
  store.withdraw(paths.id);
  EXPECT_FALSE(path_exists(dir_.path(paths.id)));
  store.withdraw("");
  EXPECT_TRUE(path_exists(dir_.path()));
}

}  // namespace
}  // namespace tranche
