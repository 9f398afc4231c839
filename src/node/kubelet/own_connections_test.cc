// SPDX-License-Identifier: Apache-2.0
#include "node/kubelet/own_connections.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <thread>

#include "os/testing/temp_dir.h"
#include "os/testing/unix_socket.h"
#include "os/unique_fd.h"

namespace tranche::node {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class OwnConnections : public testing::Test {
 protected:
  TempDir dir_;
  std::string path_ = dir_.path("our.sock");
  UniqueFd server_ = listening_on(path_);
};

TEST_F(OwnConnections, AreNoneWhileNobodyHasConnected) {
  EXPECT_FALSE(has_peer(path_));
  EXPECT_TRUE(wait_for_no_peer(path_, milliseconds(0)));
}

TEST_F(OwnConnections, AreThereUntilOurSideIsClosed) {
  const UniqueFd client = connected_to(path_);
  UniqueFd accepted(::accept(server_.get(), nullptr, nullptr));
  EXPECT_TRUE(has_peer(path_));
  EXPECT_FALSE(wait_for_no_peer(path_, milliseconds(1)));
  std::jthread closes([&] { accepted.reset(); });
  EXPECT_TRUE(wait_for_no_peer(path_, seconds(60)));
}

TEST_F(OwnConnections, OfAnotherSocketDoNotCount) {
  const std::string other = dir_.path("our.sock.not");
  const UniqueFd server = listening_on(other);
  const UniqueFd client = connected_to(other);
  const UniqueFd accepted(::accept(server.get(), nullptr, nullptr));
  EXPECT_FALSE(has_peer(path_));
  EXPECT_TRUE(has_peer(other));
}

}  // namespace
}  // namespace tranche::node
