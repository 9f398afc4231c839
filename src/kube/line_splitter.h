// SPDX-License-Identifier: Apache-2.0
//
// Lines out of chunks. A line of a watch is a whole object and may be megabytes; it comes in
// any number of pieces, and each byte is looked at once. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tranche::kube {

class LineSplitter {
 public:
  explicit LineSplitter(std::size_t longest) : longest_(longest) {}

  // The lines that this chunk completes, without their ends and without empty ones. An error:
  // a line is longer than is allowed, and nothing behind it can be read.
  Result<std::vector<std::string>> take(std::string_view chunk);

  // Whether part of a line is left over. What is cut off is not an object.
  bool has_rest() const { return !rest_.empty(); }

 private:
  std::size_t longest_;
  std::string rest_;
};

}  // namespace tranche::kube
