// SPDX-License-Identifier: Apache-2.0
//
// A driver root with stand-ins of the MPS programs, a folder for daemons, and helpers for tests of
// the supervisor. Tests wait for conditions, never for a time.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/mps/mps_plan.h"
#include "node/mps/supervisor.h"
#include "os/child_process.h"
#include "os/log.h"
#include "os/testing/temp_dir.h"
#include "os/unique_fd.h"

namespace tranche::tests {

inline constexpr const char* kGpuA = "GPU-aaaaaaaa-0000-0000-0000-000000000000";
inline constexpr const char* kGpuB = "GPU-bbbbbbbb-0000-0000-0000-000000000000";

class MpsNode {
 public:
  MpsNode();
  ~MpsNode();
  MpsNode(const MpsNode&) = delete;
  MpsNode& operator=(const MpsNode&) = delete;

  // With the driver root's own loader and C library.
  void give_own_loader();
  void take_away_libcuda();

  std::string directory() const { return dir_.path("mps"); }
  std::string folder(const std::string& uuid) const { return directory() + "/" + uuid; }
  std::string root() const { return dir_.path("root"); }
  MpsPlan plan(const std::vector<std::string>& uuids, const LargestHeld& held = {}) const;

  // A new supervisor, as at an agent's start.
  MpsSupervisor& start_agent();
  // Destroys it, as at an agent's end.
  void end_agent() { supervisor_.reset(); }
  MpsSupervisor& supervisor() { return *supervisor_; }

  // Waits for such a report; the test fails if none comes.
  void await(const std::function<bool(const MpsReport&)>& has, const std::string& what);
  void await_state(const std::string& uuid, MpsState state);
  MpsDaemonStatus status(const std::string& uuid);
  MpsWiring wiring(const std::string& uuid);

  // A question to the stand-in, from outside.
  std::string ask(const std::string& uuid, const std::string& question) const;
  // See control_standin.cc.
  void behave(const std::string& uuid, const std::string& word) const;
  // A served client; it lives as long as the descriptor.
  UniqueFd connect_client(const std::string& uuid) const;
  // A foreign process at the clients' socket; see stranger.cc. When this returns, it has connected
  // and, with a word, got an answer.
  pid_t let_stranger_in(const std::string& uuid, uid_t user, const std::string& word = "");
  std::vector<pid_t> processes(const std::string& uuid) const;
  std::string log_text() const;
  void log_everything() { log_.configure(LogFormat::kText, LogLevel::kDebug); }

  MpsTimings timings;
  std::string host_mounts = "/proc/1/mountinfo";
  ComputeModeDriver compute_mode;

 private:
  TempDir dir_;
  mutable std::mutex log_mutex_;
  std::string log_text_;  // guarded by log_mutex_
  Log log_;
  std::unique_ptr<MpsSupervisor> supervisor_;
  std::vector<pid_t> strangers_;
};

// Waits for a condition that is not in a report.
void await_condition(const std::function<bool()>& holds, const std::string& what);

}  // namespace tranche::tests
