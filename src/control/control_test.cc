// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "base/testing/temp_dir.h"
#include "base/text.h"
#include "control/control_client.h"
#include "control/control_server.h"

namespace tranche {
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

}  // namespace
}  // namespace tranche
