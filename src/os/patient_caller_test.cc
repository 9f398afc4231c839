// SPDX-License-Identifier: Apache-2.0
#include "os/patient_caller.h"

#include <gtest/gtest.h>

#include <future>
#include <thread>

namespace tranche::os {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;

TEST(PatientCaller, GivesTheAnswerOfACallThatReturns) {
  PatientCaller caller;
  EXPECT_EQ(caller.call<int>([] { return 1; }, minutes(1)).value, 1);
  EXPECT_EQ(caller.call<int>([] { return 2; }, minutes(1)).value, 2);
}

TEST(PatientCaller, MakesItsCallsOnOneThreadWhileNoneHangs) {
  PatientCaller caller;
  const auto first =
      caller.call<std::thread::id>([] { return std::this_thread::get_id(); }, minutes(1));
  const auto second =
      caller.call<std::thread::id>([] { return std::this_thread::get_id(); }, minutes(1));
  EXPECT_EQ(first.value, second.value);
  EXPECT_NE(first.value, std::this_thread::get_id());
}

TEST(PatientCaller, LeavesAHangingCallBehindAndGoesOn) {
  auto release = std::make_shared<std::promise<void>>();
  PatientCaller caller;
  const auto hung = caller.call<int>(
      [gate = release->get_future().share()] {
        gate.wait();
        return 1;
      },
      milliseconds(1));
  EXPECT_EQ(hung.value, std::nullopt);
  EXPECT_TRUE(hung.stuck.is_stuck());
  EXPECT_EQ(calls_left_behind(), 1);
  EXPECT_EQ(caller.call<int>([] { return 2; }, minutes(1)).value, 2);

  release->set_value();
  while (hung.stuck.is_stuck() || calls_left_behind() > 0) std::this_thread::yield();
}

TEST(PatientCaller, LeavesACallBehindWhenItIsToStop) {
  auto release = std::make_shared<std::promise<void>>();
  auto begun = std::make_shared<std::promise<void>>();
  PatientCaller caller;
  std::stop_source stop;
  const std::jthread stopper([&, has_begun = begun->get_future().share()] {
    has_begun.wait();
    stop.request_stop();
  });
  const auto left = caller.call<int>(
      [begun, gate = release->get_future().share()] {
        begun->set_value();
        gate.wait();
        return 1;
      },
      minutes(10), stop.get_token());
  EXPECT_EQ(left.value, std::nullopt);
  EXPECT_TRUE(left.stuck.is_stuck());
  release->set_value();
  while (left.stuck.is_stuck() || calls_left_behind() > 0) std::this_thread::yield();
}

TEST(PatientCaller, CanBeDestroyedWhileACallHangs) {
  auto release = std::make_shared<std::promise<void>>();
  auto finished = std::make_shared<std::promise<void>>();
  {
    PatientCaller caller;
    caller.call<int>(
        [gate = release->get_future().share(), finished] {
          gate.wait();
          finished->set_value();
          return 1;
        },
        milliseconds(1));
  }
  release->set_value();
  finished->get_future().wait();
}

}  // namespace
}  // namespace tranche::os
