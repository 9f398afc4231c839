// SPDX-License-Identifier: Apache-2.0
//
// GPU errors in the kernel's log. The driver does not reliably deliver some of
// them as events (79, 119, 120), and a card may fall off the bus with a line
// that carries no number at all.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "gpu/pci_address.h"

namespace tranche {

struct KernelXid {
  PciAddress pci;
  unsigned xid = 0;
  std::string text;  // what the driver says of it

  bool operator==(const KernelXid&) const = default;
};

// Reads one record of /dev/kmsg ("6,1234,5678,-;NVRM: Xid (PCI:0000:05:00): 79,
// …"). Empty when it tells of no GPU error, or was not written by the kernel:
// any program may write lines of its own.
std::optional<KernelXid> parse_kernel_record(std::string_view record);

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
  std::string unfinished_;  // a record that has not been written whole yet
};

}  // namespace tranche
