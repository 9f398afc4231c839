// SPDX-License-Identifier: Apache-2.0
#include <random>

#include "kube/event_book.h"
#include "kube/lease_holder.h"
#include "testbed/api_client/modes.h"

namespace tranche::testbed::api_client {
namespace {

// The same for all processes of a machine, and never set.
std::int64_t monotonic_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

void keep_lease(ApiClient& client, const Flags& flags, const std::stop_token& stop) {
  const std::size_t slash = std::min(flags.lease.find('/'), flags.lease.size() - 1);
  const std::chrono::milliseconds duration = std::chrono::seconds(flags.lease_seconds);
  std::mt19937 dice(std::random_device{}());
  LeaseHolder holder(
      client, {.space = flags.lease.substr(0, slash), .name = flags.lease.substr(slash + 1)},
      flags.identity,
      {.duration = std::chrono::seconds(flags.lease_seconds),
       .renew_deadline = duration * 2 / 3,
       .retry = duration * 2 / 15},
      {.changed = [](bool leads) { print({{"leads", leads}, {"at", monotonic_ms()}}); },
       .trouble = [](const std::string& problem) { print({{"trouble", problem}}); },
       .wall =
           [&] {
             return micro_time(std::chrono::system_clock::now() -
                               std::chrono::seconds(flags.wall_behind));
           },
       .chance = [&] { return std::uniform_real_distribution<>()(dice); }});
  holder.run(stop);
}

}  // namespace tranche::testbed::api_client
