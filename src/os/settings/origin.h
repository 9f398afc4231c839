// SPDX-License-Identifier: Apache-2.0
//
// The origin of a setting's value.
#pragma once

#include <string>

namespace tranche::os {

// Weakest first.
enum class OriginKind { kDefault, kFile, kEnvironment, kFlag };

struct Origin {
  OriginKind kind = OriginKind::kDefault;
  // The flag as written, the variable's name, "config.yaml:3", or "default"
  // with what it follows from.
  std::string text = "default";

  bool operator==(const Origin&) const = default;
};

}  // namespace tranche::os
