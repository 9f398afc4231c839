// SPDX-License-Identifier: Apache-2.0
#include "config/mps_settings.h"

#include <string_view>

#include "config/sharing_words.h"

namespace tranche {
namespace {

// Where CUDA looks for the pipes when it is not told, and so did the fork of
// GPUShare that --mps comes from.
constexpr std::string_view kUsualPipe = "/tmp/nvidia-mps";

bool is_given(const Setting& setting) { return setting.origin.kind != OriginKind::kDefault; }

// What was not said about the daemons, from what was.
void complete(Resolved& from) {
  if (is_given(from.at("mps-daemons"))) return;
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

}  // namespace

MpsSettings mps_settings(Resolved& resolved) {
  complete(resolved);
  MpsSettings made;
  MpsOptions& options = made.options;
  const std::string& daemons = resolved.text("mps-daemons");
  const std::string& pipe = resolved.text("mps-pipe");
  const std::string& root = resolved.text("mps-root");
  options.daemons = meaning_of(mps_daemons_words(), daemons).value_or(options.daemons);
  options.directory = resolved.text("mps-dir");
  options.shared_memory = resolved.truth("mps-shared-memory");
  const auto complain = [&](std::string_view title, const std::string& what) {
    made.problems.push_back(where(resolved.at(title)) + ": " + what);
  };
  if (options.daemons == MpsDaemons::kOutside) {
    options.pipe = pipe;
    if (pipe.empty()) complain("mps-daemons", "needs the daemon's pipe directory; give --mps-pipe");
  } else if (!pipe.empty()) {
    complain("mps-pipe",
             "names the pipe directory of somebody else's daemon, but the daemons are " + daemons +
                 " (" + where(resolved.at("mps-daemons")) + "); leave one of them out");
  }
  if (options.daemons == MpsDaemons::kNvidia) {
    options.nvidia_root = root;
    if (root.empty()) {
      complain("mps-daemons", "needs the folder of NVIDIA's mps-control-daemon; give --mps-root");
    }
  } else if (!root.empty()) {
    made.notices.push_back(where(resolved.at("mps-root")) +
                           ": without effect: the MPS daemons are " + daemons);
  }
  return made;
}

}  // namespace tranche
