// SPDX-License-Identifier: Apache-2.0
//
// A host's grant as the agent inside the pod reads it: a versioned JSON document. Pure.
//
// The document is a contract between agents of different versions: fields are
// added, never changed; whoever reads it passes over what it does not know. A
// reader that does not know the version number refuses the whole.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "core/nested/nested_grant.h"

namespace tranche::formats {

std::string to_json(const NestedGrant& grant);
Result<NestedGrant> parse_nested_grant(std::string_view json);

}  // namespace tranche::formats
