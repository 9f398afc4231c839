// SPDX-License-Identifier: Apache-2.0
#include "testbed/tool/arguments.h"

#include <algorithm>

namespace tranche::testbed::sim {

Arguments::Arguments(const std::vector<std::string>& words,
                     const std::vector<std::string>& switches) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (!words[i].starts_with("--")) {
      words_.push_back(words[i]);
      continue;
    }
    const std::size_t equals = words[i].find('=');
    const std::string name = words[i].substr(2, equals == std::string::npos ? equals : equals - 2);
    std::string value;
    if (equals != std::string::npos) {
      value = words[i].substr(equals + 1);
    } else if (std::ranges::count(switches, name) == 0) {
      if (i + 1 == words.size()) add_problem("--" + name + " needs a value");
      if (i + 1 < words.size()) value = words[++i];
    }
    if (!flags_.emplace(name, value).second) add_problem("--" + name + " is given twice");
  }
}

std::string Arguments::word() {
  if (words_.empty()) return "";
  std::string first = words_.front();
  words_.erase(words_.begin());
  return first;
}

std::optional<std::string> Arguments::text(const std::string& flag) {
  asked_.push_back(flag);
  const auto found = flags_.find(flag);
  if (found == flags_.end()) return std::nullopt;
  return found->second;
}

std::string Arguments::needed(const std::string& flag) {
  const auto value = text(flag);
  if (!value) add_problem("--" + flag + " is missing");
  return value.value_or("");
}

bool Arguments::given(const std::string& flag) { return text(flag).has_value(); }

void Arguments::add_problem(const std::string& problem) {
  if (!problem_) problem_ = Error{ErrorCode::kInvalidArgument, problem};
}

Status Arguments::finish() {
  for (const auto& [flag, value] : flags_) {
    if (std::ranges::count(asked_, flag) > 0) continue;
    const auto meant = nearest(flag, asked_);
    // Before all else: a misspelt flag is why another one is missing.
    return Error{ErrorCode::kInvalidArgument,
                 "unknown flag --" + flag + (meant ? "; did you mean --" + *meant + "?" : "")};
  }
  if (!words_.empty()) add_problem("'" + words_.front() + "' is one word too many");
  if (problem_) return *problem_;
  return Done{};
}

}  // namespace tranche::testbed::sim
