// SPDX-License-Identifier: Apache-2.0
#include "bench/options.h"

#include "os/settings/option_help.h"
#include "os/settings/read_options.h"

namespace tranche::bench {
namespace {

constexpr Word<bool> kFormats[] = {{"table", false}, {"json", true}};

constexpr auto kOptions =
    flags_only("Options", {
                              {.name = "quick",
                               .to = {field<&Options::quick>},
                               .help = "Few repetitions on small nodes, to see that it works."},
                              {.name = "output",
                               .aliases = {"o"},
                               .to = {word_field<kFormats, &Options::json>},
                               .fallback = "table",
                               .complaint = "unknown format ",
                               .help = "The form of the figures."},
                          });

}  // namespace

Result<Options> parse_options(const std::vector<std::string>& words) {
  return read_flags<Options>(kOptions, words);
}

std::string help_text() {
  return "tranche-bench: the agent beside the smallest server that answers the same calls\n" +
         options_help(kOptions);
}

}  // namespace tranche::bench
