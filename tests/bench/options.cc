// SPDX-License-Identifier: Apache-2.0
#include "bench/options.h"

namespace tranche::bench {

Result<Options> parse_options(const std::vector<std::string>& words) {
  Options options;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "--quick") {
      options.quick = true;
    } else if (word == "--help" || word == "-h") {
      options.help = true;
    } else if (word == "-o") {
      if (i + 1 == words.size()) return Error{ErrorCode::kInvalidArgument, "-o needs a value"};
      const std::string& format = words[++i];
      if (format != "json" && format != "table") {
        return Error{ErrorCode::kInvalidArgument, "-o: give json or table, not \"" + format + "\""};
      }
      options.json = format == "json";
    } else {
      return Error{ErrorCode::kInvalidArgument, "unknown flag \"" + word + "\"; see --help"};
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
