// SPDX-License-Identifier: Apache-2.0
#include "node/features/features_file.h"

#include <fmt/core.h>
#include <unistd.h>

#include "base/path.h"
#include "os/errno_error.h"
#include "os/files.h"
#include "os/trusted_folder.h"

namespace tranche::node {
namespace {

// A link does not count, because others may change its target.
bool holds(const std::string& path, const std::string& text) {
  const Result<std::string> content = read_plain_file(path, text.size());
  return content && *content == text;
}

// The file by its open folder, which nobody can replace meanwhile.
std::string in_folder(const TrustedFolder& folder, const std::string& path) {
  return fmt::format("/proc/self/fd/{}/{}", folder.fd.get(), path.substr(path.rfind('/') + 1));
}

}  // namespace

std::string features_text(const NodeLabels& labels) {
  std::string text;
  for (const auto& [key, value] : labels) text += fmt::format("{}={}\n", key, value);
  return text;
}

void FeaturesFile::apply(const FeatureOptions& options, const std::optional<NodeLabels>& labels) {
  const bool is_wanted = options.labels == LabelOutput::kFile;
  if (!path_.empty() && (!is_wanted || path_ != options.output_file)) remove();
  if (!is_wanted || !labels) return;
  const Status written = write(options.output_file, features_text(*labels));
  const std::string problem = written ? "" : written.error().message;
  if (!logged_.changed("write", problem) || written) return;
  log_.warning(
      "cannot write the features file, so the node keeps the labels that it has. Is the folder "
      "mounted, and does it belong to root?",
      {{"file", options.output_file}, {"reason", problem}});
}

Status FeaturesFile::write(const std::string& path, const std::string& text) {
  // Not made: in a container without the host's folder nobody would read it.
  const Result<TrustedFolder> folder = open_trusted_folder(parent_of(path));
  if (!folder) return folder.error();
  const std::string file = in_folder(*folder, path);
  if (!holds(file, text)) {
    if (Status written = write_atomically(file, text); !written) return written;
    log_.info("features file written", {{"file", path}});
  }
  path_ = path;
  text_ = text;
  return Done{};
}

void FeaturesFile::remove() {
  if (path_.empty()) return;
  const Result<TrustedFolder> folder = open_trusted_folder(parent_of(path_));
  const std::string file = folder ? in_folder(*folder, path_) : std::string();
  if (folder && holds(file, text_)) {
    if (::unlink(file.c_str()) == 0) {
      log_.info("features file removed", {{"file", path_}});
    } else {
      log_.warning("cannot remove the features file",
                   {{"reason", errno_error("removing " + path_).message}});
    }
  }
  path_.clear();
}

}  // namespace tranche::node
