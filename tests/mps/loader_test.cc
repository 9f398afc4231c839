// SPDX-License-Identifier: Apache-2.0
//
// Programs of a driver root run with the driver root's own loader.
#include <fmt/core.h>
#include <gmock/gmock.h>

#include <algorithm>

#include "fixture.h"
#include "os/files.h"

namespace tranche::tests {
namespace {

using testing::Contains;
using testing::StartsWith;

TEST(MpsDaemon, AndItsServerRunWithTheDriverRootsOwnLoader) {
  if (!path_exists("/lib64/ld-linux-x86-64.so.2")) GTEST_SKIP() << "another architecture";
  MpsNode node;
  node.give_own_loader();
  node.start_agent().set_plan(node.plan({kGpuA}));
  node.await_state(kGpuA, MpsState::kReady);
  for (const int pid : {node.status(kGpuA).pid, node.status(kGpuA).server_pid.value_or(0)}) {
    const Result<std::string> maps = read_file(fmt::format("/proc/{}/maps", pid));
    ASSERT_TRUE(maps) << maps.error().message;
    EXPECT_NE(maps->find(node.root() + "/lib64/libc.so.6"), std::string::npos);
    EXPECT_EQ(maps->find(" /usr/lib/x86_64-linux-gnu/libc.so.6"), std::string::npos);
  }
  node.supervisor().stop();
  EXPECT_TRUE(node.processes(kGpuA).empty());
}

}  // namespace
}  // namespace tranche::tests
