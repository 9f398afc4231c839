// SPDX-License-Identifier: Apache-2.0
#include "node/holders/ledger_keeper.h"

#include <poll.h>
#include <pthread.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/path.h"
#include "node/holders/checkpoint_file.h"
#include "os/files.h"

namespace tranche::node {
namespace {

using std::chrono::milliseconds;

// Pause while a call of the kubelet is open; a call takes about a millisecond.
constexpr milliseconds kCallPause{50};
// An unchanged checkpoint is also read at this interval, because grants expire by it.
constexpr std::chrono::seconds kReadAnyway{30};

std::string name_in_folder(const std::string& path) {
  return path.substr(path.find_last_of('/') + 1);
}

}  // namespace

LedgerKeeper::LedgerKeeper(LedgerSourceOptions options, Hooks hooks, const CallGate& gate, Log& log)
    : options_(std::move(options)), hooks_(std::move(hooks)), gate_(gate), log_(log) {
  const MountedSources mounted = mounted_sources(options_);
  status_.pod_resources.is_mounted = mounted.pod_resources;
  status_.checkpoint.is_mounted = mounted.checkpoint;
}

LedgerKeeper::~LedgerKeeper() {
  thread_.request_stop();
  wake_.ring();
  if (thread_.joinable()) thread_.join();
}

void LedgerKeeper::start() {
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

void LedgerKeeper::look_soon() {
  {
    const std::lock_guard lock(mutex_);
    is_soon_ = true;
  }
  wake_.ring();
}

LedgerSourcesStatus LedgerKeeper::status() const {
  const std::lock_guard lock(mutex_);
  return status_;
}

void LedgerKeeper::run(const std::stop_token& stop) {
  ::pthread_setname_np(::pthread_self(), "ledger-keeper");
  const std::string folder = parent_of(options_.checkpoint);
  while (!stop.stop_requested()) {
    if (!folder_) {
      // Retried in every round while the folder is missing.
      if (Result<DirectoryWatch> opened = DirectoryWatch::open(folder); opened) {
        folder_ = *std::move(opened);
      }
    }
    milliseconds pause = look(stop);
    if (stop.stop_requested()) return;
    if (const auto until_nudge = nudge_if_wanted()) pause = std::min(pause, *until_nudge);
    std::array<pollfd, 2> fds{pollfd{wake_.fd(), POLLIN, 0},
                              pollfd{folder_ ? folder_->fd() : -1, POLLIN, 0}};
    ::poll(fds.data(), fds.size(), static_cast<int>(pause.count()));
    wake_.clear();
  }
}

LedgerKeeper::Milliseconds LedgerKeeper::look(const std::stop_token& stop) {
  const bool is_written = has_checkpoint_changed();
  bool is_soon = false;
  {
    const std::lock_guard lock(mutex_);
    is_soon = std::exchange(is_soon_, false);
  }
  // A List that is already overdue keeps its due time.
  if (is_soon) next_list_ = std::min(next_list_, Clock::now());

  const auto until_due = [this] {
    const auto left = std::chrono::ceil<milliseconds>(next_list_ - Clock::now());
    return std::clamp(left, milliseconds(0), options_.period);
  };
  // The checkpoint first, on its own: after a List this write would no longer be the newer of the
  // two and would confirm nothing.
  if (is_written || is_soon) read(false, stop);
  if (until_due() > milliseconds(0)) return until_due();
  const auto delay = std::chrono::floor<milliseconds>(Clock::now() - next_list_);
  const std::optional<milliseconds> quiet =
      gate_.time_until_quiet(least_quiet(options_.quiet, delay, options_.quiet_patience));
  if (!quiet) return kCallPause;
  // After quiet_patience less quiet time is required.
  if (*quiet > milliseconds(0)) return std::min(*quiet, options_.quiet_patience);
  read(true, stop);
  next_list_ = Clock::now() + options_.period;
  return options_.period;
}

// Whether the kubelet wrote the checkpoint since the last call, by the folder's events. A lost
// watch or event counts as a write.
bool LedgerKeeper::has_checkpoint_changed() {
  if (!folder_) return false;
  const std::string name = name_in_folder(options_.checkpoint);
  bool is_written = false;
  for (const DirectoryWatch::Event& event : folder_->drain()) {
    if (event.kind == DirectoryWatch::Kind::kDirectoryGone) {
      folder_.reset();
      checkpoint_read_.reset();
      return true;
    }
    is_written |= event.name == name;
  }
  if (is_written) checkpoint_read_.reset();
  return is_written;
}

void LedgerKeeper::read(bool lists, const std::stop_token& stop) {
  was_mounted_ = was_mounted_ || mounted_sources(options_).pod_resources;
  if (!was_mounted_) return;
  LedgerReading reading{.begun = Clock::now()};
  if (lists) reading.pod_resources = list(stop);
  if (stop.stop_requested()) return;
  if (reading.pod_resources) {
    has_listed_ = true;
    checkpoint_at_list_ = file_identity(options_.checkpoint);
  }
  reading.checkpoint = checkpoint();
  reading.checkpoint_is_newer =
      reading.checkpoint && has_listed_ && checkpoint_read_ != checkpoint_at_list_;
  if (reading.pod_resources || reading.checkpoint) hooks_.publish(std::move(reading));
}

std::optional<std::vector<Holding>> LedgerKeeper::list(const std::stop_token& stop) {
  const std::string& socket = options_.pod_resources_socket;
  Result<std::vector<Holding>> holdings =
      path_exists(socket) ? hooks_.list(stop) : Error{ErrorCode::kNotFound, "no socket " + socket};
  if (stop.stop_requested()) return std::nullopt;  // then an error means nothing
  note(&LedgerSourcesStatus::pod_resources, "pod-resources",
       holdings ? std::nullopt : std::optional(holdings.error()));
  if (!holdings) return std::nullopt;
  return *std::move(holdings);
}

std::optional<std::vector<Holding>> LedgerKeeper::checkpoint() {
  // Before reading: a write in between is an event of the folder's watch.
  const std::optional<FileIdentity> identity = file_identity(options_.checkpoint);
  const Clock::time_point now = Clock::now();
  if (identity && identity == checkpoint_read_ && now < checkpoint_read_at_ + kReadAnyway) {
    return std::nullopt;
  }
  Result<std::vector<Holding>> holdings = read_checkpoint(options_.checkpoint, {});
  note(&LedgerSourcesStatus::checkpoint, "checkpoint",
       holdings ? std::nullopt : std::optional(holdings.error()));
  if (!holdings) return std::nullopt;
  checkpoint_read_ = identity;
  checkpoint_read_at_ = now;
  return *std::move(holdings);
}

std::optional<LedgerKeeper::Milliseconds> LedgerKeeper::nudge_if_wanted() {
  if (!has_listed_) return std::nullopt;
  // Written since the last List: it is being read, or waits for the next List to compare with.
  if (file_identity(options_.checkpoint) != checkpoint_at_list_) return std::nullopt;
  if (!hooks_.wants_confirmation()) return std::nullopt;
  const Clock::time_point now = Clock::now();
  if (now < next_nudge_) return std::chrono::ceil<milliseconds>(next_nudge_ - now);
  next_nudge_ = now + options_.nudge_pause;
  hooks_.nudge();
  return std::nullopt;
}

void LedgerKeeper::note(SourceStatus LedgerSourcesStatus::* source, const std::string& name,
                        const std::optional<Error>& error) {
  SourceStatus before;
  SourceStatus after;
  {
    const std::lock_guard lock(mutex_);
    before = status_.*source;
    status_.*source = after_read(before, error, std::chrono::system_clock::now());
    after = status_.*source;
  }
  if (after.error == before.error) {
    if (!before.has_answered && after.answers) log_.debug("source read", {{"source", name}});
    return;
  }
  if (!error) {
    log_.info("allocation source recovered", {{"source", name}});
  } else if (error->code == ErrorCode::kNotFound && !before.has_answered &&
             source == &LedgerSourcesStatus::pod_resources) {
    // Every kubelet serves it: the folder is mounted wrongly, or the kubelet is down.
    log_.warning(
        "allocation source missing; unknown which pods hold which devices. Is the kubelet's "
        "pod-resources folder mounted here?",
        {{"source", name}, {"reason", after.error}});
  } else if (error->code == ErrorCode::kNotFound) {
    log_.info(before.has_answered ? "allocation source vanished; keeping its last answer"
                                  : "allocation source does not exist yet",
              {{"source", name}, {"reason", after.error}});
  } else {
    log_.warning("allocation source does not answer; keeping its last answer",
                 {{"source", name}, {"reason", after.error}});
  }
}

}  // namespace tranche::node
