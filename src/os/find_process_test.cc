// SPDX-License-Identifier: Apache-2.0
#include "os/find_process.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "os/testing/temp_dir.h"

namespace tranche::os {
namespace {

class FindProcess : public testing::Test {
 protected:
  void process(const std::string& pid, const std::string& words) {
    std::filesystem::create_directories(proc_.path(pid));
    std::ofstream(proc_.path(pid + "/cmdline")) << words;
  }

  std::optional<pid_t> find(const std::string& name) { return find_process(name, proc_.path()); }

  TempDir proc_;
};

TEST_F(FindProcess, GoesByTheNameThatItWasStartedWith) {
  process("1", std::string("/pause\0", 7));
  process("12", std::string("config-manager\0", 15));
  process("20", std::string("nvidia-device-plugin\0--v=4\0", 27));
  EXPECT_EQ(find("nvidia-device-plugin"), 20);
  EXPECT_EQ(find("nvidia-device"), std::nullopt);
  EXPECT_EQ(find(""), std::nullopt);
}

// As NVIDIA's chart has it: the path here, the bare name there.
TEST_F(FindProcess, TakesAnotherPathOfTheSameName) {
  process("20", std::string("mps-control-daemon\0", 19));
  EXPECT_EQ(find("/usr/bin/mps-control-daemon"), 20);
}

TEST_F(FindProcess, PrefersTheExactNameAndThenTheLowestNumber) {
  process("9", std::string("/opt/daemon\0", 12));
  process("100", std::string("daemon\0", 7));
  process("30", std::string("daemon\0", 7));
  EXPECT_EQ(find("daemon"), 30);
  EXPECT_EQ(find("/usr/bin/daemon"), 9);
}

TEST_F(FindProcess, SkipsWhatEndsMeanwhileAndTheKernelsOwn) {
  std::filesystem::create_directories(proc_.path("5"));  // without a cmdline
  process("6", "");
  process("self", std::string("daemon\0", 7));
  process("7", std::string("daemon\0", 7));
  EXPECT_EQ(find("daemon"), 7);
}

TEST_F(FindProcess, IsNeverOurselves) {
  process(std::to_string(::getpid()), std::string("daemon\0", 7));
  EXPECT_EQ(find("daemon"), std::nullopt);
}

}  // namespace
}  // namespace tranche::os
