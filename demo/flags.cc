// SPDX-License-Identifier: Apache-2.0
#include "demo/flags.h"

#include "os/settings/option_help.h"
#include "os/settings/read_options.h"

namespace tranche::demo {
namespace {

constexpr auto kOptions = flags_only(
    "Options",
    {
        {.name = "once", .to = {field<&Flags::once>}, .help = "End after the story."},
        {.name = "fast", .to = {field<&Flags::fast>}, .help = "No pauses for reading."},
        {.name = "agent",
         .to = {field<&Flags::agent>},
         .placeholder = "FILE",
         .help = "The agent to run, in place of the one that was built with this program."},
    });

}  // namespace

Result<Flags> parse_flags(const std::vector<std::string>& words) {
  return read_flags<Flags>(kOptions, words);
}

std::string usage() {
  return R"(tranche-demo: the agent at work on a simulated node with eight GPUs

It needs no GPU, no kubelet and no root. All it makes lies in one temporary folder, which it
removes at its end.
)" + options_help(kOptions) +
         R"(
On a terminal it stays after the story and shows what happens, until Ctrl-C. Where the output is
no terminal it has no pauses and ends after the story. Colour: only on a terminal, and not where
NO_COLOR is set.

Exit code: 0 all went well, or you ended it (Ctrl-C, SIGTERM, SIGHUP); 1 a step failed, or the
agent died; 2 wrong flags. All that was started is stopped and removed in each case.
)";
}

}  // namespace tranche::demo
