// SPDX-License-Identifier: Apache-2.0
#include "bench/options.h"

namespace tranche::bench {

namespace {

Error mistake(const std::string& what) { return {ErrorCode::kInvalidArgument, what}; }

}  // namespace

Result<Options> parse_options(const std::vector<std::string>& words) {
  Options options;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--quick") {
      options.quick = true;
      continue;
    }
    if (words[i] == "--help" || words[i] == "-h") {
      options.help = true;
      continue;
    }
    if (words[i] != "-o") return mistake("unknown flag \"" + words[i] + "\"; see --help");
    if (++i == words.size()) return mistake("-o needs a value");
    options.json = words[i] == "json";
    if (!options.json && words[i] != "table") {
      return mistake("-o: give json or table, not \"" + words[i] + "\"");
    }
  }
  return options;
}

std::string help_text() {
  return "tranche-bench: the agent beside the smallest server that answers the same calls\n"
         "\n"
         "  --quick    few repetitions on small nodes, to see that it works\n"
         "  -o FORMAT  table (the default) or json\n"
         "  --help     this\n";
}

}  // namespace tranche::bench
