// SPDX-License-Identifier: Apache-2.0
#include "demo/show.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tranche::demo {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

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
