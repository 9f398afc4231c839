// SPDX-License-Identifier: Apache-2.0
#include "node/nested/host_grant_reader.h"

#include <fmt/core.h>
#include <sys/stat.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/path.h"
#include "formats/nested_grant_json.h"
#include "formats/parse_gpu_env.h"
#include "os/file_identity.h"
#include "os/files.h"

namespace tranche::node {
namespace {

using std::chrono::milliseconds;

// Enough for a few dozen devices.
constexpr std::size_t kLargestFile = 1U << 20U;
// A list counts once it is unchanged for this time: it is written in place, and a read may see half
// of it. An empty one may be about to be written.
constexpr milliseconds kWritePatience{50};
constexpr milliseconds kEmptyPatience{500};
// Polling interval if nothing can be watched.
constexpr milliseconds kUnwatchedPause{2'000};
constexpr int kTries = 5;

// Opening a pipe could block for ever.
bool is_plain(const std::string& path) {
  struct stat status{};
  return ::stat(path.c_str(), &status) != 0 || S_ISREG(status.st_mode);
}

// A consistent state: reads again if the file is written meanwhile.
Result<std::string> read_steady_file(const std::string& path) {
  if (!is_plain(path)) return Error{ErrorCode::kInvalidArgument, path + " is no plain file"};
  for (int tries = 0; tries < kTries; ++tries) {
    const auto before = file_identity(path);
    Result<std::string> text = read_file(path, kLargestFile);
    if (!text || file_identity(path) == before) return text;
  }
  return Error{ErrorCode::kUnavailable, fmt::format("reading {}: it keeps changing", path)};
}

Result<NestedGrant> read_json(const std::string& path) {
  const Result<std::string> text = read_steady_file(path);
  if (!text) return text.error();
  Result<NestedGrant> grant = parse_nested_grant(*text);
  if (!grant) return grant.error().in("reading " + path);
  return grant;
}

// The folder's documents: in it, or in subfolders.
std::vector<std::string> documents_in(const std::string& folder) {
  std::vector<std::string> found;
  const std::string file(kGrantFile);
  if (path_exists(below(folder, file))) found.push_back(below(folder, file));
  const auto names = list_directory(folder);
  if (!names) return found;
  for (const std::string& name : *names) {
    const std::string path = below(below(folder, name), file);
    if (path_exists(path)) found.push_back(path);
  }
  return found;
}

}  // namespace

Result<HostGrant> read_host_grant(const NestedOptions& options) {
  HostGrant found{.source = options.host_grants};
  for (const std::string& path : documents_in(options.host_grants)) {
    Result<NestedGrant> grant = read_json(path);
    // A document that cannot be parsed may have GPUs that the others lack.
    if (!grant) return grant.error();
    found.grants.push_back(*std::move(grant));
  }
  if (!found.grants.empty()) return found;
  if (!path_exists(options.gpu_env)) {
    return Error{ErrorCode::kNotFound,
                 fmt::format("there is neither a {} below {} nor a file {}; the host's agent "
                             "mounts both",
                             kGrantFile, options.host_grants, options.gpu_env)};
  }
  const Result<std::string> text = read_steady_file(options.gpu_env);
  if (!text) return text.error();
  const Result<GpuEnv> env = parse_gpu_env(*text);
  if (!env) return env.error().in("reading " + options.gpu_env);
  found.source = options.gpu_env;
  found.env = *env;
  return found;
}

HostGrantReader::HostGrantReader(NestedOptions options, Clock::time_point now)
    : options_(std::move(options)) {
  look(now);
}

std::optional<milliseconds> HostGrantReader::due(Clock::time_point now) const {
  if (!unsettled_) return is_watched_ ? std::nullopt : std::optional(kUnwatchedPause);
  const auto left = unsettled_->until - now;
  return std::max(std::chrono::ceil<milliseconds>(left), milliseconds(0));
}

// The parent folders as well, because missing files may appear; and the file itself, because the
// writer of a mounted file uses another folder.
void HostGrantReader::watch_all() {
  std::vector<std::string> paths = {parent_of(options_.host_grants), options_.host_grants,
                                    parent_of(options_.gpu_env), options_.gpu_env};
  for (const std::string& document : documents_in(options_.host_grants)) {
    paths.push_back(parent_of(document));
  }
  is_watched_ = watch_.set(paths);
}

// The first list counts at once, because no container has GPUs by it yet, and so does the JSON,
// which is replaced by rename.
bool HostGrantReader::is_settled(const HostGrant& found, Clock::time_point now) {
  if (!found.env || !grant_ || !grant_->env || *found.env == *grant_->env) {
    unsettled_.reset();
    return true;
  }
  if (!unsettled_ || unsettled_->list != *found.env) {
    unsettled_ = {*found.env, now + (*found.env == GpuEnv{} ? kEmptyPatience : kWritePatience)};
  }
  if (now < unsettled_->until) return false;
  unsettled_.reset();
  return true;
}

bool HostGrantReader::look(Clock::time_point now) {
  // Watch before reading, so that no change in between is lost.
  watch_all();
  watch_.drain();
  Result<HostGrant> found = read_host_grant(options_);
  std::string problem;
  bool is_new = false;
  if (!found) {
    unsettled_.reset();
    problem = found.error().message;
  } else if (grant_ && !grant_->grants.empty() && found->grants.empty()) {
    // A list says less than the JSON, for example nothing of parts.
    problem = fmt::format("there is no {} below {} any more", kGrantFile, options_.host_grants);
  } else if (is_settled(*found, now)) {
    is_new = grant_ != *found;
    grant_ = *std::move(found);
  }
  return std::exchange(problem_, problem) != problem || is_new;
}

}  // namespace tranche::node
