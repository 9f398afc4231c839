// SPDX-License-Identifier: Apache-2.0
//
// What people read about the settings, made from the same tables as the
// parsers: the text of --help, and the tables of docs/configuration.md. Pure.
#pragma once

#include <string>
#include <string_view>

namespace tranche::programs {

// Not wider than 100 columns.
std::string help_text(std::string_view program);

// Of one command: what it does and its own flags.
std::string command_help(std::string_view program, std::string_view command);

// The generated part of docs/configuration.md.
std::string reference_markdown();

}  // namespace tranche::programs
