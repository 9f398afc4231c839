// SPDX-License-Identifier: Apache-2.0
#include "node/holders/ledger_sources.h"

#include "base/path.h"
#include "os/files.h"

namespace tranche::node {

MountedSources mounted_sources(const LedgerSourceOptions& options) {
  const auto is_mounted = [](const std::string& path) {
    return !path.empty() && path_exists(parent_of(path));
  };
  return {is_mounted(options.pod_resources_socket), is_mounted(options.checkpoint)};
}

bool has_source_to_ask(const LedgerSourceOptions& options) {
  return mounted_sources(options).pod_resources &&
         (path_exists(options.pod_resources_socket) ||
          (!options.checkpoint.empty() && path_exists(options.checkpoint)));
}

SourceStatus after_read(SourceStatus status, const std::optional<Error>& error,
                        std::chrono::system_clock::time_point now) {
  const bool answers = !error;
  const bool is_first = !status.has_answered && status.error.empty();
  if (is_first || status.answers != answers) status.since = now;
  status.answers = answers;
  status.has_answered |= answers;
  status.error = error ? error->message : std::string();
  return status;
}

}  // namespace tranche::node
