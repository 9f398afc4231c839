// SPDX-License-Identifier: Apache-2.0
//
// tranche-demo: the agent at work on a simulated node, in the terminal.
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <iostream>
#include <string>
#include <vector>

#include "base/files.h"
#include "demo/flags.h"
#include "demo/interrupt.h"
#include "demo/live.h"
#include "demo/real_node.h"
#include "demo/screen.h"
#include "demo/stage.h"
#include "demo/story.h"

namespace tranche::demo {
namespace {

// Time to read a step; the whole story takes less than a minute.
constexpr std::chrono::milliseconds kPause{4000};

// What shells say of a process that a signal ended.
int code_of(int signal) { return 128 + signal; }

int complain(const std::string& message) {
  std::cerr << "tranche-demo: " << message << "\n";
  return 1;
}

int fail(const Stage& stage, const std::string& what, const Error& error) {
  std::cerr << "\ntranche-demo: " << what << ": " << error.message << "\n";
  if (const Status alive = stage.check_agent(); !alive) std::cerr << alive.error().message << "\n";
  const std::string log = stage.whole_log();
  std::cerr << (log.empty() ? "the agent has logged nothing\n" : "the agent's log:\n" + log);
  return 1;
}

void introduce(const Stage& stage, Screen& screen) {
  screen.heading("Tranche: a simulated node, a stand-in for the kubelet, and the real agent");
  screen.say("All of it lies in " + stage.folder() +
             " and goes when this ends. No GPU, driver or kubelet of this machine is touched. "
             "Ctrl-C ends it.");
}

// 0 when all steps have been played.
int play(Stage& stage, const Flags& flags, Interrupt& interrupt, Screen& screen) {
  std::size_t number = 0;
  for (const Step& step : story()) {
    if (!screen.is_open()) interrupt.ask(SIGPIPE);
    if (number > 0 && !flags.fast) interrupt.wait(kPause);
    if (interrupt.asked()) return code_of(interrupt.signal());
    screen.heading(std::to_string(++number) + ". " + step.title);
    stage.take_log();
    const Status alive = stage.check_agent();
    if (const Status played = alive ? step.play(stage, screen) : alive; !played) {
      if (interrupt.asked()) return code_of(interrupt.signal());
      return fail(stage, "step " + std::to_string(number) + " (" + step.title + ") failed",
                  played.error());
    }
  }
  return 0;
}

void conclude(const std::string& agent, Screen& screen) {
  screen.heading("Real GPUs");
  for (const Advice& advice : how_to_serve(look_for_real_node(), agent)) {
    screen.say(advice.text);
    screen.block(advice.command, Tone::kQuiet);
  }
}

int show(Stage& stage, const Flags& flags, Interrupt& interrupt, Screen& screen) {
  introduce(stage, screen);
  if (const int code = play(stage, flags, interrupt, screen); code != 0) return code;
  conclude(flags.agent, screen);
  if (flags.once || !screen.is_terminal()) return 0;
  screen.heading("Still running");
  show_what_to_type(stage, TRANCHE_SIM, screen);
  screen.say("What happens is shown here. Ctrl-C ends it.");
  const Status watched = watch_node(stage, interrupt, screen);
  return watched ? 0 : fail(stage, "the agent is gone", watched.error());
}

int run(Flags flags) {
  if (flags.agent.empty()) flags.agent = TRANCHE_AGENT;
  if (!path_exists(flags.agent)) {
    return complain("there is no agent at " + flags.agent + "; build it, or name one with --agent");
  }
  Interrupt interrupt;
  Screen screen(STDOUT_FILENO);
  std::string folder;
  int code = 0;
  {
    const auto stage = Stage::set_up(flags.agent, interrupt);
    if (!stage) return complain(stage.error().message);
    folder = (*stage)->folder();
    code = show(**stage, flags, interrupt, screen);
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
    std::cerr << "tranche-demo: " << flags.error().message << "\n" << tranche::demo::usage();
    return 2;
  }
  if (flags->help) {
    std::cout << tranche::demo::usage();
    return 0;
  }
  return tranche::demo::run(*flags);
}
