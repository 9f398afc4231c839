// SPDX-License-Identifier: Apache-2.0
//
// Runs NVIDIA's own tool on a simulated node.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace tranche::tests {

// Why the tool cannot be run here (no Go, not root); empty when it can. Builds
// it the first time, which takes a minute or two.
std::string nvidia_ctk_missing();

// Where the tool lies.
Result<std::string> nvidia_ctk_path();

// Every device that the CDI library, which runtimes read specifications with,
// finds in this folder: what `nvidia-ctk cdi list` prints. A file it refuses
// gives none.
Result<std::vector<std::string>> nvidia_ctk_list(const std::string& folder);

// What `nvidia-ctk cdi generate` prints for the node in `root`; an error with
// what it complained of when it fails. Run nvidia_ctk_missing() first.
Result<std::string> nvidia_ctk_generate(const std::string& root,
                                        const std::vector<std::string>& flags);

}  // namespace tranche::tests
