// SPDX-License-Identifier: Apache-2.0
//
// One request to the API server and its answer, as values.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace tranche::kube {

enum class Verb { kGet, kPost, kPut, kPatch, kDelete };
std::string_view to_string(Verb verb);

// Content types of a PATCH.
inline constexpr const char* kApplyPatch = "application/apply-patch+yaml";
inline constexpr const char* kMergePatch = "application/merge-patch+json";
inline constexpr const char* kStrategicPatch = "application/strategic-merge-patch+json";
inline constexpr const char* kJson = "application/json";

struct Request {
  Verb verb = Verb::kGet;
  std::string target;  // path and query: "/api/v1/nodes/a?timeoutSeconds=300"
  std::string content_type;
  std::string body;
};

struct Response {
  unsigned status = 0;
  std::string body;
  std::optional<std::chrono::seconds> retry_after;

  bool ok() const { return status >= 200 && status < 300; }
};

// Why the API server did not do what it was asked for: the fields of its Status object, or the
// HTTP status where the body is something else (a proxy's page, say).
struct Refusal {
  unsigned code = 0;
  std::string reason;  // "NotFound", "Forbidden", "Expired"; empty where the body has none
  std::string message;
};
Refusal refusal_of(const Response& response);

// The refusal as an error: "PATCH /api/v1/nodes/a/status: 403 Forbidden: nodes "a" is …".
Error error_of(const Request& request, const Response& response);

// `text` for a path segment or a query value.
std::string url_escaped(std::string_view text);
// "path?key=value&…", values escaped.
std::string with_query(std::string path,
                       const std::vector<std::pair<std::string, std::string>>& query);

}  // namespace tranche::kube
