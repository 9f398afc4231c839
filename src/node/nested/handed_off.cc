// SPDX-License-Identifier: Apache-2.0
#include "node/nested/handed_off.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>

#include "base/path.h"
#include "formats/nested_grant_json.h"
#include "formats/parse_gpu_env.h"
#include "os/errno_error.h"
#include "os/files.h"
#include "os/unique_fd.h"

namespace tranche::node {
namespace {

constexpr const char* kShown = "shown";
constexpr const char* kEnv = "gpu.env";
constexpr std::size_t kIdBytes = 8;
// Read limit for files that a container may have changed.
constexpr std::size_t kLargestFile = 1U << 20U;
// One line of uuids has at most a few kilobytes.
constexpr std::size_t kLargestEnv = 64U << 10U;
constexpr mode_t kEnvMode = 0644;

std::string document_in(const std::string& folder) {
  return below(below(folder, kShown), kGrantFile);
}

std::string new_id() {
  std::array<unsigned char, kIdBytes> bytes{};
  // Up to 256 bytes never fail once the kernel is up.
  [[maybe_unused]] const ssize_t got = ::getrandom(bytes.data(), bytes.size(), 0);
  std::string id;
  for (const unsigned char byte : bytes) id += fmt::format("{:02x}", byte);
  return id;
}

// In place, because the file is mounted: a container would not see a replacement. Never empty in
// between. A container that may write the file may change it in any way; it must not block us.
Status write_in_place(const std::string& path, std::string_view content) {
  const UniqueFd fd(
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0644));
  if (!fd) return errno_error("opening " + path);
  if (Status plain = check_plain(fd.get(), path); !plain) return plain;
  const ssize_t written = ::pwrite(fd.get(), content.data(), content.size(), 0);
  if (written < 0) return errno_error("writing " + path);
  if (static_cast<std::size_t>(written) != content.size()) {
    return Error{ErrorCode::kUnavailable, fmt::format("writing {}: the disk may be full", path)};
  }
  if (::ftruncate(fd.get(), static_cast<off_t>(content.size())) != 0) {
    return errno_error("truncating " + path);
  }
  if (::fsync(fd.get()) != 0) return errno_error("syncing " + path);
  return Done{};
}

// Readable for every container, whatever the umask is.
Status create(const std::string& path, std::string_view content) {
  if (Status written = write_in_place(path, content); !written) return written;
  if (::chmod(path.c_str(), kEnvMode) != 0) return errno_error("changing the mode of " + path);
  return Done{};
}

std::optional<struct stat> status_of(const std::string& path) {
  struct stat status{};
  if (::lstat(path.c_str(), &status) != 0) return std::nullopt;
  return status;
}

// Whether a container may write it: made by an earlier agent, or changed by the container.
bool is_writable(const struct stat& status) {
  return S_ISREG(status.st_mode) &&
         ((status.st_mode & 0777U) != kEnvMode || status.st_uid != ::geteuid());
}

// Bytes on disk, also beyond the end of the file.
std::uint64_t bytes_of(const struct stat& status) {
  constexpr std::uint64_t kBlock = 512;
  return std::max(static_cast<std::uint64_t>(status.st_size),
                  static_cast<std::uint64_t>(status.st_blocks) * kBlock);
}

// So that new names in the folder survive a power loss.
void sync_folder(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd) ::fsync(fd.get());
}

std::vector<std::string> granted_names(const NestedGrant& grant) {
  std::vector<std::string> uuids;
  for (const NestedDevice& device : grant.devices) uuids.push_back(device.uuid);
  return uuids;
}

// A name of new_id(). We touch nothing else in the folder.
bool is_id(const std::string& name) {
  return name.size() == 2 * kIdBytes &&
         name.find_first_not_of("0123456789abcdef") == std::string::npos;
}

bool is_folder(const std::string& path) {
  struct stat status{};
  return ::lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

}  // namespace

HandedOff::HandedOff(const std::string& directory, Log& log, std::function<void()> issued,
                     GpuEnvMount env_mount)
    : directory_(parent_of(below(directory, "x"))),
      log_(log),
      issued_(std::move(issued)),
      env_mount_(env_mount) {}

std::string HandedOff::folder_of(const std::string& id) const { return below(directory_, id); }

