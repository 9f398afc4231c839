// SPDX-License-Identifier: Apache-2.0
#include "kubelet/socket_name.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "base/files.h"
#include "base/testing/temp_dir.h"
#include "base/testing/unix_socket.h"
#include "base/unique_fd.h"

namespace tranche {
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
}  // namespace tranche
