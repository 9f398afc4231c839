// SPDX-License-Identifier: Apache-2.0
//
// A host's files for its node pods: one folder for each grant, with what is
// mounted into the container.
//
//   <directory>/<id>/gpu.env           /gpu.env there, read-only
//   <directory>/<id>/shown/grant.json  /gpu-grants/<resource>/grant.json there, read-only
//
// They lie on disk, because a container that is started again, also after a
// reboot, gets the same mounts without the kubelet asking us. What they say is
// kept current; they are removed when the kubelet no longer has the mount of any
// container.
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

// What is mounted, on the host.
struct HandedOffPaths {
  std::string id;
  std::string gpu_env;  // empty: the pod writes its own
  std::string folder;

  bool operator==(const HandedOffPaths&) const = default;
};

class HandedOff {
 public:
  using Clock = std::chrono::steady_clock;

  // A grant that no container has by then was never used: the kubelet notes it
  // in the same admission, which may wait for other plugins.
  static constexpr std::chrono::minutes kPatience{5};
  // How long its mount must be gone before the files are: a kubelet that has
  // just started may not know its pods for a moment.
  static constexpr std::chrono::seconds kGrace{10};

  // `issued` is called, from any thread, when there is a new grant to look after.
  HandedOff(
      const std::string& directory, Log& log, std::function<void()> issued = [] {},
      GpuEnvMount env_mount = GpuEnvMount::kReadOnly);

  // Takes up what an earlier agent handed off. Whatever else lies in the folder is
  // left alone.
  void recall(Clock::time_point now);

  // Writes the files of a new grant; its id is chosen here.
  Result<HandedOffPaths> issue(NestedGrant grant, Clock::time_point now);
  // The container will not be made after all.
  void withdraw(const std::string& id);

  // Brings all files up to date with the devices' health now.
  using HealthOf = std::function<Health(const std::string& resource, const NestedDevice& device)>;
  void refresh(const HealthOf& health_of);

  // `mounted`: paths on the host that the kubelet has mounted into containers.
  // Removes what none has any more, after a while; true: something waits for
  // the end of it.
  bool tidy(const std::set<std::string>& mounted, Clock::time_point now);

  // Earlier agents mounted gpu.env writable, and a container that is started again
  // gets it so again. Whether there is one; and cuts those that have grown: they lie
  // on the node's disk, and no limit of the pod's counts them.
  bool has_writable() const;
  void cut_writable();

  bool empty() const;
  std::vector<NestedGrant> grants() const;  // sorted by id
  const std::string& directory() const { return directory_; }

 private:
  struct Record {
    NestedGrant grant;
    bool is_readable = true;  // else it is left as it is
    Clock::time_point since;
    bool was_mounted = false;
    std::optional<Clock::time_point> gone_since;
    bool has_env = false;  // else the pod writes its own
    std::string env_line;  // what we last wrote to gpu.env; empty: not known
    std::string last_problem;
    std::string last_growth;
  };

  std::string folder_of(const std::string& id) const;
  Status write(const NestedGrant& grant) const;
  Status renew(Record& record, const HealthOf& health_of);
  Status renew_env(Record& record, const NestedGrant& grant) const;
  void cut(Record& record) const;
  bool is_kept(Record& record, const std::set<std::string>& mounted, Clock::time_point now) const;
  void tell(Record& record, std::string_view what, const Status& status) const;
  Status remove(const std::string& id) const;

  const std::string directory_;
  Log& log_;
  const std::function<void()> issued_;
  const GpuEnvMount env_mount_;
  mutable std::mutex mutex_;
  std::map<std::string, Record> records_;  // guarded by mutex_; by id
};

}  // namespace tranche::node
