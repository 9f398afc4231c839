// SPDX-License-Identifier: Apache-2.0
#include "node/features/machine_reader.h"

#include "base/path.h"
#include "base/text.h"
#include "os/files.h"

namespace tranche::node {
namespace {

constexpr std::size_t kLongestType = 4096;

}  // namespace

MachineFacts MachineReader::look(const FeatureOptions& options, const std::string& host_root) {
  if (options.labels == LabelOutput::kNone) return {};
  const std::string path = below(host_root, options.machine_type_file);
  if (path != path_ || type_.empty()) {
    const Result<std::string> text = read_file(path, kLongestType);
    path_ = path;
    type_ = text ? std::string(trim(*text)) : std::string();
  }
  return {.type = type_, .timestamp = options.no_timestamp ? 0 : started_};
}

}  // namespace tranche::node
