// SPDX-License-Identifier: Apache-2.0
//
// A command's words: options of the tool's one table, and what stands alone. Reading is
// strict: an option that nobody asked for is an error. The first problem is kept.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/text.h"

namespace tranche::testbed::sim {

class Arguments {
 public:
  explicit Arguments(const std::vector<std::string>& words);

  // The next word that stands alone; empty when there is none.
  std::string word();

  std::optional<std::string> text(const std::string& flag);
  std::string needed(const std::string& flag);  // a problem where it is missing
  bool given(const std::string& flag);          // of a switch

  template <typename Number>
  std::optional<Number> number(const std::string& flag) {
    const auto value = text(flag);
    if (!value) return std::nullopt;
    const bool hex = value->starts_with("0x");
    const auto parsed = hex ? parse_number<Number>(std::string_view(*value).substr(2), 16)
                            : parse_number<Number>(*value);
    if (!parsed) add_problem("--" + flag + ": '" + *value + "' is no number that fits");
    return parsed;
  }
  template <typename Number>
  Number needed_number(const std::string& flag) {
    needed(flag);
    return number<Number>(flag).value_or(Number{});
  }

  void add_problem(const std::string& problem);
  // All words and flags were asked for, and nothing was wrong.
  Status finish();

 private:
  std::vector<std::string> words_;
  std::map<std::string, std::string> flags_;
  std::vector<std::string> asked_;
  std::optional<Error> problem_;
};

// "gpu state=up|down [gi ci]" is "--gpu G --state up|down [--gi N --ci N]": the table has the
// words for values, unless one is named here. What is no option stays as it is.
std::string synopsis(std::string_view names);

}  // namespace tranche::testbed::sim
