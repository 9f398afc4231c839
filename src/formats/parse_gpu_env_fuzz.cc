// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "formats/parse_gpu_env.h"

// The result has no empty or repeated name, and only printable text.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto env =
      tranche::formats::parse_gpu_env(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!env) return 0;
  for (std::size_t i = 0; i < env->names.size(); ++i) {
    const std::string& name = env->names[i];
    if (name.find_first_of(", \t\r\n") != std::string::npos) std::abort();
    if (i > 0 && name == env->names[i - 1]) std::abort();
  }
  return 0;
}
