// SPDX-License-Identifier: Apache-2.0
//
// GPU errors in the kernel's log. The driver does not reliably deliver some of
// them as events (79, 119, 120), and a card may fall off the bus with a line
// that carries no number at all.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "formats/kernel_record.h"
#include "os/unique_fd.h"

namespace tranche::node {

// Follows the log from the moment it is opened. What is older is left alone:
// it cannot be told from a fault that has been mended since.
// Not thread-safe: belongs to one thread.
class KernelLog {
 public:
  static Result<KernelLog> open(const std::string& path);

  // Errors since the last call. Never blocks.
  std::vector<KernelXid> drain();

 private:
  explicit KernelLog(UniqueFd fd) : fd_(std::move(fd)) {}

  UniqueFd fd_;
  std::string unfinished_;                   // a record that has not been written whole yet
  std::map<PciAddress, std::string> uuids_;  // of the GPUs that the log has named
};

}  // namespace tranche::node
