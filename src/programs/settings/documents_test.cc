// SPDX-License-Identifier: Apache-2.0
//
// Checks that the flags in documents and in the help exist.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <set>

#include "base/text.h"
#include "os/files.h"
#include "os/settings/command_line.h"
#include "programs/settings/command_options.h"
#include "programs/settings/flag_table.h"
#include "programs/settings/help.h"

namespace tranche::programs {
namespace {

using ::testing::IsEmpty;

// Those that each command has.
const std::set<std::string> kOfAll = {"h", "help", "version"};
// Flags of other programs in the documents.
const std::set<std::string> kOfOthers = {"set",           // helm
                                         "gpu-reset",     // nvidia-smi
                                         "dry-run",       // kubectl
                                         "grace-period",  // kubectl
                                         "quick"};        // our bench
constexpr const char* kProgram = "tranche-device-plugin";

bool is_known(const std::string& name) {
  const auto has_it = [&](const char* command) {
    return find_option(options_of_command(command), name) != nullptr;
  };
  return find_flag(name) != nullptr || kOfAll.contains(name) || has_it("devices") ||
         has_it("capture") || has_it("mps-control-daemon");
}

std::string name_of(const std::string& word) {
  const std::string name = word.substr(word.find_first_not_of('-'));
  return name.substr(0, name.find('='));
}

// All matches of the expression's first group.
std::vector<std::string> all_in(const std::string& text, const std::string& expression) {
  const std::regex regex(expression);
  std::vector<std::string> found;
  for (std::sregex_iterator at(text.begin(), text.end(), regex), end; at != end; ++at) {
    found.push_back((*at)[1]);
  }
  return found;
}

// The flags after our program's name, up to the end of the command.
std::vector<std::string> flags_of_commands(std::string text) {
  text = std::regex_replace(text, std::regex(R"(\\\n\s*)"), " ");
  std::vector<std::string> flags;
  for (const std::string& line : split(text, '\n')) {
    // As a command, not as the name of an image or a DaemonSet.
    static const std::regex command(R"((^\s*|-- |\$ |`|/)tranche-device-plugin(\s[^|;&`#]*))");
    std::smatch found;
    if (!std::regex_search(line, found, command)) continue;
    const std::string rest = found[2];
    for (const std::string& flag : all_in(rest, R"(\s(--?[A-Za-z][\w-]*))")) flags.push_back(flag);
  }
  return flags;
}

std::vector<std::string> documents() {
  std::vector<std::string> paths{TRANCHE_DOCS "/../README.md"};
  for (const std::string& name : *list_directory(TRANCHE_DOCS)) {
    if (name.ends_with(".md")) paths.push_back(std::string(TRANCHE_DOCS "/") + name);
  }
  return paths;
}

TEST(Documents, NameOnlyFlagsThatAreParsed) {
  std::size_t count = 0;
  for (const std::string& path : documents()) {
    const std::string text = *read_file(path);
    // A flag in backquotes, or as an item of a container's arguments.
    std::vector<std::string> flags = all_in(text, "`(--?[A-Za-z][\\w-]*)");
    for (const std::string& flag : all_in(text, R"(\n\s*- (--[A-Za-z][\w-]*))")) {
      flags.push_back(flag);
    }
    for (const std::string& flag : flags_of_commands(text)) flags.push_back(flag);
    for (const std::string& flag : flags) {
      EXPECT_TRUE(is_known(name_of(flag)) || kOfOthers.contains(name_of(flag)))
          << path << " names " << flag << ", which is not parsed";
      ++count;
    }
  }
  EXPECT_GT(count, 100U) << "the expressions find nothing any more";
}

TEST(Documents, NameOnlyVariablesThatAreRead) {
  const std::string text = *read_file(TRANCHE_DOCS "/migrating-from-gcp.md");
  std::set<std::string> known;
  for (const Option& flag : flag_table()) {
    for (const std::string& name : flag.variables()) known.insert(name);
  }
  for (const std::string& name : all_in(text, "`([A-Z]+_[A-Z_]+)`")) {
    // Variables of containers, and one that only they need.
    if (name.starts_with("CUDA_") || name == "NODE_NAME") continue;
    EXPECT_TRUE(known.contains(name)) << name;
  }
}

// As in the help, and with the other form of the value.
TEST(HelpText, NamesFlagsAsTheyAreParsed) {
  std::size_t count = 0;
  for (const std::string& line : split(help_text(kProgram), '\n')) {
    if (!line.starts_with("  --")) continue;
    for (const std::string& flag : all_in(line, R"((--[A-Za-z][\w-]*))")) {
      if (name_of(flag) == "help" || name_of(flag) == "version") continue;
      const Option* spec = find_flag(name_of(flag));
      ASSERT_NE(spec, nullptr) << flag;
      const bool has_value = line.find(flag + " ") != std::string::npos || line.ends_with("]");
      const bool is_boolean = spec->type == ValueType::kBool;
      EXPECT_TRUE(is_boolean || has_value || line.find(flag + ",") != std::string::npos) << line;
      const std::vector<std::string> apart =
          is_boolean ? std::vector<std::string>{flag} : std::vector<std::string>{flag, "5"};
      EXPECT_THAT(parse_command_line(flag_table(), apart).problems, IsEmpty()) << flag;
      EXPECT_THAT(parse_command_line(flag_table(), {flag + "=5"}).problems, IsEmpty()) << flag;
      EXPECT_THAT(parse_command_line(flag_table(), {flag.substr(1) + "=5"}).problems, IsEmpty())
          << flag;
      ++count;
    }
  }
  EXPECT_GE(count, flag_table().size() - 4) << "a flag is not found";
}

}  // namespace
}  // namespace tranche::programs
