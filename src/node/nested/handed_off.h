// SPDX-License-Identifier: Apache-2.0
//
// A host's files for its node pods: one folder per grant, mounted into the container.
//
//   <directory>/<id>/gpu.env           -> /gpu.env, read-only
//   <directory>/<id>/shown/grant.json  -> /gpu-grants/<resource>/grant.json, read-only
//
// They are on disk, because a restarted container gets the same mounts without an Allocate, also
// after a reboot. They are kept current, and removed when the kubelet mounts them into no container
// any more.
//
// Thread-safe.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/nested/nested_grant.h"
#include "core/settings/nested_options.h"
#include "os/log.h"

namespace tranche::node {

// The mounted paths on the host.
struct HandedOffPaths {
  std::string id;
  std::string gpu_env;  // empty: the pod writes its own
  std::string folder;

  bool operator==(const HandedOffPaths&) const = default;
};

class HandedOff {
 public:
  using Clock = std::chrono::steady_clock;

  // A grant that no container mounts by then was never used: the kubelet records it in the same
  // admission, which may wait for other plugins.
  static constexpr std::chrono::minutes kPatience{5};
  // Time between the end of the mount and the removal of the files: a kubelet that has just started
  // may not know its pods for a moment.
  static constexpr std::chrono::seconds kGrace{10};

  // Calls `issued` from any thread for every new grant.
  HandedOff(
      const std::string& directory, Log& log, std::function<void()> issued = [] {},
      GpuEnvMount env_mount = GpuEnvMount::kReadOnly);

  // Reads the grants of earlier agents. Ignores everything else in the folder.
  void recall(Clock::time_point now);

  // Writes the files of a new grant and chooses its id.
  Result<HandedOffPaths> issue(NestedGrant grant, Clock::time_point now);
  // Removes the grant: the container was not admitted.
  void withdraw(const std::string& id);

  // Updates the health in all files.
  using HealthOf = std::function<Health(const std::string& resource, const NestedDevice& device)>;
  void refresh(const HealthOf& health_of);

  // `mounted`: paths on the host that the kubelet has mounted into containers. Removes the files
  // that none has any more, after a while. True: some are waiting for that.
  bool tidy(const std::set<std::string>& mounted, Clock::time_point now);

  // Earlier agents mounted gpu.env writable, and a restarted container gets it so again. Those
  // files are on the node's disk, and no limit of the pod counts them, so grown ones are truncated.
  bool has_writable() const;
  void truncate_writable();

  bool empty() const;
  std::vector<NestedGrant> grants() const;  // sorted by id
  const std::string& directory() const { return directory_; }

 private:
  struct Record {
    NestedGrant grant;
    bool is_readable = true;  // else it is not touched
    Clock::time_point since;
    bool was_mounted = false;
    std::optional<Clock::time_point> gone_since;
    bool has_env = false;  // else the pod writes its own
    std::string env_line;  // last written to gpu.env; empty: unknown
    std::string last_problem;
    std::string last_growth;
  };

  std::string folder_of(const std::string& id) const;
  Status write(const NestedGrant& grant) const;
  Status renew(Record& record, const HealthOf& health_of);
  Status renew_env(Record& record, const NestedGrant& grant) const;
  void truncate(Record& record) const;
  bool is_kept(Record& record, const std::set<std::string>& mounted, Clock::time_point now) const;
  void log_problem(Record& record, std::string_view what, const Status& status) const;
  Status remove(const std::string& id) const;

  const std::string directory_;
  Log& log_;
  const std::function<void()> issued_;
  const GpuEnvMount env_mount_;
  mutable std::mutex mutex_;
  std::map<std::string, Record> records_;  // guarded by mutex_; by id
};

}  // namespace tranche::node
