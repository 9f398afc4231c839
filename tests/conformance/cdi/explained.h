// SPDX-License-Identifier: Apache-2.0
//
// Every way in which our CDI specifications differ from nvidia-ctk's on
// purpose. The same list, for people, is docs/cdi-differences.md; a test holds
// the two together.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "core/cdi/driver_files.h"
#include "core/gpu/inventory.h"
#include "tests/conformance/cdi/spec_entries.h"

namespace tranche::tests {

// Differences by the names of their rows in the document.
struct Explained {
  std::string name;
  // Patterns (`*` for any text) of entries that only one side has.
  std::vector<std::string> only_theirs;
  std::vector<std::string> only_ours;
};

// For a node in `root` with these GPUs and files.
std::vector<Explained> explained_differences(const std::string& root, const Inventory& inventory,
                                             const DriverFiles& files);

// Differences that whole tests are about and no pattern of entries shows.
std::vector<std::string> differences_with_tests_of_their_own();

struct Comparison {
  std::vector<std::string> unexplained;  // "only theirs: …"
  std::set<std::string> used;            // names of the explanations that were needed
};
Comparison compare(const SpecEntries& theirs, const SpecEntries& ours,
                   const std::vector<Explained>& explained);

}  // namespace tranche::tests
