// SPDX-License-Identifier: Apache-2.0
//
// A host's grant as the agent inside the pod reads it: a versioned JSON document. Pure.
//
// The document is a contract between agents of different versions: fields are added, never
// changed, and a reader ignores unknown fields. A reader refuses a document with an unknown
// version number.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "core/nested/nested_grant.h"

namespace tranche::formats {

std::string to_json(const NestedGrant& grant);
Result<NestedGrant> parse_nested_grant(std::string_view json);

}  // namespace tranche::formats
