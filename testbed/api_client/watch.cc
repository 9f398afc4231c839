// SPDX-License-Identifier: Apache-2.0
#include <random>

#include "kube/object_watch.h"
#include "testbed/api_client/modes.h"

namespace tranche::testbed::api_client {

void print_changes(ApiClient& client, const Flags& flags, const std::stop_token& stop) {
  std::mt19937 dice(std::random_device{}());
  ObjectWatch watch(client, {.path = flags.watch},
                    {.changed =
                         [](const ObjectChanges& changes, bool is_complete) {
                           for (const ObjectChange& change : changes) {
                             Json line{{"key", change.key}, {"gone", change.object == nullptr}};
                             if (change.object) line["bytes"] = change.object->dump().size();
                             print(line);
                           }
                           print({{"complete", is_complete}});
                         },
                     .trouble = [](const std::string& problem) { print({{"trouble", problem}}); },
                     .strip = {},
                     .chance = [&] { return std::uniform_real_distribution<>()(dice); }});
  watch.run(stop);
}

}  // namespace tranche::testbed::api_client
