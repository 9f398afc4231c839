// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <vector>

#include "base/text.h"
#include "node/control/agent_client.h"
#include "node/control/control_listener.h"
#include "node/control/control_server.h"
#include "os/latest.h"
#include "os/testing/temp_dir.h"
#include "os/unique_fd.h"

namespace tranche::node {
namespace {

using testing::HasSubstr;

ControlHandlers handlers() {
  return {.status = [] { return std::string(R"({"gpus":[]})"); },
          .release = [](const std::vector<std::string>& gpus) -> Result<std::string> {
            if (gpus == std::vector<std::string>{"9"}) {
              return Error{ErrorCode::kInvalidArgument, "there is no GPU 9"};
            }
            return "released " + join(gpus, ",");
          },
          .resume = [] { return Result<std::string>("resumed"); },
          .forget_numbers =
              [](const std::vector<std::string>& numbers) {
                return Result<std::string>("forgot " + join(numbers, ","));
              }};
}

TEST(Control, CarriesQuestionsAndAnswers) {
  const TempDir dir;
  const std::string socket = control_socket(dir.path());
  const auto server = ControlServer::start(socket, handlers());
  ASSERT_TRUE(server) << server.error().message;
  EXPECT_EQ(*ask_status(socket), R"({"gpus":[]})");
  EXPECT_EQ(*ask_release(socket, {"0", "GPU-1"}), "released 0,GPU-1");
  EXPECT_EQ(*ask_resume(socket), "resumed");
  EXPECT_EQ(*ask_forget_numbers(socket, {"1", "2"}), "forgot 1,2");
}

TEST(Control, TellsThePersonWhatWasWrong) {
  const TempDir dir;
  const std::string socket = control_socket(dir.path());
  const auto server = ControlServer::start(socket, handlers());
  ASSERT_TRUE(server);
  const Result<std::string> answer = ask_release(socket, {"9"});
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(answer.error().message, "there is no GPU 9");
}

TEST(Control, SaysWhereNoAgentRuns) {
  const Result<std::string> answer = ask_status("/nowhere/control.sock");
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(answer.error().message, HasSubstr("no agent runs here"));
}

TEST(Control, SaysThatPermissionIsDeniedAndWhatToDo) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs to be root, to be nobody for a moment";
  const TempDir dir;
  const std::string socket = control_socket(dir.path());
  const auto server = ControlServer::start(socket, handlers());
  ASSERT_TRUE(server) << server.error().message;
  ASSERT_EQ(::seteuid(65534), 0);
  const Result<std::string> answer = ask_status(socket);
  ASSERT_EQ(::seteuid(0), 0);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::kInternal);
  EXPECT_THAT(answer.error().message, HasSubstr("permission denied"));
  EXPECT_THAT(answer.error().message, HasSubstr("as root"));
}

TEST(Control, SaysThatNoAgentRunsWhereOneLeftItsSocket) {
  const TempDir dir;
  const std::string socket = control_socket(dir.path());
  std::ofstream(socket) << "left behind";
  const Result<std::string> answer = ask_forget_numbers(socket, {"1"});
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::kUnavailable) << answer.error().message;
}

TEST(Control, IsForRootAlone) {
  const TempDir dir;
  const std::string socket = control_socket(dir.path());
  const auto server = ControlServer::start(socket, handlers());
  ASSERT_TRUE(server);
  struct stat status{};
  ASSERT_EQ(::stat(socket.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
}

TEST(Control, TakesTheSocketOfADeadAgentAndNotALivingOnes) {
  const TempDir dir;
  const std::string socket = control_socket(dir.path());
  std::ofstream(socket) << "left behind";
  const auto first = ControlServer::start(socket, handlers());
  ASSERT_TRUE(first) << first.error().message;
  const auto second = ControlServer::start(socket, handlers());
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().message, HasSubstr("another agent already answers"));
  EXPECT_TRUE(ask_status(socket));
}

// A client that has connected and sends nothing.
class Silent {
 public:
  explicit Silent(const std::string& socket)
      : fd_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, socket.c_str(), socket.size() + 1);
    is_connected_ =
        ::connect(fd_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
  }

  bool is_connected() const { return is_connected_; }
  // Waits until the other side closes it.
  bool is_closed() const {
    std::array<char, 4096> bytes{};
    ssize_t got = 0;
    do {
      got = ::read(fd_.get(), bytes.data(), bytes.size());  // a greeting comes first
    } while (got > 0);
    return got == 0 || errno == ECONNRESET;
  }

 private:
  UniqueFd fd_;
  bool is_connected_ = false;
};

