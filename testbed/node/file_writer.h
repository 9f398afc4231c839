// SPDX-License-Identifier: Apache-2.0
//
// Brings a folder from one set of host files to another, and appends to the
// kernel's log. Decides nothing.
#pragma once

#include <string>

#include "base/result.h"
#include "testbed/node/host_files.h"
#include "testbed/world/world.h"

namespace tranche::testbed::sim {

class FileWriter {
 public:
  struct Options {
    std::string library;  // copied where the world has its driver library
    bool plain_files = false;
  };

  FileWriter(std::string root, Options options)
      : root_(std::move(root)), options_(std::move(options)) {}

  // Writes what differs and removes what is no more.
  Status replace(const HostFiles& before, const HostFiles& after) const;

  // Leaves a mark where nodes are plain files, none where not.
  Status remember_plain_files(const std::string& mark) const;

  // The records that `after` has and `before` had not, as /dev/kmsg gives them.
  Status append_log(const World& before, const World& after) const;

 private:
  Status write(const std::string& path, const HostFile& file) const;
  Status write_device(const std::string& path, const CharDevice& device) const;
  Status copy_library(const std::string& path) const;

  const std::string root_;
  const Options options_;
};

}  // namespace tranche::testbed::sim
