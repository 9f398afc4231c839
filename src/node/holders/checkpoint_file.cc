// SPDX-License-Identifier: Apache-2.0
#include "node/holders/checkpoint_file.h"

#include "os/files.h"

namespace tranche::node {
namespace {

// Room for 65,536 ids, each free and held, with their Allocate responses.
constexpr std::size_t kLargestFile = 64U << 20U;

}  // namespace

Result<std::set<std::string>> read_checkpoint_mounts(const std::string& path,
                                                     const std::string& folder) {
  const Result<std::string> text = read_file(path, kLargestFile);
  if (!text) return text.error();
  Result<std::set<std::string>> mounts = parse_checkpoint_mounts(*text, folder);
  if (!mounts) return mounts.error().in("reading " + path);
  return mounts;
}

Result<std::vector<Holding>> read_checkpoint(const std::string& path,
                                             const std::set<std::string>& resources) {
  const Result<std::string> text = read_file(path, kLargestFile);
  if (!text) return text.error();
  Result<std::vector<Holding>> holdings = parse_checkpoint(*text, resources);
  if (!holdings) return holdings.error().in("reading " + path);
  return holdings;
}

}  // namespace tranche::node
