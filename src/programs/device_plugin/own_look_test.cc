// SPDX-License-Identifier: Apache-2.0
#include "programs/device_plugin/own_look.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "os/files.h"
#include "os/testing/temp_dir.h"

namespace tranche::programs {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(UnreadableFiles, AreNamedWithWhatToDoWhileTheyAreThere) {
  TempDir dir;
  EXPECT_THAT(unreadable_notes(dir.path()), IsEmpty());
  for (const char* name : {"faults.json", "faults.json.unreadable", "released.json.unreadable.2"}) {
    ASSERT_TRUE(write_atomically(dir.path(name), "garbage", 0600));
  }
  EXPECT_THAT(
      unreadable_notes(dir.path()),
      ElementsAre(AllOf(HasSubstr(dir.path("faults.json.unreadable")),
                        HasSubstr("may be healthy by mistake"), HasSubstr("delete the file")),
                  AllOf(HasSubstr(dir.path("released.json.unreadable.2")), HasSubstr("`resume`"),
                        HasSubstr("delete the file"))));
}

TEST(OwnLook, LeavesTheDriverClosedWhereItCannotReadWhetherItIsReleased) {
  TempDir dir;
  ASSERT_TRUE(write_atomically(dir.path("released.json"), R"({"version": 99})", 0600));
  Settings settings;
  settings.state_dir = dir.path();
  settings.host_root = dir.path();
  settings.driver.container_root = dir.path();
  const NodeStatus status = own_look(settings);
  EXPECT_TRUE(status.inventory.released_at.has_value());
  EXPECT_THAT(status.catalog.notes, testing::Contains(HasSubstr("cannot read whether the driver is "
                                                                "released")));
}

// An agent may run that this user may not ask; the line on the agent says which it is.
TEST(OwnLook, BlamesNoAgentForWhatTheKubeletDoesNotSay) {
  TempDir dir;
  Settings settings;
  settings.state_dir = dir.path();
  settings.host_root = dir.path();
  settings.driver.container_root = dir.path();
  settings.kubelet.pod_resources_socket = dir.path("kubelet.sock");
  settings.kubelet.checkpoint = "";
  EXPECT_EQ(own_look(settings).ledger_problem,
            "the kubelet does not say: there is no socket '" + dir.path("kubelet.sock") + "'");
}

}  // namespace
}  // namespace tranche::programs