void HandedOff::recall(Clock::time_point now) {
  const auto names = list_directory(directory_);
  if (!names) {
    if (names.error().code == ErrorCode::kNotFound) return;  // no hand-off so far
    log_.warning("cannot read the grants of node pods", {{"reason", names.error().message}});
    return;
  }
  const std::lock_guard lock(mutex_);
  for (const std::string& id : *names) {
    if (!is_id(id) || !is_folder(folder_of(id))) continue;
    Record record{.grant = {.id = id}, .since = now};
    const auto text = read_plain_file(document_in(folder_of(id)), kLargestFile);
    const auto grant = text ? parse_nested_grant(*text) : Result<NestedGrant>(text.error());
    if (grant) {
      record.grant = *grant;
      record.grant.id = id;
      record.has_env = status_of(below(folder_of(id), kEnv)).has_value();
      record.env_line = gpu_env_line(record.grant);
    } else {
      record.is_readable = false;
      log_.warning("cannot read the grant of a node pod; leaving it as it is",
                   {{"folder", folder_of(id)}, {"reason", grant.error().message}});
    }
    records_.emplace(id, std::move(record));
  }
}

Status HandedOff::write(const NestedGrant& grant) const {
  const std::string folder = folder_of(grant.id);
  if (Status made = make_directories(below(folder, kShown)); !made) return made;
  if (Status written = write_atomically(document_in(folder), to_json(grant)); !written) {
    return written;
  }
  if (env_mount_ == GpuEnvMount::kReadOnly) {
    if (Status made = create(below(folder, kEnv), gpu_env_line(grant)); !made) return made;
  }
  for (const std::string& changed : {folder, directory_}) sync_folder(changed);
  return Done{};
}

Result<HandedOffPaths> HandedOff::issue(NestedGrant grant, Clock::time_point now) {
  grant.id = new_id();
  const std::string folder = folder_of(grant.id);
  if (Status written = write(grant); !written) {
    [[maybe_unused]] const Status removed = remove(grant.id);
    return written.error().in("handing GPUs off to a node pod");
  }
  const bool has_env = env_mount_ == GpuEnvMount::kReadOnly;
  HandedOffPaths paths{grant.id, has_env ? below(folder, kEnv) : "", below(folder, kShown)};
  {
    const std::lock_guard lock(mutex_);
    std::string line = gpu_env_line(grant);
    records_.emplace(paths.id, Record{.grant = std::move(grant),
                                      .since = now,
                                      .has_env = has_env,
                                      .env_line = std::move(line)});
  }
  issued_();
  return paths;
}

void HandedOff::withdraw(const std::string& id) {
  const std::lock_guard lock(mutex_);
  if (records_.erase(id) == 0) return;
  if (Status removed = remove(id); !removed) {
    log_.warning("cannot remove the files of a node pod", {{"reason", removed.error().message}});
  }
}

// A container of an earlier agent may write the file, as scripts of older systems do. If it lists
// other GPUs than we wrote or granted, the container wrote it, and it stays. A file that no guest
// could read is repaired.
Status HandedOff::renew_env(Record& record, const NestedGrant& grant) const {
  if (!record.has_env) return Done{};
  const std::string path = below(folder_of(grant.id), kEnv);
  const std::string line = gpu_env_line(grant);
  const auto text = read_plain_file(path, kLargestEnv);
  if (text && *text == line) {
    record.env_line = line;
    return Done{};
  }
  const bool is_too_large = !text && text.error().code == ErrorCode::kInvalidArgument;
  if (!text && !is_too_large && text.error().code != ErrorCode::kNotFound) return text.error();
  const auto status = status_of(path);
  if (text && status && is_writable(*status)) {
    const auto env = parse_gpu_env(*text);
    const auto last = parse_gpu_env(record.env_line);
    const auto now = parse_gpu_env(line);
    if (!last || !now) return Done{};
    if (env && env->names == now->names && !env->all) return Done{};  // written by the container
    const bool is_ours = !env || *env == *last || *env == GpuEnv{.names = granted_names(grant)};
    if (!is_ours) return Done{};
  }
  if (Status written = status ? write_in_place(path, line) : create(path, line); !written) {
    return written;
  }
  record.env_line = line;
  return Done{};
}

bool HandedOff::has_writable() const {
  const std::lock_guard lock(mutex_);
  return std::ranges::any_of(records_, [&](const auto& entry) {
    const auto status = status_of(below(folder_of(entry.first), kEnv));
    return status && is_writable(*status);
  });
}

