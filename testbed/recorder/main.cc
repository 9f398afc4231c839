// SPDX-License-Identifier: Apache-2.0
//
// kubelet-recorder: see usage() in flags.cc.

#include <csignal>
#include <iostream>
#include <string>
#include <vector>

#include "os/errno_error.h"
#include "os/signals.h"
#include "os/unique_fd.h"
#include "testbed/recorder/flags.h"
#include "testbed/recorder/recorder.h"

namespace {

using namespace tranche::testbed;
using namespace tranche::testbed::recorder;

Status record(const Flags& flags) {
  const Result<UniqueFd> end = take_signals({SIGTERM, SIGINT});
  if (!end) return end.error();
  const auto recording = Recording::open(flags.transcript);
  if (!recording) return recording.error().in("--transcript");
  const auto recorder = Recorder::open(flags.recorder, **recording);
  if (!recorder) return recorder.error();
  if (Status ran = (*recorder)->run(end->get()); !ran) return ran;
  if (Status written = (*recording)->written(); !written) return written.error().in("--transcript");
  return Done{};
}

}  // namespace

int main(int argc, char** argv) {
  const Result<Flags> flags = parse_flags(std::vector<std::string>(argv + 1, argv + argc));
  if (!flags) {
    std::cerr << "error: " << flags.error().message << "\n";
    return 2;
  }
  if (flags->help) {
    std::cout << usage();
    return 0;
  }
  if (const Status recorded = record(*flags); !recorded) {
    std::cerr << "error: " << recorded.error().message << "\n";
    return 1;
  }
  return 0;
}
