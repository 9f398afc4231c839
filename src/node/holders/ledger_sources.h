// SPDX-License-Identifier: Apache-2.0
//
// Where the kubelet tells who holds what, whether it can be reached there, and
// how it answers: for those who decide at start and for people.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "base/result.h"

namespace tranche::node {

struct LedgerSourceOptions {
  std::string pod_resources_socket = "/var/lib/kubelet/pod-resources/kubelet.sock";
  std::string checkpoint = "/var/lib/kubelet/device-plugins/kubelet_internal_checkpoint";
  // From one List to the next.
  std::chrono::milliseconds period{3000};
  // See call_gate.h.
  std::chrono::milliseconds quiet{500};
  // A List that is put off for so long is content with half of that, and so on.
  std::chrono::milliseconds quiet_patience{5000};
  // From one nudge to the next.
  std::chrono::milliseconds nudge_pause{2000};

  bool operator==(const LedgerSourceOptions&) const = default;
};

// Whether the folders that the sources live in are there. The folders and not the
// files: a kubelet that is down has no socket, and a new node has no checkpoint
// before its first plugin.
struct MountedSources {
  bool pod_resources = false;
  bool checkpoint = false;

  bool any() const { return pod_resources || checkpoint; }
  bool operator==(const MountedSources&) const = default;
};
MountedSources mounted_sources(const LedgerSourceOptions& options);

// Whether the ledger can be kept and one of the files that it is read from is there. On
// a node whose kubelet has never written a checkpoint nobody holds anything.
bool has_source_to_ask(const LedgerSourceOptions& options);

// One source, as it is now.
struct SourceStatus {
  bool is_mounted = false;
  bool answers = false;                         // when it was last asked
  bool has_answered = false;                    // ever
  std::chrono::system_clock::time_point since;  // when `answers` last changed
  std::string error;                            // while it does not answer

  bool operator==(const SourceStatus&) const = default;
};

// After it was asked, with this outcome. Pure.
SourceStatus asked(SourceStatus status, const std::optional<Error>& error,
                   std::chrono::system_clock::time_point now);

struct LedgerSourcesStatus {
  SourceStatus pod_resources;
  SourceStatus checkpoint;

  bool operator==(const LedgerSourcesStatus&) const = default;
};

}  // namespace tranche::node
