// SPDX-License-Identifier: Apache-2.0
#include "demo/parts.h"

#include <filesystem>
#include <system_error>

namespace tranche::demo {

Parts parts_of(const std::string& program) {
  const std::filesystem::path folder = std::filesystem::path(program).parent_path();
  const auto beside = [&](const char* relative) {
    return (folder / relative).lexically_normal().string();
  };
  return {.agent = beside(TRANCHE_AGENT),
          .simulator = beside(TRANCHE_SIM),
          .driver_library = beside(TRANCHE_SIM_LIBRARY)};
}

Parts parts_of_this_program() {
  std::error_code error;  // without /proc the parts are missing, and the demo says which
  return parts_of(std::filesystem::read_symlink("/proc/self/exe", error));
}

}  // namespace tranche::demo
