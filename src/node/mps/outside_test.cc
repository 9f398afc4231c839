// SPDX-License-Identifier: Apache-2.0
#include "node/mps/outside.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "node/mps/testing/own_mounts.h"
#include "os/testing/temp_dir.h"
#include "os/testing/unix_socket.h"
#include "os/unique_fd.h"

namespace tranche::node {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::StartsWith;

TEST(AnAttemptToConnect, SaysWhetherADaemonIsThere) {
  EXPECT_EQ(judge_connect(0, "/p"), (PipeFound{Presence::kThere, "", ""}));
  EXPECT_EQ(judge_connect(ENOENT, "/p").presence, Presence::kAbsent);
  EXPECT_EQ(
      judge_connect(ECONNREFUSED, "/p"),
      (PipeFound{Presence::kAbsent, "nobody listens at /p/control: its daemon has ended", ""}));
  // A process listens but does not accept.
  EXPECT_EQ(judge_connect(EAGAIN, "/p").presence, Presence::kUnknown);
  EXPECT_EQ(judge_connect(EACCES, "/p").presence, Presence::kUnknown);
}

TEST(AWiring, ReportsWhatIsUnknownAndStillSendsContainers) {
  const MpsWiring wiring{.pipe_directory = "/p"};
  EXPECT_EQ(wiring_with(wiring, {Presence::kAbsent, "gone", ""}).problem, "gone");
  EXPECT_EQ(wiring_with(wiring, {Presence::kUnknown, "unseen", ""}).problem, "");
  EXPECT_EQ(wiring_with(wiring, {Presence::kUnknown, "unseen", ""}).caution, "unseen");
  EXPECT_EQ(wiring_with(wiring, {Presence::kThere, "", "open to all"}).caution, "open to all");
  EXPECT_EQ(wiring_with({.problem = "none given"}, {Presence::kUnknown, "x", ""}).problem,
            "none given");
}

class DaemonOfOthers : public testing::Test {
 protected:
  DaemonOfOthers() { elsewhere_.pipe = pipe_; }

  UniqueFd listen(int kind = SOCK_SEQPACKET) {
    fs::create_directories(pipe_);
    UniqueFd fd(::socket(AF_UNIX, kind, 0));
    const sockaddr_un address = unix_address(pipe_ + "/control");
    EXPECT_EQ(::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    EXPECT_EQ(::listen(fd.get(), 8), 0);
    return fd;
  }
  MpsWiring look() { return watch_.look(elsewhere_, now_); }
  static bool has_caller(const UniqueFd& listening) {
    pollfd polled{listening.get(), POLLIN, 0};
    return ::poll(&polled, 1, 0) == 1;
  }

  TempDir dir_;
  const std::string pipe_ = dir_.path("pipe");
  ExternalMps elsewhere_;
  OutsideWatch watch_{true};
  OutsideWatch::Clock::time_point now_;
};

TEST_F(DaemonOfOthers, IsFoundWhenItComesAndMissedWhenItGoes) {
  EXPECT_EQ(look().problem, "there is no " + pipe_);
  fs::create_directory(pipe_);
  EXPECT_THAT(look().problem, StartsWith("there is no " + pipe_ + "/control"));
  UniqueFd daemon = listen();
  EXPECT_EQ(look().problem, "");
  EXPECT_EQ(look().caution, "");
  daemon.reset();
  // A recent result is reused.
  EXPECT_EQ(look().problem, "");
  now_ += std::chrono::minutes(1);
  EXPECT_THAT(look().problem, HasSubstr("its daemon has ended"));
  fs::remove(pipe_ + "/control");
  daemon = listen();
  EXPECT_EQ(look().problem, "");
}

TEST_F(DaemonOfOthers, IsConnectedToForAnInstantAndSeldom) {
  const UniqueFd daemon = listen();
  EXPECT_EQ(look().problem, "");
  ASSERT_TRUE(has_caller(daemon));
  const UniqueFd caller(::accept(daemon.get(), nullptr, nullptr));
  char byte = 0;
  EXPECT_EQ(::recv(caller.get(), &byte, 1, 0), 0) << "it is closed already";
  EXPECT_EQ(look().problem, "");
  EXPECT_FALSE(has_caller(daemon));
  now_ += std::chrono::minutes(1);
  EXPECT_EQ(look().problem, "");
  EXPECT_TRUE(has_caller(daemon));
}

TEST_F(DaemonOfOthers, MayHaveAStreamForItsSocket) {
  const UniqueFd daemon = listen(SOCK_STREAM);
  EXPECT_EQ(look().problem, "");
}

TEST_F(DaemonOfOthers, ThatAcceptsNoConnectionAnyMoreIsNotKnownToServe) {
  const UniqueFd daemon = listen();
  std::vector<UniqueFd> callers;
  const sockaddr_un address = unix_address(pipe_ + "/control");
  while (true) {
    UniqueFd fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0));
    const auto* plain = reinterpret_cast<const sockaddr*>(&address);
    if (::connect(fd.get(), plain, sizeof(address)) != 0) break;
    callers.push_back(std::move(fd));
  }
  EXPECT_EQ(look().problem, "");
  EXPECT_THAT(look().caution, HasSubstr("its queue of connections is full"));
}

TEST_F(DaemonOfOthers, IsNotKnownOfWhereTheHostIsNotSeen) {
  OutsideWatch in_a_pod(false, "/");
  EXPECT_EQ(in_a_pod.look(elsewhere_, now_).problem, "");
  EXPECT_THAT(in_a_pod.look(elsewhere_, now_).caution, HasSubstr("it is unknown"));
  // It is mounted all the same.
  const UniqueFd daemon = listen();
  EXPECT_THAT(in_a_pod.look(elsewhere_, now_).caution, HasSubstr("the folders above"));
}

