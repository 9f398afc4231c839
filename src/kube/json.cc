// SPDX-License-Identifier: Apache-2.0
#include "kube/json.h"

namespace tranche::kube {
namespace {

constexpr int kDeepest = 200;

bool is_too_deep(std::string_view text) {
  int depth = 0;
  bool is_in_text = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (is_in_text) {
      if (c == '\\') ++i;
      if (c == '"') is_in_text = false;
    } else if (c == '"') {
      is_in_text = true;
    } else if (c == '[' || c == '{') {
      if (++depth > kDeepest) return true;
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return false;
}

}  // namespace

Json parse_json(std::string_view text) {
  if (is_too_deep(text)) return Json::parse("", nullptr, false);
  return Json::parse(text, nullptr, false);
}

}  // namespace tranche::kube
