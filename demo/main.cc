// SPDX-License-Identifier: Apache-2.0
//
// tranche-demo: the agent at work on a simulated node, in the terminal.
#include <unistd.h>

#include <chrono>
#include <iostream>
#include <string>
#include <utility>

#include "demo/flags.h"
#include "demo/interrupt.h"
#include "demo/lines.h"
#include "demo/parts.h"
#include "demo/real_node.h"
#include "demo/screen.h"
#include "demo/stage.h"
#include "demo/story.h"
#include "os/files.h"

namespace tranche::demo {
namespace {

// Time to read a step; the whole story takes half a minute.
constexpr std::chrono::milliseconds kPause{5000};

int complain(const std::string& message) {
  std::cerr << "tranche-demo: " << message << "\n";
  return 1;
}

int fail(const Stage& stage, const std::string& what, const Error& error) {
  std::cerr << "\ntranche-demo: " << what << ": " << error.message << "\n";
  const std::string log = stage.log_tail();
  std::cerr << (log.empty() ? "The agent has logged nothing.\n"
                            : "The end of the agent's log:\n" + log);
  return 1;
}

void introduce(const Stage& stage, Screen& screen) {
  screen.heading("Tranche: a simulated node, a stand-in for the kubelet, and the real agent");
  screen.say("All of it lies in " + stage.folder() +
             " and goes when this ends. No GPU, driver or kubelet of this machine is touched. "
             "Ctrl-C ends it.");
  if (!stage.has_device_nodes()) {
    screen.say(
        "You may not make device nodes here (root may): those of the simulated node are plain "
        "files, and containers get no CDI names.");
  }
  if (screen.cuts_uuids()) screen.say("Uuids are cut short to fit this terminal.");
}

bool is_wanted(Interrupt& interrupt, const Screen& screen) {
  return !interrupt.asked() && screen.is_open();
}

// Fails when a step does; an end that was asked for is no failure.
int play(Stage& stage, bool pauses, Interrupt& interrupt, Screen& screen) {
  std::size_t number = 0;
  for (const Step& step : story()) {
    if (number > 0 && pauses) interrupt.wait(kPause);
    if (!is_wanted(interrupt, screen)) return 0;
    const std::string title = std::to_string(++number) + ". " + step.title;
    screen.heading(title);
    stage.take_log();
    const Status alive = stage.check_agent();
    const Status played = alive ? step.play(stage, screen) : alive;
    if (!played && is_wanted(interrupt, screen)) {
      return fail(stage, "step " + title + ", failed", played.error());
    }
  }
  return 0;
}

void tell_of_real_gpus(const std::string& agent, Screen& screen) {
  screen.heading("Real GPUs");
  for (const Advice& advice : how_to_serve(look_for_real_node(), agent)) {
    screen.say(advice.text);
    screen.block(advice.command, Tone::kQuiet);
  }
}

void show_what_to_type(const Stage& stage, const std::string& simulator, Screen& screen) {
  screen.heading("Still running: break something yourself");
  screen.say("Type these in a second terminal, and see here what happens.");
  const std::string fault = simulator + " fault --root " + stage.node().root();
  for (const char* what : {" fall-off --gpu 2", " come-back --gpu 2", " driver unload",
                           " driver load", " mig --gpu 7 --layout 1g.12gb,2g.24gb"}) {
    screen.block(fault + what, Tone::kQuiet);
  }
  screen.block(stage.typed_command("devices"), Tone::kQuiet);
  screen.block(simulator + " --help", Tone::kQuiet);
  screen.say("Or edit the configuration: " + stage.config_file() + ". Ctrl-C ends it.");
  screen.gap();
}

// Shows what becomes different from `shown`, until the person ends it; the
// agent's end is an error.
Status watch_node(Stage& stage, standin::NodeView shown, Interrupt& interrupt, Screen& screen) {
  while (is_wanted(interrupt, screen)) {
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

int show(Stage& stage, const Flags& flags, const Parts& parts, Interrupt& interrupt,
         Screen& screen) {
  introduce(stage, screen);
  const bool pauses = !flags.fast && screen.is_terminal();
  if (const int code = play(stage, pauses, interrupt, screen); code != 0) return code;
  if (!is_wanted(interrupt, screen)) return 0;
  tell_of_real_gpus(parts.agent, screen);
  if (flags.once || !screen.is_terminal()) return 0;
  stage.take_log();
  standin::NodeView before = stage.kubelet().node();
  show_what_to_type(stage, parts.simulator, screen);
  const Status watched = watch_node(stage, std::move(before), interrupt, screen);
  return watched ? 0 : fail(stage, "nothing more will happen", watched.error());
}

int run(const Flags& flags) {
  Parts parts = parts_of_this_program();
  if (!flags.agent.empty()) parts.agent = flags.agent;
  if (!path_exists(parts.agent)) {
    return complain("there is no agent at " + parts.agent + "; build it, or name one with --agent");
  }
  Interrupt interrupt;
  Screen screen(STDOUT_FILENO);
  std::string folder;
  int code = 0;
  {
    const auto stage = Stage::set_up(parts, interrupt);
    if (!stage) return complain(stage.error().message);
    folder = (*stage)->folder();
    code = show(**stage, flags, parts, interrupt, screen);
  }
  if (path_exists(folder)) return complain(folder + " could not be removed");
  screen.gap();
  screen.say("Ended; " + folder + " is removed.");
  return code;
}

}  // namespace
}  // namespace tranche::demo

int main(int argc, char** argv) {
  const auto flags = tranche::demo::parse_flags({argv + 1, argv + argc});
  if (!flags) {
    std::cerr << "tranche-demo: " << flags.error().message << "\n"
              << "Run 'tranche-demo --help' for what there is.\n";
    return 2;
  }
  if (flags->help) {
    std::cout << tranche::demo::usage();
    return 0;
  }
  return tranche::demo::run(*flags);
}
