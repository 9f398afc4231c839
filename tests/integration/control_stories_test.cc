// SPDX-License-Identifier: Apache-2.0
//
// The socket behind our own commands, as somebody finds it who means no good.
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cstring>
#include <filesystem>

#include "integration/node_story.h"
#include "os/files.h"
#include "os/unique_fd.h"

namespace tranche::tests {
namespace {

class ControlStory : public NodeStory {
 protected:
  std::string control() const { return path("state/control.sock"); }

  std::size_t agent_descriptors() const {
    const auto open = list_directory("/proc/" + std::to_string(agent_->pid()) + "/fd");
    return open ? open->size() : 0;
  }

  // Leaves the agent this many more descriptors.
  void leave_descriptors(std::size_t more) {
    const rlimit limit{agent_descriptors() + more, agent_descriptors() + more};
    ASSERT_EQ(::prlimit(agent_->pid(), RLIMIT_NOFILE, &limit, nullptr), 0);
  }

  // Connects, and says nothing.
  UniqueFd connect() const {
    UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string name = control();
    std::memcpy(address.sun_path, name.c_str(), name.size() + 1);
    const bool is_connected =
        ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
    return is_connected ? std::move(fd) : UniqueFd();
  }
};

TEST_F(ControlStory, TwoHundredConnectionsTakeNeitherTheCommandsNorTheKubeletsPlace) {
  begin("t4-quad");
  expect_allocatable(kGpu, 4);
  ASSERT_EQ(command({"devices"}).exit_code, 0);
  leave_descriptors(40);
  std::vector<UniqueFd> held;
  for (int i = 0; i < 200; ++i) ASSERT_TRUE(held.emplace_back(connect())) << i;
  const auto shown = command({"devices"});
  EXPECT_THAT(shown.output, testing::HasSubstr("running since")) << shown.error;
  // A kubelet that restarts needs descriptors of ours, too.
  ASSERT_TRUE(kubelet_->restart());
  expect_allocatable(kGpu, 4);
  held.clear();
  EXPECT_THAT(command({"devices"}).output, testing::HasSubstr("running since"));
}

TEST_F(ControlStory, TheControlSocketAndItsFolderAreForRootAlone) {
  begin("t4-single");
  expect_allocatable(kGpu, 1);
  struct stat status{};
  ASSERT_EQ(::stat(control().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
  ASSERT_EQ(::stat(path("state").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0700U);
}

}  // namespace
}  // namespace tranche::tests
