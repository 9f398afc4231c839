// SPDX-License-Identifier: Apache-2.0
//
// Cells and rows that the tables of the status document have in common. All throw as
// nlohmann's library does where the document is not what they expect.
#pragma once

#include <cstdint>
#include <ctime>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace tranche::programs {

// "2026-01-31T12:00:00Z".
std::string utc(std::time_t when);
std::string gib(std::uint64_t bytes);
// "-" for null.
std::string text_of(const nlohmann::ordered_json& value);

// "Node: …", "Driver: …" and "Agent: …", a line each.
std::string head_lines(const nlohmann::ordered_json& document);

// The command that finds a pod by its uid.
std::string find_by_uid(const std::string& uid);

// Of each container a row for each device.
std::string holders_table(const nlohmann::ordered_json& document);
std::string withheld_lines(const nlohmann::ordered_json& document);
std::string mps_table(const nlohmann::ordered_json& daemons);

// "-" for whole devices, "driver", or "driver (not possible)" where what is demanded cannot be had.
std::string enforcement_text(const nlohmann::ordered_json& terms);

}  // namespace tranche::programs
