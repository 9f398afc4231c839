// SPDX-License-Identifier: Apache-2.0
#include "core/mps/silence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tranche::core {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

ProcessFacts of_pod(const std::string& pod, pid_t pid = 7) {
  return {.pid = pid, .uid = 1000, .command = "sh", .pod = pod};
}

HeldConnection held_by(ProcessFacts holder) {
  return {.inode = 1, .peer = 2, .holders = {std::move(holder)}, .connected_uid = 1000};
}

TEST(ASilentDaemon, IsNotRestartedWhileSomebodyHoldsItsConnection) {
  EXPECT_FALSE(should_restart({.held = held_by(of_pod("a")), .has_server = true, .clients = 2}));
  EXPECT_FALSE(should_restart({.held = held_by(of_pod("a")), .has_server = true}));
  EXPECT_FALSE(should_restart({.held = held_by(of_pod("a"))}));
}

TEST(ASilentDaemon, IsNotRestartedWhileClientsCompute) {
  EXPECT_FALSE(should_restart({.has_server = true, .clients = 1}));
  EXPECT_FALSE(should_restart({.is_stopped = true, .has_server = true, .clients = 1}));
}

TEST(ASilentDaemon, IsRestartedWhereNobodyLosesAnything) {
  EXPECT_TRUE(should_restart({}));
  EXPECT_TRUE(should_restart({.has_server = true}));
  EXPECT_TRUE(should_restart({.is_stopped = true}));
}

TEST(ASilentDaemon, IsNotRestartedWhereItsClientsCannotBeCountedAndItsServerLives) {
  const Silence unknown{.has_server = true, .clients = std::nullopt};
  EXPECT_FALSE(should_restart(unknown));
  EXPECT_THAT(describe(unknown, "no answer"),
              HasSubstr("no answer; it is not restarted while its server lives"));
  EXPECT_TRUE(should_restart({.has_server = false, .clients = std::nullopt}));
}

TEST(ASilentDaemon, SaysWhoKeepsItFromAnswering) {
  EXPECT_THAT(describe(Silence{.held = held_by(of_pod("p-1"))}, "no answer"),
              HasSubstr("process 7 (sh, uid 1000, pod p-1) holds a connection"));
  EXPECT_THAT(describe(Silence{.held = HeldConnection{.connected_uid = 65534}}, "no answer"),
              HasSubstr("a process of uid 65534 that the agent does not see holds a connection"));
}

TEST(ASilentDaemon, SaysWhatItWaitsFor) {
  HeldConnection held = held_by(of_pod("p-1"));
  EXPECT_THAT(describe(held), HasSubstr("control socket and sends nothing; the daemon"));
  held.is_unread = true;
  EXPECT_THAT(describe(held),
              HasSubstr("control socket and does not read its answers; the daemon"));
}

TEST(ASilentDaemon, SaysWhyItIsNotRestarted) {
  EXPECT_EQ(
      describe(Silence{.has_server = true, .clients = 2}, "no answer"),
      "no answer; it is not restarted while 2 clients compute through it; the device is healthy "
      "again when the daemon serves again, or is restarted after that");
  EXPECT_THAT(describe(Silence{.is_stopped = true, .has_server = true, .clients = 1}, "no answer"),
              HasSubstr("its process is stopped by a signal or a debugger"));
  EXPECT_EQ(describe(Silence{}, "no answer"), "no answer");
}

TEST(ASilentDaemon, NamesAFewOfManyHolders) {
  HeldConnection held;
  for (pid_t pid = 1; pid <= 5; ++pid) held.holders.push_back(of_pod("p", pid));
  EXPECT_THAT(describe(held), HasSubstr("and 2 more"));
  EXPECT_THAT(describe(held), Not(HasSubstr("process 4")));
}

TEST(TwoLooksInARow, AreAHoldWhoeverHolds) {
  HeldThroughout looks;
  looks.observe(held_by(of_pod("a")));
  EXPECT_EQ(looks.held(), std::nullopt);
  looks.observe(std::nullopt);
  looks.observe(held_by(of_pod("a")));
  EXPECT_EQ(looks.held(), std::nullopt);
  HeldConnection next = held_by(of_pod("b"));
  next.inode = 3;
  looks.observe(next);
  EXPECT_EQ(looks.held(), next);
  looks.observe(std::nullopt);
  EXPECT_EQ(looks.held(), next);
}

class Holding : public testing::Test {
 protected:
  std::vector<ProcessFacts> at(milliseconds when, const std::optional<HeldConnection>& held) {
    return look(when, held).holders;
  }
  HoldingTime::Due look(milliseconds when, const std::optional<HeldConnection>& held) {
    return time_.observe(held, HoldingTime::Clock::time_point(minutes(1)) + when);
  }
  HoldingTime time_{seconds(10), "own"};
};

