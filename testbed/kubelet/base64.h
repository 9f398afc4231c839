// SPDX-License-Identifier: Apache-2.0
//
// Base64 with the standard alphabet and padding, as Go's JSON writes bytes.
// Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tranche::testbed::standin {

std::string to_base64(std::string_view bytes);

// Empty where the text is not base64.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace tranche::testbed::standin
