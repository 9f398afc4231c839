// SPDX-License-Identifier: Apache-2.0
//
// kubelet-recorder: see usage() in flags.cc.
#include <sys/signalfd.h>

#include <csignal>
#include <iostream>
#include <string>
#include <vector>

#include "base/errno_error.h"
#include "base/unique_fd.h"
#include "recorder/flags.h"
#include "recorder/recorder.h"

namespace {

using namespace tranche;
using namespace tranche::recorder;

// Readable when we are told to end. Before the first thread, which inherits
// what is blocked.
Result<UniqueFd> termination() {
  sigset_t signals;
  ::sigemptyset(&signals);
  ::sigaddset(&signals, SIGTERM);
  ::sigaddset(&signals, SIGINT);
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  // A transcript may be a pipe; its end is an error like others.
  ::signal(SIGPIPE, SIG_IGN);
  UniqueFd fd(::signalfd(-1, &signals, SFD_CLOEXEC));
  if (!fd) return errno_error("signalfd");
  return fd;
}

Status record(const Flags& flags) {
  const Result<UniqueFd> told_to_end = termination();
  if (!told_to_end) return told_to_end.error();
  const auto recording = Recording::open(flags.transcript);
  if (!recording) return recording.error().in("--transcript");
  const auto recorder = Recorder::open(flags.recorder, **recording);
  if (!recorder) return recorder.error();
  if (Status ran = (*recorder)->run(told_to_end->get()); !ran) return ran;
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
