// SPDX-License-Identifier: Apache-2.0
//
// Distinguishes our own commands from others in a daemon's log.
#pragma once

#include <algorithm>
#include <deque>
#include <string>

namespace tranche::core {

class OwnCommands {
 public:
  void sent(const std::string& command) {
    sent_.push_back(command);
    // A command that never arrived stays in the list; if someone else sends it, it has the
    // effect that we wanted.
    if (sent_.size() > kMost) sent_.pop_front();
  }

  // True once for each time that it was sent.
  bool take(const std::string& command) {
    const auto found = std::ranges::find(sent_, command);
    if (found == sent_.end()) return false;
    sent_.erase(found);
    return true;
  }

 private:
  static constexpr std::size_t kMost = 256;
  std::deque<std::string> sent_;
};

}  // namespace tranche::core
