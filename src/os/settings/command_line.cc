// SPDX-License-Identifier: Apache-2.0
#include "os/settings/command_line.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <optional>

#include "base/text.h"
#include "os/settings/values.h"

namespace tranche::os {
namespace {

// A command line of nothing but wrong words should not become a page.
constexpr std::size_t kMostProblems = 20;

struct Word {
  std::string dashed_name;  // as written, "--x"
  std::string name;
  std::optional<std::string> value;  // behind `=`
};

// One argument that starts with a dash, taken apart. Empty: not of that form.
std::optional<Word> take_apart(const std::string& argument) {
  const std::size_t dashes = argument.starts_with("--") ? 2 : 1;
  const std::size_t equals = argument.find('=');
  Word word;
  word.dashed_name = argument.substr(0, equals);
  word.name = word.dashed_name.substr(dashes);
  if (equals != std::string::npos) word.value = argument.substr(equals + 1);
  if (word.name.empty() || word.name.starts_with('-')) return std::nullopt;
  return word;
}

class Parser {
 public:
  Parser(OptionTable table, const std::vector<std::string>& arguments, const AlsoKnown& also)
      : table_(table), also_(also), arguments_(arguments) {}

  CommandLine parse() {
    while (next_ < arguments_.size() && line_.problems.size() < kMostProblems) {
      const std::string& argument = arguments_[next_++];
      if (argument == "--") {
        line_.positionals.insert(line_.positionals.end(),
                                 arguments_.begin() + static_cast<std::ptrdiff_t>(next_),
                                 arguments_.end());
        break;
      }
      if (argument.size() < 2 || argument[0] != '-') {
        take_positional(argument);
      } else {
        take_flag(argument);
      }
    }
    return std::move(line_);
  }

 private:
  void complain(const std::string& problem) { line_.problems.push_back(problem); }

  void take_positional(const std::string& argument) {
    // "--pass-device-specs false" is meant as a value, and would turn it on.
    if (behind_boolean_ == next_ - 1 && parse_go_bool(argument)) {
      const std::string& before = arguments_[next_ - 2];
      complain(before + " " + argument + ": a flag that is true or false does not take the next " +
               "word; write " + before + "=" + argument);
      return;
    }
    line_.positionals.push_back(argument);
  }

  void take_flag(const std::string& argument) {
    const std::optional<Word> word = take_apart(argument);
    if (!word) {
      complain(brief(argument) + ": bad flag syntax; write --name=value");
    } else if (word->name == "h" || std::ranges::count(requests(), word->name) > 0) {
      take_request(*word);
    } else if (const Option* flag = find_option(table_, word->name)) {
      take_known(*flag, *word, argument);
    } else if (const Option* other = find_option(also_.options, word->name)) {
      take_known(*other, *word, argument);
    } else {
      line_.unknown.push_back(word->name);
      const auto near = nearest(brief(word->name), known_names());
      complain(brief(word->dashed_name) + ": unknown flag" +
               (near ? "; did you mean --" + *near + "?" : "; --help lists all of them"));
    }
  }

  std::vector<std::string> requests() const {
    return also_.version ? std::vector<std::string>{"help", "version"}
                         : std::vector<std::string>{"help"};
  }

  std::vector<std::string> known_names() const {
    std::vector<std::string> names = requests();
    for (const OptionTable table : {table_, also_.options}) {
      std::ranges::move(option_names(table), std::back_inserter(names));
    }
    return names;
  }

  void take_request(const Word& word) {
    const std::string value = word.value.value_or("true");
    const auto wanted = parse_go_bool(value);
    if (!wanted) {
      complain(word.dashed_name + ": expected true or false, found '" + brief(value) + "'");
    }
    (word.name == "version" ? line_.wants_version : line_.wants_help) = wanted.value_or(false);
  }

  void take_known(const Option& flag, const Word& word, const std::string& argument) {
    if (word.value) {
      line_.flags.push_back({&flag, *word.value, argument});
    } else if (flag.type == ValueType::kBool) {
      behind_boolean_ = next_;
      line_.flags.push_back({&flag, "true", argument});
    } else if (next_ < arguments_.size()) {
      const std::string& value = arguments_[next_++];
      line_.flags.push_back({&flag, value, argument + " " + value});
    } else {
      complain(argument + ": needs a value; write " + argument + "=" + placeholder(flag) +
               (flag.name == "v" ? " (--version prints the version)" : ""));
    }
  }

  static std::string placeholder(const Option& flag) {
    if (flag.type == ValueType::kNumber) return "4";
    if (!flag.fallback.empty()) return std::string(flag.fallback);
    return flag.placeholder.empty() ? "value" : std::string(flag.placeholder);
  }

  const OptionTable table_;
  const AlsoKnown also_;
  const std::vector<std::string>& arguments_;
  std::size_t next_ = 0;
  std::optional<std::size_t> behind_boolean_;  // position behind the last boolean without `=`
  CommandLine line_;
};

}  // namespace

CommandLine parse_command_line(OptionTable table, const std::vector<std::string>& arguments,
                               const AlsoKnown& also) {
  return Parser(table, arguments, also).parse();
}

std::vector<std::string> positional_problems(const CommandLine& line) {
  std::vector<std::string> problems;
  for (const std::string& word : line.positionals) {
    problems.push_back("unexpected argument '" + brief(word) +
                       "': flags begin with a dash, and their values follow = or a space");
  }
  return problems;
}

}  // namespace tranche::os
