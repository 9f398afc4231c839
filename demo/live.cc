// SPDX-License-Identifier: Apache-2.0
#include "demo/live.h"

#include <utility>

#include "demo/show.h"

namespace tranche::demo {

void show_what_to_type(const Stage& stage, const std::string& simulator, Screen& screen) {
  screen.say("Break something yourself: type one of these in a second terminal.");
  const std::string fault = simulator + " fault --root " + stage.node().root();
  screen.block(fault + " fall-off --gpu 3", Tone::kQuiet);
  screen.block(fault + " come-back --gpu 3", Tone::kQuiet);
  screen.block(fault + " xid --gpu 5 --xid 94", Tone::kQuiet);
  screen.block(stage.typed_command("devices"), Tone::kQuiet);
  screen.say("'" + simulator +
             " --help' has all faults. The configuration, to be edited while it "
             "runs, is " +
             stage.config_file() + ".");
}

Status watch_node(Stage& stage, Interrupt& interrupt, Screen& screen) {
  standin::NodeView shown = stage.kubelet().node();
  stage.take_log();
  while (!interrupt.asked() && screen.is_open()) {
    const bool changed = stage.node_becomes(
        [&](const standin::NodeView& now) { return !changed_counts(shown, now).empty(); });
    for (const std::string& line : stage.take_log()) screen.log(line);
    if (changed) {
      standin::NodeView now = stage.kubelet().node();
      for (const std::string& line : changed_counts(shown, now)) screen.line("kubelet", line);
      shown = std::move(now);
    }
    if (Status alive = stage.check_agent(); !alive) return alive;
  }
  return Done{};
}

}  // namespace tranche::demo
