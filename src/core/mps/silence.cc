// SPDX-License-Identifier: Apache-2.0
#include "core/mps/silence.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/text.h"

namespace tranche::core {
namespace {

// Observations further apart than this do not count as one hold.
constexpr std::chrono::seconds kSeenTogether{30};
constexpr std::chrono::minutes kForgotten{10};
constexpr std::size_t kMostNamed = 3;
// How many connections of a pod are closed before its process is killed.
constexpr int kMostEnded = 3;

std::string clients_text(std::optional<unsigned> number) {
  if (!number) return "its server lives, because the kernel does not let the agent count clients";
  const unsigned clients = *number;
  return clients == 1 ? "1 client computes through it"
                      : fmt::format("{} clients compute through it", clients);
}

std::string pod_account(const ProcessFacts& holder) { return "pod " + holder.pod; }

}  // namespace

std::string holders_text(const HeldConnection& held) {
  std::string who =
      fmt::format("a process of uid {} that the agent does not see", held.connected_uid);
  if (!held.holders.empty()) {
    std::vector<std::string> names;
    for (const ProcessFacts& holder : held.holders) {
      if (names.size() < kMostNamed) names.push_back(describe(holder));
    }
    who = join(names, " and ");
    if (held.holders.size() > kMostNamed) {
      who += fmt::format(" and {} more", held.holders.size() - kMostNamed);
    }
  }
  return who;
}

std::string describe(const HeldConnection& held) {
  return fmt::format(
      "{} holds a connection to the MPS daemon's control socket and {}; the daemon serves one "
      "connection at a time",
      holders_text(held), held.is_unread ? "does not read its answers" : "sends nothing");
}

bool should_restart(const Silence& silence) {
  if (silence.held) return false;
  return !silence.has_server || silence.clients == 0;
}

std::string describe(const Silence& silence, const std::string& question) {
  if (silence.held) return describe(*silence.held);
  std::string text = question;
  if (silence.is_stopped) text += "; its process is stopped by a signal or a debugger";
  if (!should_restart(silence)) {
    text += fmt::format(
        "; it is not restarted while {}; the device is healthy again when the daemon serves again, "
        "or is restarted after that",
        clients_text(silence.clients));
  }
  return text;
}

std::vector<std::string> HoldingTime::accounts_of(const HeldConnection& held) const {
  std::set<std::string> names{fmt::format("connection {}", held.inode)};
  for (const ProcessFacts& holder : held.holders) {
    if (is_endable(holder)) names.insert(pod_account(holder));
  }
  if (names.size() == 1) names.insert(fmt::format("uid {}", held.connected_uid));
  return {names.begin(), names.end()};
}

HoldingTime::Due HoldingTime::observe(const std::optional<HeldConnection>& held,
                                      Clock::time_point now) {
  std::erase_if(accounts_, [&](const auto& entry) { return now - entry.second.seen > kForgotten; });
  const std::optional<Clock::time_point> before = std::exchange(last_, now);
  Due due;
  if (!held) return due;
  for (const std::string& name : accounts_of(*held)) {
    Account& account = accounts_[name];
    // Only the time between the two observations: the time before may have been another
    // process's.
    if (before && account.seen == *before && now - *before < kSeenTogether) {
      account.held += std::chrono::duration_cast<Ms>(now - *before);
    }
    account.seen = now;
    due.connection = due.connection || account.held >= patience_;
  }
  for (const ProcessFacts& holder : held->holders) {
    if (!is_endable(holder)) continue;
    const Account& account = accounts_[pod_account(holder)];
    if (account.held < patience_) continue;
    due.holders.push_back(holder);
    if (account.ended >= kMostEnded) due.persistent.push_back(holder);
  }
  return due;
}

void HoldingTime::note_ended(const HeldConnection& held) {
  for (const std::string& name : accounts_of(held)) ++accounts_[name].ended;
}

}  // namespace tranche::core
