// SPDX-License-Identifier: Apache-2.0
#include "demo/layout.h"

#include <regex>

#include "base/text.h"

namespace tranche::demo {
namespace {

// "-xxxx-xxxx-xxxx-xxxxxxxxxxxx": what is left out of a uuid.
constexpr std::size_t kLeftOut = 28;
constexpr std::size_t kUuidColumn = 40;

}  // namespace

std::vector<std::string> wrap(std::string_view text, std::size_t width) {
  std::vector<std::string> lines(1);
  bool is_first = true;
  for (const std::string& word : split(text, ' ')) {
    std::string& line = lines.back();
    if (!is_first && width > 0 && line.size() + 1 + word.size() > width) {
      lines.push_back(word);
    } else {
      line += (is_first ? "" : " ") + word;
    }
    is_first = false;
  }
  return lines;
}

std::string shorten_uuids(const std::string& text) {
  const std::regex uuid("((GPU|MIG)-[0-9a-f]{8})(-[0-9a-f]{4}){3}-[0-9a-f]{12}");
  std::string shorter = std::regex_replace(text, uuid, "$1");
  const std::string heading = "UUID" + std::string(kUuidColumn - 4, ' ');
  if (const std::size_t place = shorter.find(heading); place != std::string::npos) {
    shorter.erase(place + 4, kLeftOut);
  }
  return shorter;
}

std::string_view without_time(std::string_view log_line) {
  const std::size_t space = log_line.find(' ');
  const bool has_time = space != std::string_view::npos && space >= 20 && log_line[10] == 'T' &&
                        log_line[space - 1] == 'Z';
  return has_time ? log_line.substr(space + 1) : log_line;
}

}  // namespace tranche::demo
