// SPDX-License-Identifier: Apache-2.0
//
// When to write something that the API server should have: when it changes, at most once a second,
// again when somebody else changed it, after a failure with back-off, and as a heartbeat. Pure: the
// caller brings the time and writes.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "kube/backoff.h"

namespace tranche::node {

class Publication {
 public:
  using Clock = std::chrono::steady_clock;

  struct Rules {
    std::chrono::milliseconds least_pause{1'000};  // between two writes
    std::chrono::milliseconds heartbeat{0};        // 0: none
    Backoff::Limits backoff;
  };

  static constexpr unsigned kFight = 4;  // overwrites

  Publication() = default;
  explicit Publication(Rules rules)
      : rules_(rules), backoff_(rules.backoff), fight_(rules.backoff) {}

  // What the server should have, in any form that can be compared. Empty: nothing is written.
  void want(std::optional<std::string> content) { wanted_ = std::move(content); }
  const std::optional<std::string>& wanted() const { return wanted_; }

  // When to write; empty: nothing is to be written.
  std::optional<Clock::time_point> due() const;
  // Whether the server has what is wanted.
  bool is_written() const { return wanted_ && wanted_ == written_; }

  void wrote(const std::string& content, Clock::time_point now);
  void failed(Clock::time_point now, double chance,
              std::optional<std::chrono::seconds> retry_after = {});
  // The server can be reached again.
  void retry_now() { retry_at_ = Clock::time_point(); }
  // The server does not have it any more.
  void lost() { written_.reset(); }
  // Somebody else changed it: it is written again, with longer and longer pauses where that goes
  // on. True: it has just become a fight.
  bool overwritten(Clock::time_point now, double chance);

 private:
  Rules rules_;
  Backoff backoff_;
  Backoff fight_;
  unsigned overwrites_ = 0;  // one soon after the other
  std::optional<Clock::time_point> overwritten_at_;
  std::optional<std::string> wanted_;
  std::optional<std::string> written_;
  std::optional<Clock::time_point> attempted_;
  Clock::time_point retry_at_;
};

}  // namespace tranche::node