TEST(Control, AnswersThoughManyConnectionsAreHeldOpen) {
  const TempDir dir;
  const std::string socket = control_socket(dir.path());
  const auto server = ControlServer::start(socket, handlers());
  ASSERT_TRUE(server);
  std::vector<Silent> held;
  for (int i = 0; i < 200; ++i) ASSERT_TRUE(held.emplace_back(socket).is_connected());
  EXPECT_TRUE(ask_status(socket));
  // The oldest were closed, so that descriptors are left for others and the kubelet.
  const std::size_t most = ControlListener::kMostConnections;
  for (std::size_t i = 0; i < held.size() - most; ++i) EXPECT_TRUE(held[i].is_closed());
}

TEST(Control, ClosesAConnectionThatIsIdle) {
  const TempDir dir;
  const std::string socket = control_socket(dir.path());
  const auto server =
      ControlServer::start(socket, handlers(), {.idle = std::chrono::milliseconds(1)});
  ASSERT_TRUE(server);
  const Silent silent(socket);
  EXPECT_TRUE(silent.is_closed());
}

TEST(Control, MakesItsSocketAgainWhenItIsRemoved) {
  const TempDir dir;
  const std::string socket = control_socket(dir.path());
  Latest<std::string> said;
  const auto server =
      ControlServer::start(socket, handlers(),
                           {.probe_period = std::chrono::milliseconds(1),
                            .restarted = [&](const std::string& reason) { said.publish(reason); }});
  ASSERT_TRUE(server);
  std::filesystem::remove(socket);
  EXPECT_GT(said.wait_newer(0, std::chrono::seconds(60)).version, 0U);
  EXPECT_TRUE(ask_status(socket));
}

TEST(Control, MakesItsSocketAgainWhenSomebodyElseListensThereAndDoesNotAnswer) {
  const TempDir dir;
  const std::string socket = control_socket(dir.path());
  Latest<std::string> said;
  const auto server =
      ControlServer::start(socket, handlers(),
                           {.probe_period = std::chrono::milliseconds(1),
                            .probe_patience = std::chrono::milliseconds(500),
                            .restarted = [&](const std::string& reason) { said.publish(reason); }});
  ASSERT_TRUE(server);
  const auto deaf = ControlListener::listen(socket, [](int) {});
  ASSERT_TRUE(deaf);
  EXPECT_GT(said.wait_newer(0, std::chrono::seconds(60)).version, 0U);
  EXPECT_TRUE(ask_status(socket));
}

TEST(Control, LeavesTheSocketOfAnotherWhenItEnds) {
  const TempDir dir;
  const std::string socket = control_socket(dir.path());
  auto first = ControlServer::start(socket, handlers());
  ASSERT_TRUE(first);
  std::filesystem::remove(socket);
  const auto second = ControlServer::start(socket, handlers());
  ASSERT_TRUE(second) << second.error().message;
  first->reset();
  EXPECT_TRUE(ask_status(socket));
}

// Even if the modes of socket and folder would allow it.
TEST(Control, AnotherUserOfTheNodeIsNotAnswered) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, to be somebody else";
  const TempDir dir;
  const std::string socket = control_socket(dir.path());
  const auto server = ControlServer::start(socket, handlers());
  ASSERT_TRUE(server);
  ASSERT_EQ(::chmod(dir.path().c_str(), 0755), 0);
  const auto closed_for = [&](uid_t user) {
    const pid_t child = ::fork();
    if (child == 0) {
      if (::setuid(user) != 0) ::_exit(2);
      const Silent silent(socket);
      ::_exit(!silent.is_connected() || silent.is_closed() ? 1 : 0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 1;
  };
  EXPECT_TRUE(closed_for(65534)) << "the mode of the socket";
  ASSERT_EQ(::chmod(socket.c_str(), 0777), 0);
  EXPECT_TRUE(closed_for(65534)) << "the user of the peer";
  EXPECT_TRUE(ask_status(socket));
}

}  // namespace
}  // namespace tranche::node
