// SPDX-License-Identifier: Apache-2.0
#include "node/kubelet/socket_name.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "os/files.h"
#include "os/testing/temp_dir.h"
#include "os/testing/unix_socket.h"
#include "os/unique_fd.h"

namespace tranche::node {
namespace {

using testing::ElementsAre;

TEST(SocketName, IsAnotherForEachAttemptAndEachRun) {
  const ResourceName gpu("nvidia.com/gpu");
  EXPECT_EQ(socket_name(gpu, "5f3a9c01", 2), "tranche-nvidia.com_gpu-5f3a9c01-2.sock");
  EXPECT_NE(socket_name(gpu, "5f3a9c01", 2), socket_name(gpu, "5f3a9c01", 3));
  EXPECT_NE(fresh_run(), fresh_run());
}

TEST(SocketName, FitsAUnixAddressWhateverTheResourceIsCalled) {
  const std::string folder = "/var/lib/kubelet/device-plugins/";
  const ResourceName longest(std::string(253, 'd') + "/" + std::string(63, 'n'));
  const std::string name = socket_name(longest, fresh_run(), 999'999'999ULL);
  EXPECT_LE(folder.size() + name.size(), 107U);
  const ResourceName other(std::string(253, 'd') + "/" + std::string(62, 'n') + "x");
  EXPECT_NE(name, socket_name(other, name.substr(name.size() - 23, 8), 999'999'999ULL));
}

TEST(SocketName, IsKnownForOurs) {
  EXPECT_TRUE(is_our_socket("tranche-nvidia.com_gpu-5f3a9c01-2.sock"));
  EXPECT_FALSE(is_our_socket("nvidia-gpu.sock"));
  EXPECT_FALSE(is_our_socket("kubelet.sock"));
}

TEST(SocketName, TellsWhichResourceAPluginMayServe) {
  const ResourceName gpu("nvidia.com/gpu");
  EXPECT_TRUE(may_serve("tranche-nvidia.com_gpu-5f3a9c01-2.sock", gpu));
  EXPECT_TRUE(may_serve("nvidia-gpu.sock", gpu));
  EXPECT_TRUE(may_serve("nvidiaGPU-1719000000.sock", gpu));
  EXPECT_TRUE(may_serve("nvidia-mig-1g.5gb.sock", ResourceName("nvidia.com/mig-1g.5gb")));
  EXPECT_FALSE(may_serve("tranche-nvidia.com_gpu-half-5f3a9c01-2.sock", gpu));
  EXPECT_FALSE(may_serve("nvidia-gpu.sock", ResourceName("example.com/gpu")));
  EXPECT_FALSE(may_serve("rdma.sock", gpu));
  EXPECT_FALSE(may_serve("kubelet.sock", gpu));
  EXPECT_TRUE(is_of_run("tranche-nvidia.com_gpu-5f3a9c01-2.sock", "5f3a9c01"));
  EXPECT_FALSE(is_of_run("tranche-nvidia.com_gpu-5f3a9c01-2.sock", "00000001"));
  EXPECT_FALSE(is_of_run("nvidia-5f3a9c01-2.sock", "5f3a9c01"));
}

TEST(LivingSockets, AreThoseOfTheResourceOnWhichSomebodyListens) {
  const TempDir dir;
  const ResourceName resource("a/b");
  const std::string alive = socket_name(resource, "00000002", 1);
  listening_on(dir.path(socket_name(resource, "00000001", 1))).reset();
  const UniqueFd living = listening_on(dir.path(alive));
  const UniqueFd other = listening_on(dir.path(socket_name(ResourceName("a/c"), "00000003", 1)));
  EXPECT_THAT(living_sockets(dir.path(), resource), ElementsAre(alive));
  EXPECT_THAT(living_sockets(dir.path("none"), resource), ElementsAre());
}

TEST(DeadSockets, AreRemovedWhereTheyAreOursAndNobodyListens) {
  const TempDir dir;
  const std::string dead = socket_name(ResourceName("a/b"), "00000001", 1);
  const std::string alive = socket_name(ResourceName("a/b"), "00000002", 1);
  const std::string plain_file = socket_name(ResourceName("a/b"), "00000003", 1);
  listening_on(dir.path(dead)).reset();
  const UniqueFd living = listening_on(dir.path(alive));
  listening_on(dir.path("nvidia-gpu.sock")).reset();
  std::ofstream(dir.path(plain_file)) << "not a socket";

  const auto removed = remove_dead_sockets(dir.path());
  ASSERT_TRUE(removed);
  EXPECT_THAT(*removed, ElementsAre(dead));
  EXPECT_THAT(*list_directory(dir.path()), ElementsAre("nvidia-gpu.sock", alive, plain_file));
}

}  // namespace
}  // namespace tranche::node
