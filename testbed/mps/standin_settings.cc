// SPDX-License-Identifier: Apache-2.0
#include "testbed/mps/standin_settings.h"

#include <array>
#include <cstdio>
#include <sstream>

#include "base/text.h"

namespace tranche::testbed::mps_standin {

std::optional<std::uint64_t> parse_size(const std::string& text) {
  if (text == "0") return 0;
  if (text.size() < 2) return std::nullopt;
  const auto number = parse_number<std::uint64_t>(text.substr(0, text.size() - 1));
  if (!number) return std::nullopt;
  if (text.back() == 'M') return *number << 20;
  if (text.back() == 'G') return *number << 30;
  return std::nullopt;
}

std::optional<std::uint64_t> Settings::limit_of(const std::string& device) const {
  if (const auto own = limits.find(device); own != limits.end()) return own->second;
  // Recorded: a limit that was given to the uuid is in force where the ordinal
  // has none, though it cannot be asked for.
  for (const auto& [name, bytes] : limits) {
    if (name.starts_with("GPU-")) return bytes;
  }
  return std::nullopt;
}

void Settings::set_limit(const std::string& device, const std::string& size) {
  const std::optional<std::uint64_t> bytes = parse_size(size);
  if (!bytes) return;
  limits.erase(device);
  if (*bytes > 0) limits[device] = *bytes;
}

void Settings::set_percentage(const std::string& text) {
  double value = 0;
  if (std::sscanf(text.c_str(), "%lf", &value) == 1 && value > 0 && value <= 100) {
    percentage = value;
  }
}

std::string percentage_text(double percentage) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f\n", percentage);
  return text.data();
}

std::string limit_text(std::optional<std::uint64_t> bytes) {
  return bytes ? std::to_string(*bytes >> 30) + "G\n" : "";
}

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream stream(line);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

}  // namespace tranche::testbed::mps_standin
