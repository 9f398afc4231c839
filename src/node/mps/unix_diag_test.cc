// SPDX-License-Identifier: Apache-2.0
#include "node/mps/unix_diag.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tranche::node {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// A little-endian kernel's answer for an accepted connection: netlink's header, the socket (family
// 1, type 5, state 1, inode 0x45f2), its name and its peer.
const std::string kConnected(
    "\x38\x00\x00\x00\x14\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"
    "\x01\x05\x01\x00\xf2\x45\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00"
    "\x0b\x00\x00\x00/tmp/c\x00\x00"
    "\x08\x00\x02\x00\x47\x14\x00\x00"
    "\x00\x00\x00\x00",
    56);
const UnixSocket kSeen{.inode = 0x45f2, .peer = 0x1447, .name = "/tmp/c"};

TEST(UnixDiag, ReadsInodeNameAndPeer) {
  EXPECT_THAT(parse_unix_diag(kConnected), ElementsAre(kSeen));
  EXPECT_THAT(parse_unix_diag(kConnected + kConnected), ElementsAre(kSeen, kSeen));
}

TEST(UnixDiag, KnowsASocketThatListens) {
  std::string bytes = kConnected;
  bytes[18] = 10;
  EXPECT_TRUE(parse_unix_diag(bytes).at(0).is_listening);
}

TEST(UnixDiag, PassesOverWhatIsCutShortOrAnError) {
  EXPECT_THAT(parse_unix_diag(""), IsEmpty());
  EXPECT_THAT(parse_unix_diag(kConnected.substr(0, 40)), IsEmpty());
  std::string error = kConnected;
  error[4] = 2;  // NLMSG_ERROR
  EXPECT_THAT(parse_unix_diag(error), IsEmpty());
  std::string other_family = kConnected;
  other_family[16] = 2;
  EXPECT_THAT(parse_unix_diag(other_family), IsEmpty());
}

TEST(UnixDiag, KeepsWhatComesBeforeABrokenAttribute) {
  std::string bytes = kConnected;
  bytes[44] = 1;  // shorter than an attribute's own header
  EXPECT_THAT(parse_unix_diag(bytes), ElementsAre(UnixSocket{.inode = 0x45f2, .name = "/tmp/c"}));
}

TEST(UnixDiag, AsksForOneSocketWhateverItsCookie) {
  const std::string request = unix_diag_request(0x45f2);
  ASSERT_EQ(request.size(), 40U);
  EXPECT_EQ(request.substr(0, 8), std::string("\x28\x00\x00\x00\x14\x00\x01\x00", 8));
  EXPECT_EQ(request.substr(16, 1), "\x01");
  EXPECT_EQ(request.substr(24, 8), std::string("\xf2\x45\x00\x00\x05\x00\x00\x00", 8));
  EXPECT_EQ(request.substr(32), std::string(8, '\xff'));
}

}  // namespace
}  // namespace tranche::node