TEST_F(Holding, IsEndedWhenItsTimeIsUp) {
  const HeldConnection held = held_by(of_pod("a"));
  EXPECT_THAT(at(seconds(0), held), IsEmpty());
  EXPECT_THAT(at(seconds(6), held), IsEmpty());
  EXPECT_THAT(at(seconds(12), held), ElementsAre(of_pod("a")));
}

TEST_F(Holding, IsNotEndedOutsideOfPodsNorInOurOwn) {
  for (const char* pod : {"", "own"}) {
    for (int second = 0; second < 60; second += 6) {
      EXPECT_THAT(at(seconds(second), held_by(of_pod(pod))), IsEmpty());
    }
  }
}

TEST_F(Holding, IsCountedForThePodWhoseProcessesTakeTurns) {
  EXPECT_THAT(at(seconds(0), held_by(of_pod("a", 7))), IsEmpty());
  EXPECT_THAT(at(seconds(6), held_by(of_pod("a", 8))), IsEmpty());
  EXPECT_THAT(at(seconds(12), held_by(of_pod("a", 9))), ElementsAre(of_pod("a", 9)));
}

TEST_F(Holding, IsNotForgivenForAMomentOfRelease) {
  EXPECT_THAT(at(seconds(0), held_by(of_pod("a"))), IsEmpty());
  EXPECT_THAT(at(seconds(6), held_by(of_pod("a"))), IsEmpty());
  EXPECT_THAT(at(seconds(7), std::nullopt), IsEmpty());
  EXPECT_THAT(at(seconds(8), held_by(of_pod("a"))), IsEmpty());
  EXPECT_THAT(at(seconds(13), held_by(of_pod("a"))), ElementsAre(of_pod("a")));
}

TEST_F(Holding, EndsTheConnectionWhoeverHasTheOtherEnd) {
  HeldConnection unseen{.inode = 1, .connected_uid = 1000};
  EXPECT_FALSE(look(seconds(0), unseen).connection);
  EXPECT_FALSE(look(seconds(6), held_by(of_pod(""))).connection);
  EXPECT_TRUE(look(seconds(12), unseen).connection);
  // Another of the same user's.
  unseen.inode = 3;
  EXPECT_TRUE(look(seconds(13), unseen).connection);
  EXPECT_FALSE(look(seconds(14), HeldConnection{.inode = 5, .connected_uid = 7}).connection);
}

TEST_F(Holding, IsEndedWithTheProcessWhereThePodConnectsAgainAndAgain) {
  HeldConnection held = held_by(of_pod("a"));
  look(seconds(0), held);
  for (int second = 10; second < 13; ++second) {
    const HoldingTime::Due due = look(seconds(second), held);
    EXPECT_TRUE(due.connection);
    EXPECT_THAT(due.persistent, IsEmpty());
    time_.note_ended(held);
    ++held.inode;
  }
  EXPECT_THAT(look(seconds(13), held).persistent, ElementsAre(of_pod("a")));
  EXPECT_THAT(look(seconds(14), held_by(of_pod("b"))).persistent, IsEmpty());
}

TEST_F(Holding, IsNotCountedForAPodThatTheLastLookDidNotSee) {
  HeldConnection attackers = held_by(of_pod("a"));
  attackers.inode = 9;
  EXPECT_THAT(at(seconds(0), held_by(of_pod("b"))), IsEmpty());
  EXPECT_THAT(at(seconds(1), attackers), IsEmpty());
  EXPECT_THAT(at(seconds(20), attackers), ElementsAre(of_pod("a")));
  EXPECT_THAT(at(seconds(39), held_by(of_pod("b"))), IsEmpty());
}

TEST_F(Holding, IsForgottenInTheEnd) {
  EXPECT_THAT(at(seconds(0), held_by(of_pod("a"))), IsEmpty());
  EXPECT_THAT(at(seconds(9), held_by(of_pod("a"))), IsEmpty());
  EXPECT_THAT(at(minutes(20), held_by(of_pod("a"))), IsEmpty());
  EXPECT_THAT(at(minutes(20) + seconds(5), held_by(of_pod("a"))), IsEmpty());
}

TEST_F(Holding, OfOnePodIsNotAnothersTime) {
  EXPECT_THAT(at(seconds(0), held_by(of_pod("a"))), IsEmpty());
  EXPECT_THAT(at(seconds(9), held_by(of_pod("a"))), IsEmpty());
  EXPECT_THAT(at(seconds(12), held_by(of_pod("b"))), IsEmpty());
}

}  // namespace
}  // namespace tranche::core
