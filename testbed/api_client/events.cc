// SPDX-License-Identifier: Apache-2.0
#include <chrono>

#include "kube/event_book.h"
#include "testbed/api_client/modes.h"

namespace tranche::testbed::api_client {
namespace {

constexpr std::chrono::seconds kPatience{30};

Event event_of(const Json& line) {
  return {.regarding = {.api_version = text_at(line, "apiVersion"),
                        .kind = text_at(line, "kind"),
                        .space = text_at(line, "namespace"),
                        .name = text_at(line, "name"),
                        .uid = text_at(line, "uid")},
          .is_warning = true,
          .reason = text_at(line, "reason"),
          .action = "Look",
          .note = text_at(line, "note")};
}

}  // namespace

// "later" of a line: so many seconds after the line before, without waiting.
void make_events(ApiClient& client) {
  EventBook book({.controller = "tranche.dev/api-client", .instance = "story"});
  auto ahead = std::chrono::seconds(0);
  unsigned number = 0;
  for (Json line; next_line(line);) {
    ahead += std::chrono::seconds(number_at(line, "later", 1'000'000));
    const auto wall = std::chrono::system_clock::now();
    const EventBook::Moment moment{
        .now = EventBook::Clock::now() + ahead,
        .wall = micro_time(wall + ahead),
        .name_tag = std::to_string(wall.time_since_epoch().count()) + std::to_string(++number)};
    const auto request = book.note(event_of(line), moment);
    if (!request) {
      print({{"counted", true}});
      continue;
    }
    const Result<Response> response = client.send(*request, kPatience, {});
    if (!response || !response->ok()) book.lost(*request);
    print({{"status", response ? response->status : 0},
           {"error", response && response->ok() ? ""
                     : response                 ? error_of(*request, *response).message
                                                : response.error().message}});
  }
}

}  // namespace tranche::testbed::api_client
