// SPDX-License-Identifier: Apache-2.0
#include "demo/flags.h"

#include <cstddef>
#include <string_view>

#include "base/text.h"

namespace tranche::demo {
namespace {

constexpr std::string_view kAgent = "--agent";

Error wrong(const std::string& message) { return {ErrorCode::kInvalidArgument, message}; }

}  // namespace

Result<Flags> parse_flags(const std::vector<std::string>& words) {
  Flags flags;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "--once") {
      flags.once = true;
    } else if (word == "--fast") {
      flags.fast = true;
    } else if (word == "--help" || word == "-h") {
      flags.help = true;
    } else if (word == kAgent && i + 1 < words.size()) {
      flags.agent = words[++i];
    } else if (word.starts_with("--agent=")) {
      flags.agent = word.substr(kAgent.size() + 1);
    } else if (word == kAgent) {
      return wrong("--agent needs a value: the binary to run");
    } else {
      const auto meant = nearest(word, {"--once", "--fast", "--agent", "--help"});
      return wrong("there is no flag '" + word + "'" +
                   (meant ? "; did you mean '" + *meant + "'?" : ""));
    }
  }
  return flags;
}

std::string usage() {
  return R"(tranche-demo: the agent at work on a simulated node with eight GPUs

It needs no GPU, no kubelet and no root. All it makes lies in one temporary folder, which it
removes at its end.

  --once        end after the story
  --fast        no pauses for reading
  --agent FILE  the agent to run, in place of the one that was built with this program
  --help        this

On a terminal it stays after the story and shows what happens, until Ctrl-C. Where the output is
no terminal it has no pauses and ends after the story. Colour: only on a terminal, and not where
NO_COLOR is set.

Exit code: 0 all went well, or you ended it (Ctrl-C, SIGTERM, SIGHUP); 1 a step failed, or the
agent died; 2 wrong flags. All that was started is stopped and removed in each case.
)";
}

}  // namespace tranche::demo
