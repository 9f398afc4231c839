// SPDX-License-Identifier: Apache-2.0
#include "programs/settings/file_reader.h"

#include <fmt/core.h>

#include "os/settings/file_problems.h"
#include "os/settings/shape.h"
#include "programs/settings/file_schema.h"
#include "programs/settings/flag_table.h"
#include "programs/settings/foreign_document.h"

namespace tranche::programs {
namespace {

void check_version(const ConfigNode& root, FileProblems& problems) {
  const FoundNode version = find_path(root, "version");
  if (version.value == nullptr || !is_text(*version.value)) return;
  const std::string& text = version.value->text;
  if (!text.empty() && text != "v1") {
    problems.add(version.line, "version",
                 fmt::format("unknown version: {} (allowed: v1)", brief(text)));
  }
}

}  // namespace

FileContent read_config(const ConfigText& file) {
  FileContent content;
  FileProblems problems(file.path);
  const Result<ConfigNode> root = parse_document(file, foreign_document);
  if (!root) {
    content.problems.push_back(root.error().message);
    return content;
  }
  check_shape(file_schema(), *root, problems);
  check_version(*root, problems);
  content.values = read_file_values(flag_table(), *root, problems);
  content.sharing = read_sharing(*root, problems);
  content.problems = problems.sorted();
  content.notices = problems.remarks();
  content.warnings = problems.warnings();
  return content;
}

}  // namespace tranche::programs
