// SPDX-License-Identifier: Apache-2.0
#include "kube/request.h"

#include "base/text.h"
#include "kube/json.h"

namespace tranche::kube {
namespace {

// A proxy's page can be long; its beginning says enough.
constexpr std::size_t kMostMessage = 1024;

bool is_unreserved(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '.' || c == '_' || c == '~';
}

// The target without its query: that may be long and says little.
std::string path_of(const Request& request) {
  return request.target.substr(0, request.target.find('?'));
}

}  // namespace

std::string_view to_string(Verb verb) {
  switch (verb) {
    case Verb::kGet: return "GET";
    case Verb::kPost: return "POST";
    case Verb::kPut: return "PUT";
    case Verb::kPatch: return "PATCH";
    case Verb::kDelete: return "DELETE";
  }
  return "";
}

Refusal refusal_of(const Response& response) {
  Refusal refusal{.code = response.status};
  const Json json = parse_json(response.body);
  if (text_at(json, "kind") == "Status") {
    refusal.reason = text_at(json, "reason");
    refusal.message = text_at(json, "message");
    const auto code = static_cast<unsigned>(number_at(json, "code", 999));
    if (code > 0) refusal.code = code;
  } else {
    refusal.message = std::string(trim(response.body));
  }
  refusal.message = printable(refusal.message.substr(0, kMostMessage));
  return refusal;
}

Error error_of(const Request& request, const Response& response) {
  const Refusal refusal = refusal_of(response);
  ErrorCode code = ErrorCode::kInternal;
  if (refusal.code == 404) code = ErrorCode::kNotFound;
  if (refusal.code == 400 || refusal.code == 422) code = ErrorCode::kInvalidArgument;
  if (refusal.code == 429 || refusal.code >= 500) code = ErrorCode::kUnavailable;
  std::string message = std::string(to_string(request.verb)) + " " + path_of(request) + ": " +
                        std::to_string(refusal.code);
  if (!refusal.reason.empty()) message += " " + refusal.reason;
  if (!refusal.message.empty()) message += ": " + refusal.message;
  return {code, message};
}

std::string url_escaped(std::string_view text) {
  static constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string escaped;
  for (const char c : text) {
    if (is_unreserved(c)) {
      escaped += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      escaped += '%';
      escaped += kDigits[byte / 16U];
      escaped += kDigits[byte % 16U];
    }
  }
  return escaped;
}

std::string with_query(std::string path,
                       const std::vector<std::pair<std::string, std::string>>& query) {
  char separator = '?';
  for (const auto& [key, value] : query) {
    path += separator + key + "=" + url_escaped(value);
    separator = '&';
  }
  return path;
}

}  // namespace tranche::kube
