// SPDX-License-Identifier: Apache-2.0
//
// Recognizes other files by their keys: a whole ConfigMap, Helm values, Google's gpu_config.json.
// Pure.
#pragma once

#include <optional>
#include <string>

#include "os/settings/document.h"

namespace tranche::programs {

// What the file is, and what to give instead. Empty: it looks like a configuration file, even a
// wrong one.
std::optional<DocumentProblem> foreign_document(const ConfigNode& root);

}  // namespace tranche::programs
