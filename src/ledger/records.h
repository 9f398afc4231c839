// SPDX-License-Identifier: Apache-2.0
//
// What is known of who holds what, and from whom: a fold over readings of the
// kubelet's two sources and over our own grants. Pure; time comes in as a value.
//
// The rules, each with a test by its name:
//   * A source that does not answer changes nothing: its last answer stands.
//   * A share is held when pod-resources lists it, or the checkpoint has it, or
//     we granted it and neither has had the time to show it.
//   * pod-resources leaves out init containers, so what only the checkpoint has
//     is held too. But the kubelet does not rewrite the file when a pod ends:
//     `to_confirm` names what may be such a leftover. Whoever then makes the
//     kubelet write (any list of devices does) and reads again knows.
//   * A grant is settled by the first reading of a source that has its shares.
//     One that no source has shown by kGrantPatience after it was made, in a
//     reading begun after that, has expired: the kubelet writes its checkpoint
//     in the same admission, so the container was never made.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "ledger/ledger.h"

namespace tranche {

using LedgerTime = std::chrono::steady_clock::time_point;
inline constexpr std::chrono::seconds kGrantPatience{60};

struct FreshGrant {
  std::string resource;
  std::vector<std::string> shares;  // sorted
  LedgerTime at;

  bool operator==(const FreshGrant&) const = default;
};

// What the sources said when they were last asked. An empty one did not answer
// or was not asked.
struct LedgerReading {
  LedgerTime begun;
  std::optional<std::vector<Holding>> pod_resources;
  std::optional<std::vector<Holding>> checkpoint;

  bool operator==(const LedgerReading&) const = default;
};

struct Records {
  std::optional<std::vector<Holding>> pod_resources;  // the last answers
  std::optional<std::vector<Holding>> checkpoint;
  std::vector<FreshGrant> fresh;

  bool operator==(const Records&) const = default;
};

Records with_reading(Records records, const LedgerReading& reading);
Records with_grant(Records records, FreshGrant grant);

// Everything that counts as held.
Ledger present(const Records& records);

// What the checkpoint has and pod-resources, which answered, does not: held by
// an init container, or left over from a pod that has ended. Empty where
// pod-resources has never answered: then nothing can be told apart.
std::vector<Holding> to_confirm(const Records& records);

}  // namespace tranche
