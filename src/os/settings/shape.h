// SPDX-License-Identifier: Apache-2.0
//
// Whether a file has the form of a configuration: only keys that exist, each
// once, in its place and of its type. What the values mean is not asked here.
// Pure.
#pragma once

#include "os/settings/document.h"
#include "os/settings/file_problems.h"
#include "os/settings/schema.h"

namespace tranche::os {

void check_shape(const Schema& schema, const ConfigNode& root, FileProblems& problems);

}  // namespace tranche::os
