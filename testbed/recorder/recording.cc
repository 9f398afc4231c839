// SPDX-License-Identifier: Apache-2.0
#include "testbed/recorder/recording.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <ctime>
#include <string_view>

#include "os/errno_error.h"

namespace tranche::testbed::recorder {
namespace {

using std::chrono::microseconds;
using std::chrono::system_clock;

// "2026-01-31T23:59:59.123456Z".
std::string utc_text(system_clock::time_point time) {
  const auto since = std::chrono::duration_cast<microseconds>(time.time_since_epoch());
  const std::time_t seconds = system_clock::to_time_t(time);
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  std::array<char, 32> date{};
  const std::size_t size = std::strftime(date.data(), date.size(), "%Y-%m-%dT%H:%M:%S", &parts);
  std::string fraction = std::to_string(since.count() % 1'000'000);
  fraction.insert(0, 6 - fraction.size(), '0');
  return std::string(date.data(), size) + "." + fraction + "Z";
}

bool write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::write(file, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

}  // namespace

Result<std::unique_ptr<Recording>> Recording::open(const std::string& path) {
  UniqueFd file(
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC | O_NOCTTY, 0644));
  if (!file) return errno_error("opening " + path);
  return std::unique_ptr<Recording>(new Recording(path, std::move(file)));
}

Recording::Place Recording::begin() { return {++last_number_, system_clock::now()}; }

void Recording::finish(const Place& place, const Json& event) {
  const auto took = std::chrono::duration_cast<microseconds>(system_clock::now() - place.began);
  Json line = {
      {"n", place.number}, {"at", utc_text(place.began)}, {"took_us", std::int64_t{took.count()}}};
  line.update(event);
  // A name that is no text must not cost us the line.
  const std::string text = line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  const std::lock_guard lock(mutex_);
  if (!write_all(file_.get(), text) && written_) written_ = errno_error("writing " + path_);
}

Status Recording::written() const {
  const std::lock_guard lock(mutex_);
  return written_;
}

}  // namespace tranche::testbed::recorder