void HandedOff::truncate_writable() {
  const std::lock_guard lock(mutex_);
  for (auto& [id, record] : records_) truncate(record);
}

// Logs each size once that cannot be truncated.
void HandedOff::truncate(Record& record) const {
  const std::string path = below(folder_of(record.grant.id), kEnv);
  const auto status = status_of(path);
  if (!status || !is_writable(*status) || bytes_of(*status) <= kLargestEnv) {
    record.last_growth.clear();
    return;
  }
  const std::string bytes = std::to_string(bytes_of(*status));
  const Status written = write_in_place(path, record.env_line);
  if (written) {
    log_.warning("truncated the writable /gpu.env of a node pod, because it had grown",
                 {{"grant", record.grant.id}, {"bytes", bytes}});
    return;
  }
  const std::string problem =
      fmt::format("it takes {} bytes of the node's disk: {}", bytes, written.error().message);
  if (std::exchange(record.last_growth, problem) == problem) return;
  log_.warning("the /gpu.env of a node pod has grown and cannot be truncated; delete the pod",
               {{"grant", record.grant.id}, {"reason", problem}});
}

// Writes both files independently: a failure of one is retried and does not keep the other from
// being written.
Status HandedOff::renew(Record& record, const HealthOf& health_of) {
  std::vector<Health> health;
  for (const NestedDevice& device : record.grant.devices) {
    health.push_back(health_of(record.grant.resource, device));
  }
  const auto next = with_health(record.grant, health);
  Status env = renew_env(record, next.value_or(record.grant));
  if (!next) return env;
  const std::string path = document_in(folder_of(next->id));
  if (Status written = write_atomically(path, to_json(*next)); !written) return written;
  log_.info("updated GPU health for a node pod",
            {{"grant", next->id}, {"generation", std::to_string(next->generation)}});
  record.grant = *next;
  return env;
}

void HandedOff::refresh(const HealthOf& health_of) {
  const std::lock_guard lock(mutex_);
  for (auto& [id, record] : records_) {
    if (!record.is_readable) continue;
    log_problem(record, "cannot update GPU health for a node pod; retrying",
                renew(record, health_of));
  }
}

// Logs each reason once.
void HandedOff::log_problem(Record& record, std::string_view what, const Status& status) const {
  const std::string problem = status ? std::string() : status.error().message;
  if (std::exchange(record.last_problem, problem) == problem || problem.empty()) return;
  log_.warning(what, {{"grant", record.grant.id}, {"reason", problem}});
}

// Whether a container uses it, may still get it, or used it a moment ago.
bool HandedOff::is_kept(Record& record, const std::set<std::string>& mounted,
                        Clock::time_point now) const {
  const std::string prefix = folder_of(record.grant.id) + "/";
  const auto first = mounted.lower_bound(prefix);
  if (first != mounted.end() && first->starts_with(prefix)) {
    record.was_mounted = true;
    record.gone_since.reset();
    return true;
  }
  if (!record.was_mounted && now < record.since + kPatience) return true;
  if (!record.gone_since) record.gone_since = now;
  return now < *record.gone_since + kGrace;
}

bool HandedOff::tidy(const std::set<std::string>& mounted, Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  for (auto it = records_.begin(); it != records_.end();) {
    auto& [id, record] = *it;
    if (is_kept(record, mounted, now)) {
      ++it;
      continue;
    }
    const Status removed = remove(id);
    log_problem(record, "cannot remove the files of a node pod that has ended; retrying", removed);
    if (removed) {
      log_.info("node pod has ended; removed its files", {{"grant", id}});
      it = records_.erase(it);
    } else {
      record.gone_since = now;
      ++it;
    }
  }
  return std::ranges::any_of(records_, [](const auto& entry) {
    return entry.second.gone_since || !entry.second.was_mounted;
  });
}

Status HandedOff::remove(const std::string& id) const {
  std::error_code error;
  std::filesystem::remove_all(folder_of(id), error);
  if (!error) return Done{};
  return Error{ErrorCode::kUnavailable,
               fmt::format("removing {}: {}", folder_of(id), error.message())};
}

bool HandedOff::empty() const {
  const std::lock_guard lock(mutex_);
  return records_.empty();
}

std::vector<NestedGrant> HandedOff::grants() const {
  const std::lock_guard lock(mutex_);
  std::vector<NestedGrant> all;
  for (const auto& [id, record] : records_) all.push_back(record.grant);
  return all;
}

}  // namespace tranche::node
