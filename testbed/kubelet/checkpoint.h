// SPDX-License-Identifier: Apache-2.0
//
// The device manager's checkpoint, in the kubelet's own format and with its
// checksum: a file written here can be read by a kubelet, and the other way
// round.
//
// encode and decode are pure; CheckpointFile is thread-safe.
#pragma once

#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "testbed/kubelet/node_state.h"

namespace tranche::testbed::standin {

inline constexpr std::string_view kCheckpointName = "kubelet_internal_checkpoint";

struct Checkpoint {
  AllocationsByPod pods;
  std::map<std::string, IdList> registered;  // healthy ids by resource

  bool operator==(const Checkpoint&) const = default;
};

Checkpoint checkpoint_of(const NodeState& state);

std::string encode_checkpoint(const Checkpoint& checkpoint);

// Refuses what the kubelet refuses: text that is not JSON, and a checksum that
// does not fit.
Result<Checkpoint> decode_checkpoint(std::string_view text);

class CheckpointFile {
 public:
  explicit CheckpointFile(const std::string& directory);

  // A missing file is kNotFound.
  Result<Checkpoint> read() const;

  // Writes what `snapshot` returns. It is called with the file locked, so that
  // an older state never replaces a newer one.
  template <typename Snapshot>
  Status write(Snapshot snapshot) {
    const std::lock_guard lock(mutex_);
    if (closed_) return Done{};
    return write_text(encode_checkpoint(snapshot()));
  }

  // No write after this: the process that wrote is dead.
  void close();

 private:
  Status write_text(const std::string& text) const;

  const std::string path_;
  std::mutex mutex_;
  bool closed_ = false;  // guarded by mutex_
};

}  // namespace tranche::testbed::standin
