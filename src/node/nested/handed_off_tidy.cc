// SPDX-License-Identifier: Apache-2.0
#include "node/nested/handed_off_tidy.h"

#include <algorithm>
#include <utility>

#include "node/holders/checkpoint_file.h"

namespace tranche::node {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// Interval of checks for files of ended pods.
constexpr milliseconds kTidyPause{1'000};
// Interval of checks for grown writable files.
constexpr milliseconds kTruncatePause{5'000};

}  // namespace

HandedOffTidy::HandedOffTidy(HandedOff& handed_off, std::string checkpoint, Log& log)
    : handed_off_(handed_off), checkpoint_(std::move(checkpoint)), log_(log) {
  handed_off_.recall(steady_clock::now());
  has_writable_ = handed_off_.has_writable();
  if (!has_writable_) return;
  log_.warning(
      "node pods of an earlier version can write their /gpu.env on the node's disk; truncating it "
      "when it grows, until they are recreated");
}

void HandedOffTidy::run() {
  is_waiting_ = false;
  has_writable_ = handed_off_.has_writable();
  if (has_writable_) handed_off_.truncate_writable();
  if (handed_off_.empty() || checkpoint_.empty()) return;
  const auto identity = file_identity(checkpoint_);
  if (!mounted_ || identity != checkpoint_read_) {
    auto mounts = read_checkpoint_mounts(checkpoint_, handed_off_.directory());
    // While the mounts are unknown, nothing is removed.
    const std::string problem = mounts ? std::string() : mounts.error().message;
    if (logged_.changed("checkpoint", problem) && !problem.empty()) {
      log_.warning("unknown which node pods run; keeping the files of all", {{"reason", problem}});
    }
    mounted_ = mounts ? std::optional(*std::move(mounts)) : std::nullopt;
    checkpoint_read_ = identity;
  }
  if (mounted_) is_waiting_ = handed_off_.tidy(*mounted_, steady_clock::now());
}

std::optional<milliseconds> HandedOffTidy::due() const {
  std::optional<milliseconds> due;
  if (has_writable_) due = kTruncatePause;
  if (is_waiting_) due = std::min(due.value_or(kTidyPause), kTidyPause);
  return due;
}

}  // namespace tranche::node
