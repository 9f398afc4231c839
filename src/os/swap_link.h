// SPDX-License-Identifier: Apache-2.0
//
// Replaces a symbolic link in one step: at every moment the path leads to the old target or to the
// new one.
#pragma once

#include <string>

#include "base/result.h"

namespace tranche::os {

// Also replaces a file at `path`. False: the link leads there already.
Result<bool> swap_link(const std::string& target, const std::string& path);

}  // namespace tranche::os
