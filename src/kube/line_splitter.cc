// SPDX-License-Identifier: Apache-2.0
#include "kube/line_splitter.h"

namespace tranche::kube {

Result<std::vector<std::string>> LineSplitter::take(std::string_view chunk) {
  std::vector<std::string> lines;
  while (!chunk.empty()) {
    const std::size_t end = chunk.find('\n');
    const std::string_view part = chunk.substr(0, end);
    if (rest_.size() + part.size() > longest_) {
      return Error{ErrorCode::kInvalidArgument,
                   "a line has more than " + std::to_string(longest_) + " bytes"};
    }
    rest_ += part;
    if (end == std::string_view::npos) break;
    if (!rest_.empty()) lines.push_back(std::move(rest_));
    rest_.clear();
    chunk.remove_prefix(end + 1);
  }
  return lines;
}

}  // namespace tranche::kube
