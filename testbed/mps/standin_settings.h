// SPDX-License-Identifier: Apache-2.0
//
// The settings of the stand-in control daemon and its answers about them, as
// tests/mps/recorded has them from a real one.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tranche::testbed::mps_standin {

// "4096M", "6G", "0"; empty for what is none of these.
std::optional<std::uint64_t> parse_size(const std::string& text);

struct Settings {
  double percentage = 100;
  // By what the device was called: an ordinal, or a uuid, which is kept apart.
  std::map<std::string, std::uint64_t> limits;

  // A server's own limit of device 0 when it starts.
  std::optional<std::uint64_t> limit_of(const std::string& device) const;
  void set_limit(const std::string& device, const std::string& size);
  void set_percentage(const std::string& text);
};

// "100.0\n"
std::string percentage_text(double percentage);
// Rounded down to GiB, as the real one prints it: "4G\n"; empty for none.
std::string limit_text(std::optional<std::uint64_t> bytes);

std::vector<std::string> words_of(const std::string& line);

}  // namespace tranche::testbed::mps_standin
