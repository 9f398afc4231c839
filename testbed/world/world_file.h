// SPDX-License-Identifier: Apache-2.0
//
// The file that a live world is kept in. It is only ever replaced as a whole,
// and who changes it holds a lock, so changes of several programs (the tool,
// the driver library's setters, a test) follow each other.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "testbed/world/changes.h"

namespace tranche::testbed::sim {

// Puts the world in place of what the file says.
Status write_world_file(const std::string& path, const World& world);

struct WorldEdit {
  World before;
  World after;
};

// Reads the world, changes it and writes it back. `while_locked` runs before
// the lock is given up; its error is the edit's.
Result<WorldEdit> edit_world_file(
    const std::string& path, const Change& change,
    const std::function<Status(const WorldEdit&)>& while_locked = nullptr);

}  // namespace tranche::testbed::sim
