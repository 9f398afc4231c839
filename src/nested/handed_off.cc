// SPDX-License-Identifier: Apache-2.0
#include "nested/handed_off.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <utility>

#include "base/errno_error.h"
#include "base/files.h"
#include "base/unique_fd.h"
#include "nested/gpu_env.h"

namespace tranche {
namespace {

constexpr const char* kShown = "shown";
constexpr const char* kEnv = "gpu.env";

std::string document_in(const std::string& folder) {
  return below(below(folder, kShown), kGrantFile);
}

std::string new_id() {
  std::array<unsigned char, 8> bytes{};
  // Up to 256 bytes come at once and without an error once the kernel is up.
  [[maybe_unused]] const ssize_t got = ::getrandom(bytes.data(), bytes.size(), 0);
  std::string id;
  for (const unsigned char byte : bytes) {
    std::array<char, 3> text{};
    std::snprintf(text.data(), text.size(), "%02x", byte);
    id += text.data();
  }
  return id;
}

// In place, because the file is mounted: a container would not see another one
// that takes its name. Never empty in between.
Status write_in_place(const std::string& path, std::string_view content) {
  const UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666));
  if (!fd) return errno_error("opening " + path);
  // Containers whose root is another user on the host write it, too.
  if (::fchmod(fd.get(), 0666) != 0) return errno_error("changing the mode of " + path);
  const ssize_t written = ::pwrite(fd.get(), content.data(), content.size(), 0);
  if (written < 0) return errno_error("writing " + path);
  if (static_cast<std::size_t>(written) != content.size()) {
    return Error{ErrorCode::kUnavailable, "writing " + path + ": the disk may be full"};
  }
  if (::ftruncate(fd.get(), static_cast<off_t>(content.size())) != 0) {
    return errno_error("truncating " + path);
  }
  if (::fsync(fd.get()) != 0) return errno_error("syncing " + path);
  return Done{};
}

// So that a name made in it outlives a loss of power.
void sync_folder(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd) ::fsync(fd.get());
}

std::vector<std::string> names(const NestedGrant& grant, bool healthy_only) {
  std::vector<std::string> uuids;
  for (const NestedDevice& device : grant.devices) {
    if (!healthy_only || device.health.ok()) uuids.push_back(device.uuid);
  }
  return uuids;
}

}  // namespace

std::string HandedOff::folder_of(const std::string& id) const { return below(directory_, id); }

void HandedOff::recall(Clock::time_point now) {
  const auto ids = list_directory(directory_);
  if (!ids) return;  // nothing was ever handed off here
  const std::lock_guard lock(mutex_);
  for (const std::string& id : *ids) {
    Record record{.grant = {.id = id}, .since = now};
    const auto text = read_file(document_in(folder_of(id)));
    const auto grant = text ? parse_nested_grant(*text) : Result<NestedGrant>(text.error());
    if (grant) {
      record.grant = *grant;
      record.grant.id = id;
    } else {
      record.is_readable = false;
      log_.warning("what was handed off to a node pod cannot be read; it is left as it is",
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
  if (Status written = write_in_place(below(folder, kEnv), gpu_env_line(grant)); !written) {
    return written;
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
  HandedOffPaths paths{grant.id, below(folder, kEnv), below(folder, kShown)};
  const std::lock_guard lock(mutex_);
  records_.emplace(paths.id, Record{.grant = std::move(grant), .since = now});
  return paths;
}

void HandedOff::withdraw(const std::string& id) {
  const std::lock_guard lock(mutex_);
  if (records_.erase(id) == 0) return;
  if (Status removed = remove(id); !removed) {
    log_.warning("files for a node pod cannot be removed", {{"reason", removed.error().message}});
  }
}

// The container may write the file as it likes, as scripts of older systems do.
// One that has other GPUs in it than we granted is its own, and stays.
bool HandedOff::is_written_by_us(const NestedGrant& grant) const {
  const auto text = read_file(below(folder_of(grant.id), kEnv));
  if (!text) return text.error().code == ErrorCode::kNotFound;
  const auto env = parse_gpu_env(*text);
  if (!env || env->all) return false;
  return env->names == names(grant, true) || env->names == names(grant, false);
}

Status HandedOff::rewrite(const NestedGrant& before, const NestedGrant& after) const {
  const std::string folder = folder_of(after.id);
  const bool is_ours = is_written_by_us(before);
  if (Status written = write_atomically(document_in(folder), to_json(after)); !written) {
    return written;
  }
  return is_ours ? write_in_place(below(folder, kEnv), gpu_env_line(after)) : Status(Done{});
}

void HandedOff::refresh(const HealthOf& health_of) {
  const std::lock_guard lock(mutex_);
  for (auto& [id, record] : records_) {
    if (!record.is_readable) continue;
    std::vector<Health> health;
    for (const NestedDevice& device : record.grant.devices) {
      health.push_back(health_of(record.grant.resource, device));
    }
    const auto next = with_health(record.grant, health);
    if (!next) continue;
    const Status written = rewrite(record.grant, *next);
    if (written) {
      log_.info("node pod told of its GPUs' health",
                {{"grant", id}, {"generation", std::to_string(next->generation)}});
      record.grant = *next;
    } else if (record.last_problem != written.error().message) {
      log_.warning("a node pod cannot be told of its GPUs' health; it is tried again",
                   {{"grant", id}, {"reason", written.error().message}});
    }
    record.last_problem = written ? std::string() : written.error().message;
  }
}

bool HandedOff::tidy(const std::set<std::string>& mounted, Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  bool is_waiting = false;
  for (auto it = records_.begin(); it != records_.end();) {
    auto& [id, record] = *it;
    const std::string prefix = folder_of(id) + "/";
    const auto first = mounted.lower_bound(prefix);
    if (first != mounted.end() && first->starts_with(prefix)) {
      record.was_mounted = true;
      record.gone_since.reset();
      ++it;
      continue;
    }
    if (!record.was_mounted && now < record.since + kPatience) {
      is_waiting = true;
      ++it;
      continue;
    }
    if (!record.gone_since) record.gone_since = now;
    if (now < *record.gone_since + kGrace) {
      is_waiting = true;
      ++it;
      continue;
    }
    if (Status removed = remove(id); !removed) {
      log_.warning("files of a node pod that has ended cannot be removed",
                   {{"reason", removed.error().message}});
    } else {
      log_.info("node pod has ended; its files are removed", {{"grant", id}});
    }
    it = records_.erase(it);
  }
  return is_waiting;
}

Status HandedOff::remove(const std::string& id) const {
  std::error_code error;
  std::filesystem::remove_all(folder_of(id), error);
  if (!error) return Done{};
  return Error{ErrorCode::kUnavailable, "removing " + folder_of(id) + ": " + error.message()};
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

}  // namespace tranche
