// SPDX-License-Identifier: Apache-2.0
//
// What people read about a program's options, made from the table that the parsers
// read: the part of --help, and the tables of the reference page. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "os/settings/option.h"
#include "os/settings/schema.h"

namespace tranche::os {

// `text` in lines of at most 100 columns, each behind `indent` spaces.
std::string wrap(std::string_view text, std::size_t indent);

// "--mig-strategy none|single|mixed"; "-o table|json" where it has a name of one letter.
std::string synopsis(const Option& option);

// Every option with its sources and default, by group. Not wider than 100 columns.
std::string options_help(OptionTable table);

// The same in Markdown: a heading and a table for each group.
std::string options_reference(OptionTable table);
// The keys that only the file has; those of other programs.
std::string keys_reference(const Schema& schema);
std::string foreign_keys_reference(const Schema& schema);

}  // namespace tranche::os
