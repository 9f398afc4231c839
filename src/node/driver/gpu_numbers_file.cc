// SPDX-License-Identifier: Apache-2.0
#include "node/driver/gpu_numbers_file.h"

#include <utility>

#include "base/path.h"
#include "formats/gpu_numbers_json.h"
#include "os/files.h"
#include "os/put_aside.h"

namespace tranche::node {

std::string gpu_numbers_path(const std::string& state_dir) {
  return below(state_dir, "gpu-numbers.json");
}

Result<GpuNumbers> read_gpu_numbers(const std::string& path) {
  const Result<std::string> text = read_file(path);
  if (!text) return text.error();
  Result<GpuNumbers> numbers = parse_gpu_numbers(*text);
  if (!numbers) return numbers.error().in(path);
  return numbers;
}

Status write_gpu_numbers(const std::string& path, const GpuNumbers& numbers) {
  return write_atomically(path, to_json(numbers), 0600);
}

std::optional<GpuNumbers> GpuNumbersFile::recall() {
  Result<GpuNumbers> numbers = read_gpu_numbers(path_);
  if (numbers) {
    remembered_ = *numbers;
    return *std::move(numbers);
  }
  if (numbers.error().code != ErrorCode::kNotFound) set_aside(numbers.error());
  return std::nullopt;
}

void GpuNumbersFile::set_aside(const Error& why) {
  const Result<std::string> aside = put_aside(path_);
  may_write_ = static_cast<bool>(aside);
  log_.error(
      "cannot read the gpu numbers of earlier runs; gpus get the driver's indexes, so an index in "
      "the configuration may mean another gpu than before. Check the configuration, or repair the "
      "file, rename it to gpu-numbers.json and restart",
      {{"file", aside ? *aside : path_}, {"reason", why.message}});
  if (aside) return;
  log_.error("gpu numbers are not kept over a restart, because the file cannot be renamed",
             {{"reason", aside.error().message}});
}

void GpuNumbersFile::remember(const GpuNumbers& numbers) {
  if (!may_write_ || numbers == remembered_) return;
  if (Status written = write_gpu_numbers(path_, numbers); !written) {
    if (logged_.changed("numbers", written.error().message)) {
      log_.error("cannot write the gpu numbers; an index may mean another gpu after a restart",
                 {{"reason", written.error().message}});
    }
    return;
  }
  logged_.forget("numbers");
  remembered_ = numbers;
}

}  // namespace tranche::node
