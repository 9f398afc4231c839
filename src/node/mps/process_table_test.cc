// SPDX-License-Identifier: Apache-2.0
#include "node/mps/process_table.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>

#include "node/mps/socket_peers.h"
#include "os/unique_fd.h"

namespace tranche::node {
namespace {

constexpr const char* kUid = "0f9a7c52-6a1c-4a55-9f0e-1b2c3d4e5f60";
const std::string kId(64, 'a');

ProcessFacts in_cgroup(const std::string& text) {
  ProcessFacts facts;
  take_cgroup(text, facts);
  return facts;
}

TEST(ProcessFacts, HaveOwnerParentAndStateFromStatus) {
  ProcessFacts facts;
  take_status("Name:\tpython3\nState:\tS (sleeping)\nPPid:\t41\nUid:\t1000\t1001\t1000\t1000\n",
              facts);
  EXPECT_EQ(facts, (ProcessFacts{.parent = 41, .uid = 1001, .command = "python3"}));
  take_status("State:\tT (stopped)\nUid:\t1000\t1000\t0\t1000\n", facts);
  EXPECT_TRUE(facts.is_stopped);
  EXPECT_TRUE(facts.may_be_root);
  take_status("State:\tZ (zombie)\n", facts);
  EXPECT_TRUE(facts.is_dead);
}

TEST(ProcessFacts, HavePodAndContainerFromEveryFormOfCgroup) {
  const std::string slice =
      "0::/kubepods.slice/kubepods-burstable.slice/"
      "kubepods-burstable-pod0f9a7c52_6a1c_4a55_9f0e_1b2c3d4e5f60.slice/cri-containerd-" +
      kId + ".scope\n";
  const std::string plain = fmt::format("0::/kubepods/besteffort/pod{}/{}\n", kUid, kId);
  const std::string first =
      fmt::format("12:memory:/kubepods/pod{}/{}\n1:name=systemd:/x\n", kUid, kId);
  const std::string relative = fmt::format("0::/../../pod{}/{}\n", kUid, kId);
  for (const std::string& text : {slice, plain, first, relative}) {
    EXPECT_EQ(in_cgroup(text).pod, kUid) << text;
    EXPECT_EQ(in_cgroup(text).container, kId) << text;
  }
}

TEST(ProcessFacts, TakeThePodOfTheNodeWhereClustersAreNested) {
  const std::string inner = "1e9a7c52-6a1c-4a55-9f0e-1b2c3d4e5f60";
  EXPECT_EQ(in_cgroup("0::/kubepods/pod" + std::string(kUid) + "/" + kId + "/kubepods/pod" + inner +
                      "/" + kId)
                .pod,
            kUid);
}

TEST(ProcessFacts, HaveNoPodOnTheHost) {
  for (const char* text : {"0::/system.slice/nvidia.service", "0::/", "", "0::/podman/x",
                           "0::/tripod0f9a7c52-6a1c-4a55-9f0e-1b2c3d4e5f60"}) {
    EXPECT_EQ(in_cgroup(text).pod, "") << text;
  }
}

TEST(ProcessFacts, HaveTheStartTimeBehindANameWithBrackets) {
  EXPECT_EQ(start_time("7 (a ) b) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4711 20"), 4711U);
  EXPECT_EQ(start_time("7 (a) S 1"), 0U);
  EXPECT_EQ(start_time(""), 0U);
}

TEST(ProcessFacts, SayWhichDescriptorIsRead) {
  const std::string number = std::to_string(SYS_recvmsg);
  EXPECT_EQ(waiting_descriptor(number + " 0x13 0x7ffc 0x40000000 0x0\n"), 19);
  EXPECT_EQ(waiting_descriptor(std::to_string(SYS_recvfrom) + " 0x9 0x0"), 9);
  for (const long call : {SYS_write, SYS_writev, SYS_sendto, SYS_sendmsg}) {
    EXPECT_EQ(waiting_descriptor(std::to_string(call) + " 0x9 0x0"), 9);
    EXPECT_TRUE(waits_to_write(std::to_string(call) + " 0x9 0x0"));
  }
  EXPECT_FALSE(waits_to_write(number + " 0x13 0x7ffc 0x40000000 0x0\n"));
  EXPECT_EQ(waiting_descriptor(std::to_string(SYS_close) + " 0x9 0x0"), std::nullopt);
  EXPECT_EQ(waiting_descriptor("running\n"), std::nullopt);
  EXPECT_EQ(waiting_descriptor("-1 0x7ffc 0x7fe1"), std::nullopt);
  EXPECT_EQ(waiting_descriptor(""), std::nullopt);
}

TEST(ProcessFacts, HaveANameThatATerminalDoesNotObey) {
  ProcessFacts facts;
  take_status("Name:\t\x1b[1A\x1b[2Kok\xff\nPPid:\t1\n", facts);
  EXPECT_EQ(facts.command, "?[1A?[2Kok?");
}

TEST(ProcessFacts, NameASocket) {
  EXPECT_EQ(socket_inode("socket:[17906]"), 17906U);
  EXPECT_EQ(socket_inode("pipe:[17906]"), std::nullopt);
  EXPECT_EQ(socket_inode("socket:[]"), std::nullopt);
}

TEST(ProcessFacts, AreReadOfThisProcess) {
  const auto facts = facts_of(::getpid());
  ASSERT_TRUE(facts.has_value());
  EXPECT_EQ(facts->parent, ::getppid());
  EXPECT_EQ(facts->uid, ::geteuid());
  EXPECT_GT(facts->start, 0U);
  EXPECT_FALSE(facts_of(0x3fffffff).has_value());
}

TEST(ProcessFacts, DescribeAProcessForPeople) {
  EXPECT_EQ(describe(ProcessFacts{.pid = 7, .uid = 1000, .command = "sh"}),
            "process 7 (sh, uid 1000)");
  EXPECT_EQ(
      describe(ProcessFacts{.pid = 7, .uid = 0, .command = "sh", .pod = kUid, .container = kId}),
      fmt::format("process 7 (sh, uid 0, pod {}, container aaaaaaaaaaaa)", kUid));
}

TEST(SocketPeers, AreFoundForAConnectedSocket) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()), 0);
  const UniqueFd one(ends[0]);
  const UniqueFd other(ends[1]);
  const auto peers = peers_of(Process::of(::getpid()), {one.get()});
  if (peers.empty() || peers[0].peer == 0) GTEST_SKIP() << "the kernel does not say it here";
  ASSERT_EQ(peers.size(), 1U);
  const auto sockets = sockets_of(::getpid());
  EXPECT_THAT(sockets_among(::getpid(), {sockets.at(one.get()), 0}),
              testing::ElementsAre(sockets.at(one.get())));
  EXPECT_EQ(peers[0].inode, sockets.at(one.get()));
  EXPECT_EQ(peers[0].peer, sockets.at(other.get()));
  EXPECT_EQ(peers[0].connected_by, ::getpid());
  EXPECT_EQ(peers[0].connected_uid, ::geteuid());
}

}  // namespace
}  // namespace tranche::node
