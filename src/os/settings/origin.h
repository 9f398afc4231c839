// SPDX-License-Identifier: Apache-2.0
//
// Where the value of a setting came from.
#pragma once

#include <string>

namespace tranche::os {

// From the weakest to the strongest.
enum class OriginKind { kDefault, kFile, kEnvironment, kFlag };

struct Origin {
  OriginKind kind = OriginKind::kDefault;
  // The flag as written, the variable's name, "config.yaml:3", or "default"
  // with what it follows from.
  std::string text = "default";

  bool operator==(const Origin&) const = default;
};

}  // namespace tranche::os
