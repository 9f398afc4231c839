// SPDX-License-Identifier: Apache-2.0
//
// The two small roles that our own program plays for the driver's: whoever it
// becomes, it does so by exec and stays no process of its own.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace tranche::node {

// As `nvidia-cuda-mps-server`: the control daemon finds us in its PATH by that
// name and executes us; we become the driver root's server, by the driver
// root's loader. (The kernel would take our loader for it.) `words` are ours
// but for the first. Returns only a failure's exit code.
int become_mps_server(const std::vector<std::string>& words);

// `mps-with-shm FOLDER PROGRAM …`: becomes the program, with the folder as its
// /dev/shm, in a mount namespace of its own.
int become_with_shared_memory(const std::vector<std::string>& words);

// Whether the program was called for one of MPS's roles (these two, and the
// canary): then its exit code. `words` with the program's name.
std::optional<int> play_mps_role(const std::vector<std::string>& words);

}  // namespace tranche::node
