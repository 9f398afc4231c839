// SPDX-License-Identifier: Apache-2.0
//
// The kubelet's two allocation sources: their paths, whether they can be reached, and their status.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "base/result.h"

namespace tranche::node {

struct LedgerSourceOptions {
  std::string pod_resources_socket = "/var/lib/kubelet/pod-resources/kubelet.sock";
  std::string checkpoint = "/var/lib/kubelet/device-plugins/kubelet_internal_checkpoint";
  // Between two Lists.
  std::chrono::milliseconds period{3000};
  // See call_gate.h.
  std::chrono::milliseconds quiet{500};
  // After each such delay, a List requires half of the quiet time.
  std::chrono::milliseconds quiet_patience{5000};
  // Between two nudges.
  std::chrono::milliseconds nudge_pause{2000};

  bool operator==(const LedgerSourceOptions&) const = default;
};

// Whether the folders of the sources exist. Not the files: a kubelet that is down has no socket,
// and a new node has no checkpoint before its first plugin.
struct MountedSources {
  bool pod_resources = false;
  bool checkpoint = false;

  bool any() const { return pod_resources || checkpoint; }
  bool operator==(const MountedSources&) const = default;
};
MountedSources mounted_sources(const LedgerSourceOptions& options);

// Whether the ledger can be kept and one of its files exists. If the kubelet has never written a
// checkpoint, no container holds a device.
bool has_source_to_ask(const LedgerSourceOptions& options);

// Status of one source.
struct SourceStatus {
  bool is_mounted = false;
  bool answers = false;                         // at the last read
  bool has_answered = false;                    // ever
  std::chrono::system_clock::time_point since;  // when `answers` last changed
  std::string error;                            // while it does not answer

  bool operator==(const SourceStatus&) const = default;
};

// The status after a read with this outcome. Pure.
SourceStatus after_read(SourceStatus status, const std::optional<Error>& error,
                        std::chrono::system_clock::time_point now);

struct LedgerSourcesStatus {
  SourceStatus pod_resources;
  SourceStatus checkpoint;

  bool operator==(const LedgerSourcesStatus&) const = default;
};

}  // namespace tranche::node
