// SPDX-License-Identifier: Apache-2.0
#include "node/driver/fault_memory_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "core/health/testing/readings.h"
#include "os/files.h"
#include "os/testing/temp_dir.h"

namespace tranche::node {
namespace {

DriverEvent xid(unsigned number) {
  return {.kind = DriverEvent::Kind::kXid, .gpu = GpuUuid("GPU-0"), .xid = number};
}

DriverReading with_energy(std::uint64_t energy_mj, std::uint64_t session = 1) {
  DriverReading reading = all_fine(1, session);
  reading.gpus[0].vitals.energy_mj = energy_mj;
  reading.gpus[0].vitals.pcie_replays = energy_mj;
  reading.gpus[0].vitals.persistence = true;
  return reading;
}

class FaultMemoryInAFile : public testing::Test {
 protected:
  // Each write replaces the file, so an inode is one write. While this file exists, no other gets
  // its number.
  ino_t inode() {
    struct stat info{};
    EXPECT_EQ(::stat(path_.c_str(), &info), 0);
    held_.push_back(held_.empty() ? dir_.path("first") : dir_.path(std::to_string(held_.size())));
    ::link(path_.c_str(), held_.back().c_str());
    return info.st_ino;
  }

  TempDir dir_;
  const std::string path_ = dir_.path("faults.json");
  std::vector<std::string> held_;
  Log log_{[](std::string_view) {}};
  FaultMemoryFile file_{path_, log_};
};

TEST_F(FaultMemoryInAFile, IsNotWrittenAgainWhileOnlyCountersGrow) {
  NodeState state = with_event(with_reading({}, with_energy(1000), kAround), xid(119), {}, kAround);
  file_.remember(state);
  const ino_t first = inode();
  for (std::uint64_t energy = 1001; energy < 1100; ++energy) {
    state = with_reading(std::move(state), with_energy(energy), kAround);
    file_.remember(state);
    ASSERT_EQ(inode(), first) << energy;
  }
}

TEST_F(FaultMemoryInAFile, IsWrittenWhenAFaultComesOrGoes) {
  NodeState state = with_event(with_reading({}, with_energy(1000), kAround), xid(119), {}, kAround);
  file_.remember(state);
  const ino_t first = inode();
  state = with_event(std::move(state), xid(79), {}, kAround);
  file_.remember(state);
  const ino_t second = inode();
  EXPECT_NE(second, first);
  state = with_reading(std::move(state), with_energy(1000), kAround);
  state = with_reading(std::move(state), with_energy(3), kAround);
  ASSERT_THAT(state.faults, testing::IsEmpty());
  file_.remember(state);
  EXPECT_NE(inode(), second);
}

// The counters in the file are older than the reset, but not younger.
TEST_F(FaultMemoryInAFile, StillShowsAResetAfterARestart) {
  NodeState state = with_event(with_reading({}, with_energy(1000), kAround), xid(119), {}, kAround);
  file_.remember(state);
  file_.remember(with_reading(state, with_energy(5000), kAround));
  FaultMemoryFile again(path_, log_);
  std::optional<NodeState> recalled = again.recall();
  ASSERT_TRUE(recalled);
  recalled = with_reading(*std::move(recalled), with_energy(2, 1), kAround);
  EXPECT_THAT(recalled->faults, testing::IsEmpty());
}

// Otherwise the next write would destroy it.
TEST_F(FaultMemoryInAFile, IsPutAsideWhereItCannotBeParsed) {
  ASSERT_TRUE(write_atomically(path_, "garbage", 0600));
  EXPECT_FALSE(file_.recall());
  EXPECT_FALSE(path_exists(path_));
  EXPECT_EQ(*read_file(path_ + ".unreadable"), "garbage");
  file_.remember(with_event(with_reading({}, with_energy(1000), kAround), xid(119), {}, kAround));
  EXPECT_TRUE(FaultMemoryFile(path_, log_).recall());
}

// Later counters are compared with the one that fell.
TEST_F(FaultMemoryInAFile, IsWrittenWhenACounterFalls) {
  NodeState state = with_event(with_reading({}, with_energy(1000), kAround), xid(54), {}, kAround);
  file_.remember(state);
  const ino_t first = inode();
  state = with_reading(std::move(state), with_energy(3), kAround);
  file_.remember(state);
  EXPECT_NE(inode(), first);
}

}  // namespace
}  // namespace tranche::node
