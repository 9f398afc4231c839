// SPDX-License-Identifier: Apache-2.0
//
// The records behind the ledger: a fold over readings of the kubelet's two allocation
// sources and over our own grants. Pure; time comes in as a value.
//
// The rules, each with a test by its name:
//   * A source that does not answer changes nothing: its last answer stands.
//   * A share is held when pod-resources lists it, or the checkpoint has it, or we granted
//     it and neither has had time to show it.
//   * pod-resources leaves out init containers, and a kubelet that has just started lists
//     no pods at all for a second or so. So what only the checkpoint has is held too. But
//     the kubelet does not rewrite the file when a pod ends: `to_confirm` names what may be
//     such a leftover. To confirm it, the agent makes the kubelet write the file (any
//     device list does) and reads again. What is in a checkpoint that was written after
//     pod-resources answered is confirmed, until a pod ends or kConfirmationLasts is over.
//     A checkpoint that was written before the first List that could have the pod confirms
//     only until that List, because a pod that it does not have may have ended in between.
//   * A share that two sources have is held once, with what each knows of its holder. If
//     two holders have it (a leftover and the next holder, or a finished init container and
//     its successor), the holder in pod-resources wins, then the larger holding in the
//     checkpoint.
//   * A grant is settled by the first reading of a source that has its shares and was begun
//     after it. A grant expires if no source has shown it by kGrantPatience after it was
//     made, in a reading begun after that: the kubelet writes its checkpoint in the same
//     admission, so the container was never created. Where there is a checkpoint, only its
//     reading expires a grant, because pod-resources never shows init containers. Where no
//     source ever answers, no grant expires.
//   * A share that is granted again belongs to the newer grant, because the kubelet
//     allocates only what it considers free.
//   * A share keeps the size with which it was granted for as long as it is held. If an
//     earlier agent granted it and did not store its size, it is the size that was offered
//     then; where another size was offered within kGrantPatience before, the larger of the
//     two, because a call may have been in progress.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/ledger/ledger.h"

namespace tranche::core {

using LedgerTime = std::chrono::steady_clock::time_point;
inline constexpr std::chrono::seconds kGrantPatience{60};
// An init container that only the checkpoint has may have ended with its pod, and no source
// would show it.
inline constexpr std::chrono::seconds kConfirmationLasts{30};

// Bytes of one share, by resource and device. 0: memory is not counted. Devices that are
// offered as a whole are left out.
using OfferedSizes =
    std::map<std::string, std::map<std::string, std::uint64_t, std::less<>>, std::less<>>;

struct FreshGrant {
  std::string resource;
  std::vector<std::string> shares;  // sorted
  LedgerTime at;
  // By device, as in OfferedSizes.
  std::map<std::string, std::uint64_t, std::less<>> sizes;

  bool operator==(const FreshGrant&) const = default;
};

// The last answers of the sources. An empty one did not answer or was not asked.
struct LedgerReading {
  LedgerTime begun;
  std::optional<std::vector<Holding>> pod_resources;
  std::optional<std::vector<Holding>> checkpoint;
  // The kubelet wrote this checkpoint after pod-resources last answered, in this
  // reading or an earlier one.
  bool checkpoint_is_newer = false;

  bool operator==(const LedgerReading&) const = default;
};

struct Records {
  std::optional<std::vector<Holding>> pod_resources;  // the last answers
  std::optional<std::vector<Holding>> checkpoint;
  std::vector<FreshGrant> fresh;
  // What only the checkpoint had when it was last newer than pod-resources.
  std::vector<Holding> confirmed;
  LedgerTime confirmed_at;
  // What only the checkpoint had when pod-resources last answered.
  std::vector<Holding> unlisted;
  // The sizes with which held shares were granted; and the sizes offered last, and before
  // that where they may still matter.
  GrantedSizes sizes;
  OfferedSizes offered;
  OfferedSizes offered_before;
  LedgerTime offered_at;

  // Whether any source has answered: unknown is not empty.
  bool is_known() const { return pod_resources || checkpoint; }
  bool operator==(const Records&) const = default;
};

Records with_reading(Records records, const LedgerReading& reading);
Records with_grant(Records records, FreshGrant grant);
// From now on shares are offered with these sizes. If the held shares are not known,
// nothing changes, because they would get the sizes of now.
Records with_offer(Records records, OfferedSizes offered, LedgerTime now);

// Everything that counts as held.
Ledger present(const Records& records);

// Unconfirmed shares that the checkpoint has and pod-resources, which answered, does not:
// held by an init container, or left over from a pod that has ended. Empty where
// pod-resources has never answered, because the two cannot be distinguished then.
std::vector<Holding> to_confirm(const Records& records);

}  // namespace tranche::core
