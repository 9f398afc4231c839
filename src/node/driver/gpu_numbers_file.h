// SPDX-License-Identifier: Apache-2.0
//
// The file in the state folder that keeps GPU numbers over a restart. One
// thread uses a GpuNumbersFile.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "base/result.h"
#include "core/gpu/gpu_numbers.h"
#include "os/log.h"

namespace tranche::node {

std::string gpu_numbers_path(const std::string& state_dir);

// kNotFound: there is no file yet.
Result<GpuNumbers> read_gpu_numbers(const std::string& path);
Status write_gpu_numbers(const std::string& path, const GpuNumbers& numbers);

class GpuNumbersFile {
 public:
  GpuNumbersFile(std::string path, const Log& log) : path_(std::move(path)), log_(log) {}

  // Empty if there is no file. A file that cannot be parsed is renamed, so that a person can repair
  // it, and logged.
  std::optional<GpuNumbers> recall();

  // Writes the file if the numbers changed.
  void remember(const GpuNumbers& numbers);

 private:
  void set_aside(const Error& why);

  const std::string path_;
  const Log& log_;
  OnChange logged_;
  GpuNumbers remembered_;
  bool may_write_ = true;
};

}  // namespace tranche::node
