// SPDX-License-Identifier: Apache-2.0
//
// The configuration that was chosen by the node's label, as JSON text, for
// config-choice.json in the state folder. Pure.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "core/settings/config_choice.h"

namespace tranche::formats {

std::string to_json(const ConfigChoice& choice);

// An error unless the name is one that can be chosen, or empty where no file was.
Result<ConfigChoice> parse_config_choice(std::string_view text);

}  // namespace tranche::formats
