// SPDX-License-Identifier: Apache-2.0
#include "node/nested/handed_off_tidy.h"

#include <algorithm>
#include <utility>

#include "node/holders/checkpoint_file.h"

namespace tranche::node {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// How often it is looked whether files of an ended pod may go.
constexpr milliseconds kTidyPause{1'000};
// How often it is looked whether a file that a pod may write has grown.
constexpr milliseconds kCutPause{5'000};

}  // namespace

HandedOffTidy::HandedOffTidy(HandedOff& handed_off, std::string checkpoint, Log& log)
    : handed_off_(handed_off), checkpoint_(std::move(checkpoint)), log_(log) {
  handed_off_.recall(steady_clock::now());
  has_writable_ = handed_off_.has_writable();
  if (!has_writable_) return;
  log_.warning(
      "node pods of an earlier version may write their /gpu.env on the node's disk; it is cut when "
      "it grows, until they are made again");
}

void HandedOffTidy::run() {
  is_waiting_ = false;
  has_writable_ = handed_off_.has_writable();
  if (has_writable_) handed_off_.cut_writable();
  if (handed_off_.empty() || checkpoint_.empty()) return;
  const auto identity = file_identity(checkpoint_);
  if (!mounted_ || identity != checkpoint_read_) {
    auto mounts = read_checkpoint_mounts(checkpoint_, handed_off_.directory());
    // Where it is not known who is there, nobody's files are removed.
    const std::string problem = mounts ? std::string() : mounts.error().message;
    if (said_.changed("checkpoint", problem) && !problem.empty()) {
      log_.warning("files of node pods are kept, whether or not the pods are there",
                   {{"reason", problem}});
    }
    mounted_ = mounts ? std::optional(*std::move(mounts)) : std::nullopt;
    checkpoint_read_ = identity;
  }
  if (mounted_) is_waiting_ = handed_off_.tidy(*mounted_, steady_clock::now());
}

std::optional<milliseconds> HandedOffTidy::due() const {
  std::optional<milliseconds> due;
  if (has_writable_) due = kCutPause;
  if (is_waiting_) due = std::min(due.value_or(kTidyPause), kTidyPause);
  return due;
}

}  // namespace tranche::node
