// SPDX-License-Identifier: Apache-2.0
#include "programs/settings/mps_settings.h"

#include <fmt/core.h>

#include <string_view>

#include "os/settings/memory_size.h"

namespace tranche::programs {
namespace {

// CUDA's default pipe directory, also used by the fork of GPUShare that --mps comes from.
constexpr std::string_view kUsualPipe = "/tmp/nvidia-mps";

}  // namespace

void complete_mps(Resolved& from) {
  if (from.at("mps-daemons").is_given()) return;
  const bool has_root = !from.text("mps-root").empty();
  if (from.text("profile") == "gpushare" && from.truth("mps") && from.text("mps-pipe").empty() &&
      !has_root) {
    from.replace("mps-pipe", std::string(kUsualPipe), "with --mps");
  }
  if (!from.text("mps-pipe").empty()) {
    from.replace("mps-daemons", std::string("outside"), "with --mps-pipe");
  } else if (has_root) {
    from.replace("mps-daemons", std::string("nvidia"), "with --mps-root");
  }
}

MpsFindings build_mps_options(const Resolved& resolved, MpsOptions& options) {
  MpsFindings made;
  const std::string& daemons = resolved.text("mps-daemons");
  const std::string& pipe = resolved.text("mps-pipe");
  const std::string& root = resolved.text("mps-root");
  const auto complain = [&](std::string_view title, const std::string& what) {
    made.problems.push_back(fmt::format("{}: {}", where(resolved.at(title)), what));
  };
  if (const auto size = parse_memory_size(resolved.text("mps-shared-memory-size"))) {
    options.shared_memory_bytes = *size;
  } else {
    complain("mps-shared-memory-size", size.error().message);
  }
  if (options.daemons == MpsDaemons::kOutside) {
    options.pipe = pipe;
    if (pipe.empty()) complain("mps-daemons", "needs the daemon's pipe directory; give --mps-pipe");
  } else if (!pipe.empty()) {
    complain("mps-pipe",
             fmt::format("names the pipe directory of an external daemon, but the daemons are {} "
                         "({}); leave one of them out",
                         daemons, where(resolved.at("mps-daemons"))));
  }
  if (options.daemons == MpsDaemons::kNvidia) {
    options.nvidia_root = root;
    if (root.empty()) {
      complain("mps-daemons", "needs the folder of NVIDIA's mps-control-daemon; give --mps-root");
    }
  } else if (!root.empty()) {
    made.notices.push_back(fmt::format("{}: without effect: the MPS daemons are {}",
                                       where(resolved.at("mps-root")), daemons));
  }
  return made;
}

}  // namespace tranche::programs
