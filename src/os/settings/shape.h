// SPDX-License-Identifier: Apache-2.0
//
// Checks the form of a configuration file: only known keys, each once, in its place and of its
// type. Does not interpret values. Pure.
#pragma once

#include "os/settings/document.h"
#include "os/settings/file_problems.h"
#include "os/settings/schema.h"

namespace tranche::os {

void check_shape(const Schema& schema, const ConfigNode& root, FileProblems& problems);

}  // namespace tranche::os
