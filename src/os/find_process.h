// SPDX-License-Identifier: Apache-2.0
//
// Finds a process by the name it was started with.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

namespace tranche::os {

// The process with this argv[0], the lowest number first; else one whose argv[0] has the same last
// part: "/usr/bin/daemon" also finds "daemon". Not ourselves. A process that ends meanwhile is
// none. `proc` is /proc.
std::optional<pid_t> find_process(const std::string& name, const std::string& proc = "/proc");

}  // namespace tranche::os
