// SPDX-License-Identifier: Apache-2.0
#include "base/table.h"

#include <algorithm>
#include <cstddef>

#include "base/text.h"

namespace tranche::base {
namespace {

// Characters, not bytes: UTF-8 continuation bytes do not count.
std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

}  // namespace

std::string to_table(const std::vector<std::vector<std::string>>& given) {
  std::vector<std::vector<std::string>> rows = given;
  // Names chosen by a pod or a driver must not reach a terminal unescaped.
  for (auto& row : rows) {
    for (std::string& cell : row) cell = printable(cell);
  }
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width_of(row[i]));
  }
  std::string table;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      line += row[i];
      if (i + 1 < row.size()) line.append(widths[i] - width_of(row[i]) + 2, ' ');
    }
    line.erase(line.find_last_not_of(' ') + 1);
    table += line + "\n";
  }
  return table;
}

}  // namespace tranche::base
