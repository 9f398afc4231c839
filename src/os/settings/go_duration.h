// SPDX-License-Identifier: Apache-2.0
//
// Durations as Go writes them, because NVIDIA's files do: "5s", "1m30s",
// "1.5h", "300ms". Pure.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace tranche::os {

// Empty for what Go's time.ParseDuration refuses, overflow included.
std::optional<std::chrono::nanoseconds> parse_go_duration(std::string_view text);

// "5s" or "1500ms"; parse_go_duration reads the same value back.
std::string go_duration(std::chrono::milliseconds duration);

}  // namespace tranche::os
