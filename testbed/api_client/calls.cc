// SPDX-License-Identifier: Apache-2.0
#include <map>

#include "testbed/api_client/modes.h"

namespace tranche::testbed::api_client {
namespace {

constexpr std::chrono::seconds kPatience{30};

Request request_of(const Json& line) {
  static const std::map<std::string, Verb> verbs{{"GET", Verb::kGet},
                                                 {"POST", Verb::kPost},
                                                 {"PUT", Verb::kPut},
                                                 {"PATCH", Verb::kPatch},
                                                 {"DELETE", Verb::kDelete}};
  const Json* body = member(line, "body");
  return {.verb = verbs.at(text_at(line, "verb")),
          .target = text_at(line, "path"),
          .content_type = text_at(line, "type"),
          .body = body == nullptr ? "" : body->dump()};
}

}  // namespace

void make_calls(ApiClient& client) {
  for (Json line; next_line(line);) {
    const Request request = request_of(line);
    const Result<Response> response = client.send(request, kPatience, {});
    if (!response) {
      print({{"error", response.error().message}});
      continue;
    }
    Json answer{{"status", response->status}};
    if (response->ok()) {
      answer["body"] = parse_json(response->body);
    } else {
      answer["error"] = error_of(request, *response).message;
    }
    print(answer);
  }
}

}  // namespace tranche::testbed::api_client
