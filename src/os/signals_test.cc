// SPDX-License-Identifier: Apache-2.0
#include "os/signals.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>

namespace tranche::os {
namespace {

TEST(Signals, ComeThroughTheDescriptor) {
  const Result<UniqueFd> signals = take_signals({SIGUSR1, SIGUSR2});
  ASSERT_TRUE(signals);
  EXPECT_EQ(next_signal(*signals), std::nullopt);
  ::raise(SIGUSR2);
  pollfd polled{signals->get(), POLLIN, 0};
  EXPECT_EQ(::poll(&polled, 1, 0), 1);
  EXPECT_EQ(next_signal(*signals), SIGUSR2);
  EXPECT_EQ(next_signal(*signals), std::nullopt);
}

}  // namespace
}  // namespace tranche::os
