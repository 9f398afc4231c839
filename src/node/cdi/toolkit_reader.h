// SPDX-License-Identifier: Apache-2.0
//
// Reads the version of the host's NVIDIA container toolkit.
#pragma once

#include <optional>
#include <string>

#include "core/cdi/toolkit.h"
#include "core/settings/cdi_options.h"
#include "os/file_identity.h"

namespace tranche::node {

// Reads the program at the options' hook path, below the mounted driver root or below `host_root`.
// Remembers the result while the file is unchanged. Not thread-safe.
class ToolkitReader {
 public:
  Toolkit look(const CdiOptions& options, const std::string& host_root);

 private:
  Toolkit read(const std::string& path);

  std::string path_;
  std::optional<FileIdentity> identity_;
  Toolkit known_;
};

}  // namespace tranche::node
