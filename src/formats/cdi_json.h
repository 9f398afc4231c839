// SPDX-License-Identifier: Apache-2.0
//
// A CDI specification as the text of its file. Pure: equal specifications give equal bytes.
#pragma once

#include <string>

#include "base/result.h"
#include "core/cdi/cdi_spec.h"

namespace tranche::formats {

// Fails only if a path is not UTF-8, which JSON cannot hold.
Result<std::string> cdi_json(const CdiSpec& spec);

}  // namespace tranche::formats
