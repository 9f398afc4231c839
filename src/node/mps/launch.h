// SPDX-License-Identifier: Apache-2.0
//
// Our own program in the place of the driver's: it replaces itself with exec.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace tranche::node {

// As `nvidia-cuda-mps-server`: the control daemon finds us in its PATH by that name; we become the
// driver root's server, with the driver root's loader (the kernel would use ours). `words`: our
// arguments. Returns only an exit code of failure.
int become_mps_server(const std::vector<std::string>& words);

// `mps-with-shm FOLDER PROGRAM …`: becomes the program in a new mount namespace with the folder as
// its /dev/shm.
int become_with_shared_memory(const std::vector<std::string>& words);

// The exit code if the program was started for one of MPS's roles (these two, and the canary).
// `words` includes the program's name.
std::optional<int> play_mps_role(const std::vector<std::string>& words);

}  // namespace tranche::node