TEST_F(DaemonOfOthers, IsLookedForWhereItsFolderWasMountedForUs) {
  OutsideWatch in_a_pod(false);
  elsewhere_.views = {{.given_by = dir_.path("given"), .pipe = dir_.path("given/pipe")}};
  fs::create_directory(dir_.path("given"));
  EXPECT_EQ(in_a_pod.look(elsewhere_, now_).problem, "there is no " + dir_.path("given/pipe"));
}

// A pod has the folder at another path, and sees the host's by its first process.
class DaemonSeenFromAPod : public DaemonOfOthers {
 protected:
  void SetUp() override {
    if (!have_own_mounts()) GTEST_SKIP() << "mounting needs root";
    fs::create_directories(host_ + "/home/u/mps");
    fs::create_directory(given_);
    ASSERT_EQ(::mount((host_ + "/home/u/mps").c_str(), given_.c_str(), "", MS_BIND, ""), 0);
    daemon_ = listen();
    fs::rename(pipe_, host_ + "/home/u/mps/pipe");
    elsewhere_.pipe = "/home/u/mps/pipe";
    elsewhere_.views = {{.given_by = given_, .pipe = given_ + "/pipe"}};
  }
  void TearDown() override { ::umount2(given_.c_str(), MNT_DETACH); }
  MpsWiring look_with(const std::string& host_root) {
    return OutsideWatch(false, host_root).look(elsewhere_, now_);
  }

  const std::string host_ = dir_.path("host");
  const std::string given_ = dir_.path("given");
  UniqueFd daemon_;
};

TEST_F(DaemonSeenFromAPod, IsRefusedWhereAFolderAboveItIsAnotherUsersOnTheHost) {
  EXPECT_EQ(look_with(host_).problem, "");
  EXPECT_EQ(look_with(host_).caution, "");
  ASSERT_EQ(::chown((host_ + "/home/u").c_str(), 4711, 4711), 0);
  EXPECT_THAT(look_with(host_).problem, HasSubstr("/home/u belongs to user 4711"));
  EXPECT_EQ(look_with("/").problem, "") << "not to be seen";
}

TEST_F(DaemonSeenFromAPod, IsWarnedOfWhereTheFoldersAboveItAreNotToBeSeen) {
  const std::string not_known = "the folders above /home/u/mps/pipe on the host is not known";
  EXPECT_THAT(look_with("/").caution, HasSubstr(not_known + ": the agent sees them only with"));
  EXPECT_THAT(look_with(dir_.path("none")).caution, HasSubstr(not_known));
  // The host has another folder there, as where the first process is another pod's.
  fs::create_directories(dir_.path("other/home/u/mps/pipe"));
  EXPECT_THAT(look_with(dir_.path("other")).caution, HasSubstr("another folder is there"));
  EXPECT_EQ(look_with("/").problem, "");
}

TEST_F(DaemonOfOthers, IsNotSoughtThroughALink) {
  const UniqueFd daemon = listen();
  const std::string link = dir_.path("link");
  fs::create_directory_symlink(pipe_, link);
  elsewhere_.pipe = link;
  EXPECT_THAT(look().problem, HasSubstr(link + " is a link"));
  // The kernel would follow a link to a socket.
  fs::create_directory(dir_.path("other"));
  fs::create_symlink(pipe_ + "/control", dir_.path("other/control"));
  elsewhere_.pipe = dir_.path("other");
  EXPECT_THAT(look().problem, HasSubstr("is not a socket"));
}

TEST_F(DaemonOfOthers, InAFolderThatAllMayWriteIsWarnedOf) {
  const UniqueFd daemon = listen();
  ASSERT_EQ(::chmod(pipe_.c_str(), 0777), 0);  // as NVIDIA's daemon creates it
  EXPECT_EQ(look().problem, "");
  EXPECT_THAT(look().caution, HasSubstr("chmod 755"));
}

TEST_F(DaemonOfOthers, IsRefusedWhereItsFolderIsAnotherUsers) {
  if (::geteuid() != 0) GTEST_SKIP() << "giving a folder away needs root";
  const UniqueFd daemon = listen();
  ASSERT_EQ(::lchown((pipe_ + "/control").c_str(), 4711, 4711), 0);
  EXPECT_THAT(look().problem, HasSubstr("/control belongs to user 4711"));
  ASSERT_EQ(::chown(pipe_.c_str(), 4711, 4711), 0);
  EXPECT_THAT(look().problem, HasSubstr("is not given to containers"));
  EXPECT_FALSE(has_caller(daemon));
}

TEST_F(DaemonOfOthers, OfNvidiasIsSoughtWhenItSaysThatItIsReady) {
  elsewhere_.ready_when = {dir_.path(".ready"), dir_.path("x/.started")};
  elsewhere_.nvidia_root = "/run/nvidia/mps";
  EXPECT_EQ(look().problem, "NVIDIA's MPS control daemon is not ready: neither " +
                                dir_.path(".ready") + " nor " + dir_.path("x/.started") +
                                " exists; on the node that folder is /run/nvidia/mps, by "
                                "--mps-root");
  std::ofstream{dir_.path(".ready")}.flush();
  EXPECT_EQ(look().problem, "there is no " + pipe_);
  const UniqueFd daemon = listen();
  EXPECT_EQ(look().problem, "");
}

}  // namespace
}  // namespace tranche::node
