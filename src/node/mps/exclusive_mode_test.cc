// SPDX-License-Identifier: Apache-2.0
#include "node/mps/exclusive_mode.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "os/files.h"
#include "os/testing/temp_dir.h"

namespace tranche::node {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class ComputeModeTest : public testing::Test {
 protected:
  Status set(const std::string& uuid, bool exclusive) {
    calls_.push_back(uuid + (exclusive ? " exclusive" : " default"));
    if (fails_) return Error{ErrorCode::kUnavailable, "no permission"};
    return Done{};
  }

  const TempDir dir_;
  MpsDaemonPlan plan_{.folder = dir_.path(), .devices = {"GPU-a"}, .exclusive = true};
  std::vector<std::string> calls_;
  bool fails_ = false;
  SetComputeMode set_ = [this](const std::string& uuid, bool exclusive) {
    return set(uuid, exclusive);
  };
  bool is_released_ = false;
  ComputeModeDriver driver_{.set = set_, .is_released = [this] { return is_released_; }};
};

TEST_F(ComputeModeTest, IsPutBackByALaterAgent) {
  ASSERT_TRUE(apply_compute_mode(plan_, driver_));
  // The later agent knows only the folder.
  ASSERT_TRUE(restore_compute_mode({.folder = dir_.path()}, set_));
  EXPECT_THAT(calls_, ElementsAre("GPU-a exclusive", "GPU-a default"));
  ASSERT_TRUE(restore_compute_mode(plan_, set_));
  EXPECT_EQ(calls_.size(), 2U);
}

TEST_F(ComputeModeTest, IsPutBackWhenThePlanNoLongerAsksForIt) {
  ASSERT_TRUE(apply_compute_mode(plan_, driver_));
  plan_.exclusive = false;
  ASSERT_TRUE(apply_compute_mode(plan_, driver_));
  EXPECT_THAT(calls_, ElementsAre("GPU-a exclusive", "GPU-a default"));
}

TEST_F(ComputeModeTest, IsNotTouchedWithoutAnExclusivePlan) {
  plan_.exclusive = false;
  ASSERT_TRUE(apply_compute_mode(plan_, driver_));
  ASSERT_TRUE(restore_compute_mode(plan_, set_));
  EXPECT_THAT(calls_, IsEmpty());
}

TEST_F(ComputeModeTest, IsRememberedUntilItCouldBePutBack) {
  ASSERT_TRUE(apply_compute_mode(plan_, driver_));
  fails_ = true;
  EXPECT_THAT(restore_compute_mode(plan_, set_).error().message,
              HasSubstr("restoring the compute mode of GPU-a: no permission"));
  EXPECT_TRUE(path_exists(dir_.path("exclusive")));
  fails_ = false;
  ASSERT_TRUE(restore_compute_mode(plan_, set_));
  EXPECT_FALSE(path_exists(dir_.path("exclusive")));
}

TEST_F(ComputeModeTest, ThatWasSetBeforeAReleaseCountsAsSet) {
  ASSERT_TRUE(apply_compute_mode(plan_, driver_));
  is_released_ = true;
  fails_ = true;
  EXPECT_TRUE(apply_compute_mode(plan_, driver_));
  EXPECT_TRUE(path_exists(dir_.path("exclusive")));
}

TEST_F(ComputeModeTest, IsNeitherSetNorRememberedForTheFirstTimeDuringARelease) {
  is_released_ = true;
  for (int tries = 0; tries < 2; ++tries) {
    EXPECT_THAT(apply_compute_mode(plan_, driver_).error().message, HasSubstr("run 'resume'"));
  }
  EXPECT_THAT(calls_, IsEmpty());
  EXPECT_FALSE(path_exists(dir_.path("exclusive")));
}

TEST_F(ComputeModeTest, CannotBeSetWithNothing) {
  EXPECT_THAT(apply_compute_mode(plan_, {}).error().message,
              HasSubstr("the compute mode cannot be set"));
}

}  // namespace
}  // namespace tranche::node
