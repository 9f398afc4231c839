// SPDX-License-Identifier: Apache-2.0
//
// Reads GPU errors from the kernel's log. The driver does not reliably deliver some of them as
// events (79, 119, 120), and a card may fall off the bus with a line that has no XID.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "formats/kernel_record.h"
#include "os/unique_fd.h"

namespace tranche::node {

// Follows the log from the moment it is opened. Older errors may have been fixed since. Not
// thread-safe.
class KernelLog {
 public:
  static Result<KernelLog> open(const std::string& path);

  // Errors since the last call. Never blocks.
  std::vector<KernelXid> drain();

 private:
  explicit KernelLog(UniqueFd fd) : fd_(std::move(fd)) {}

  UniqueFd fd_;
  std::string unfinished_;                   // an incomplete record
  std::map<PciAddress, std::string> uuids_;  // of GPUs that the log has named
};

}  // namespace tranche::node
