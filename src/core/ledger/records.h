// SPDX-License-Identifier: Apache-2.0
//
// What is known of who holds what, and from whom: a fold over readings of the
// kubelet's two sources and over our own grants. Pure; time comes in as a value.
//
// The rules, each with a test by its name:
//   * A source that does not answer changes nothing: its last answer stands.
//   * A share is held when pod-resources lists it, or the checkpoint has it, or
//     we granted it and neither has had the time to show it.
//   * pod-resources leaves out init containers, and a kubelet that has just
//     started lists no pods at all for a second or so. So what only the checkpoint
//     has is held too. But the kubelet does not rewrite the file when a pod ends:
//     `to_confirm` names what may be such a leftover. Whoever then makes the
//     kubelet write (any list of devices does) and reads again knows: what a
//     checkpoint has that was written after pod-resources answered is confirmed,
//     until a pod ends or kConfirmationLasts is over.
//   * A share that two sources have is held once, with what each knows of its
//     holder. One that two holders have (a leftover and its heir, or a finished
//     init container and its successor) is pod-resources' first, then the
//     checkpoint's larger holding's.
//   * A grant is settled by the first reading of a source that has its shares
//     and was begun after it. One that no source has shown by kGrantPatience
//     after it was made, in a reading begun after that, has expired: the kubelet
//     writes its checkpoint in the same admission, so the container was never
//     made. Where there is a checkpoint, only it lets a grant expire: pod-resources
//     never shows init containers. Where no source ever answers, none expires.
//   * A share that is granted again belongs to the newer grant: the kubelet gives
//     only what it takes for free.
//   * A share keeps the size that it was granted with for as long as it is held. Of one
//     that an agent before us granted and did not write down, it is the size that was
//     offered then; where another one was offered within kGrantPatience before, the
//     larger of the two, because a call may have been under way.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ledger/ledger.h"

namespace tranche {

using LedgerTime = std::chrono::steady_clock::time_point;
inline constexpr std::chrono::seconds kGrantPatience{60};
// An init container that nobody but the checkpoint knew may have ended with its
// pod, and nothing would tell.
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

// What the sources said when they were last asked. An empty one did not answer
// or was not asked.
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
  // What is held was granted with these sizes; and what was offered last, and before
  // that where it may still matter.
  GrantedSizes sizes;
  OfferedSizes offered;
  OfferedSizes offered_before;
  LedgerTime offered_at;

  // Whether anything is known of what is held: unknown is not empty.
  bool is_known() const { return pod_resources || checkpoint; }
  bool operator==(const Records&) const = default;
};

Records with_reading(Records records, const LedgerReading& reading);
Records with_grant(Records records, FreshGrant grant);
// From now on shares are offered with these sizes. Where nothing is known of what is
// held, nothing changes: what was held before would get the sizes of now.
Records with_offer(Records records, OfferedSizes offered, LedgerTime now);

// Everything that counts as held.
Ledger present(const Records& records);

// What the checkpoint has and pod-resources, which answered, does not, and what
// is not confirmed yet: held by an init container, or left over from a pod that
// has ended. Empty where pod-resources has never answered: then nothing can be
// told apart.
std::vector<Holding> to_confirm(const Records& records);

}  // namespace tranche
