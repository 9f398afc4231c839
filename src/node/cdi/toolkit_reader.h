// SPDX-License-Identifier: Apache-2.0
//
// Reads which toolkit the host has.
#pragma once

#include <optional>
#include <string>

#include "core/cdi/toolkit.h"
#include "core/settings/cdi_options.h"
#include "os/file_identity.h"

namespace tranche::node {

// Reads the program of the options' hook path, where we see it: below the driver root
// that is mounted for us, or below `host_root`. Remembers what it read as long as
// the file is the same. Not thread-safe.
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
