// SPDX-License-Identifier: Apache-2.0
#include "demo/lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tranche::demo {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr const char* kUuid = "GPU-749de1b4-7f97-4a06-a3b7-f7f542e6182b";

TEST(Wrap, BreaksAtSpaces) {
  EXPECT_THAT(wrap("one two three", 7), ElementsAre("one two", "three"));
  EXPECT_THAT(wrap("one two three", 13), ElementsAre("one two three"));
  EXPECT_THAT(wrap("one two three", 12), ElementsAre("one two", "three"));
}

TEST(Wrap, HasNoLimitAtZero) { EXPECT_THAT(wrap("one two three", 0), testing::SizeIs(1)); }

TEST(Wrap, KeepsAWordThatIsTooWide) {
  EXPECT_THAT(wrap("a unbreakable b", 5), ElementsAre("a", "unbreakable", "b"));
}

TEST(Wrap, KeepsTheIndentationAndTheSpacesWithin) {
  EXPECT_THAT(wrap("    replicas:  4", 40), ElementsAre("    replicas:  4"));
  EXPECT_THAT(wrap("", 40), ElementsAre(""));
}

TEST(ShortenUuids, LeavesTheFirstPart) {
  EXPECT_EQ(shorten_uuids(std::string("ENV=") + kUuid + ",MIG" + (kUuid + 3)),
            "ENV=GPU-749de1b4,MIG-749de1b4");
  EXPECT_EQ(shorten_uuids("GPU-749de1b4 and GPU-1"), "GPU-749de1b4 and GPU-1");
}

TEST(ShortenUuids, MovesTheColumnsOfATableWithThem) {
  const std::string table = "INDEX  UUID                                      MODEL\n0      " +
                            std::string(kUuid) + "  T4\n";
  EXPECT_EQ(shorten_uuids(table),
            "INDEX  UUID          MODEL\n"
            "0      GPU-749de1b4  T4\n");
}

TEST(WithoutTime, DropsTheTimeAndNothingElse) {
  EXPECT_EQ(without_time("2026-01-02T03:04:05.678Z info    stopping"), "info    stopping");
  EXPECT_EQ(without_time("tranche-device-plugin: no driver"), "tranche-device-plugin: no driver");
  EXPECT_EQ(without_time(""), "");
}

TEST(GrantLines, ShowEverythingThatWasGiven) {
  const standin::ContainerResponse response{
      .envs = {{"NVIDIA_VISIBLE_DEVICES", "GPU-a"}},
      .mounts = {{"/usr/local/nvidia", "/opt/driver", true}, {"/data", "/srv", false}},
      .devices = {{"/dev/nvidia0", "/dev/nvidia0", "rw"},
                  {"/dev/nvidiactl", "/dev/nvidiactl", "rw"}},
      .annotations = {{"cdi.k8s.io/x", "y"}},
      .cdi_devices = {"v/c=a", "v/c=b"}};
  EXPECT_THAT(grant_lines(response),
              ElementsAre(Labelled{"env", "NVIDIA_VISIBLE_DEVICES=GPU-a"},
                          Labelled{"nodes", "/dev/nvidia0 /dev/nvidiactl"},
                          Labelled{"mount", "/opt/driver at /usr/local/nvidia (read-only)"},
                          Labelled{"mount", "/srv at /data"}, Labelled{"note", "cdi.k8s.io/x=y"},
                          Labelled{"CDI", "v/c=a"}, Labelled{"CDI", "v/c=b"}));
  EXPECT_THAT(grant_lines({}), IsEmpty());
}

TEST(ChangedCounts, AreThoseOfChangedAndNewResources) {
  standin::NodeView before;
  before.resources["a/gpu"] = {.capacity = 8, .allocatable = 8};
  before.resources["a/same"] = {.capacity = 1, .allocatable = 1};
  standin::NodeView now = before;
  EXPECT_THAT(changed_counts(before, now), IsEmpty());
  now.resources["a/gpu"].allocatable = 7;
  now.resources["a/gpu"].allocated = {"x", "y"};
  now.resources["b/new"] = {.capacity = 2, .allocatable = 0};
  EXPECT_THAT(changed_counts(before, now), ElementsAre("a/gpu: 7 of 8 allocatable, 2 in use",
                                                       "b/new: 0 of 2 allocatable, 0 in use"));
}

}  // namespace
}  // namespace tranche::demo
