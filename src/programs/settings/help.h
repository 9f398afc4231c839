// SPDX-License-Identifier: Apache-2.0
//
// Documentation of the settings, generated from the parsers' tables: the text of --help, and the
// tables of docs/configuration.md. Pure.
#pragma once

#include <string>
#include <string_view>

namespace tranche::programs {

// At most 100 columns wide.
std::string help_text(std::string_view program);

// Help of one command: its purpose and its own flags.
std::string command_help(std::string_view program, std::string_view command);

// The generated part of docs/configuration.md.
std::string reference_markdown();

}  // namespace tranche::programs
