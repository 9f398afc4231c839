// SPDX-License-Identifier: Apache-2.0
#include "programs/settings/command_options.h"

#include "base/text.h"
#include "os/settings/resolve.h"
#include "programs/settings/flag_table.h"

namespace tranche::programs {
namespace {

constexpr std::string_view kGroup = "Options";
constexpr Word<OutputFormat> kFormats[] = {{"table", OutputFormat::kTable},
                                           {"json", OutputFormat::kJson}};
constexpr Word<OutputFormat> kDeviceFormats[] = {
    {"table", OutputFormat::kTable}, {"json", OutputFormat::kJson}, {"pods", OutputFormat::kPods}};

template <const auto& kWords>
constexpr Option output_option(std::string_view help) {
  return {.name = "output",
          .aliases = {"o"},
          .to = {word_field<kWords, &CommandOptions::format>},
          .fallback = "table",
          .complaint = "unknown format ",
          .help = help};
}

Result<std::string> parse_gpu(const std::string& text) {
  if (!text.empty()) return text;
  return Error{ErrorCode::kInvalidArgument, "takes an index, a uuid or a PCI address"};
}

constexpr Option gpu_option(std::string_view help) {
  return {.name = "gpu",
          .to = {parsed_field<parse_gpu, &CommandOptions::gpu>},
          .placeholder = "GPU",
          .help = help};
}

constexpr std::string_view kFormHelp = "The form of the answer.";
constexpr auto kOfDevices = flags_only(
    kGroup, {gpu_option("Show this GPU alone."), output_option<kDeviceFormats>(kFormHelp)});
constexpr auto kOfCapture = flags_only(kGroup, {{.name = "anonymous",
                                                 .to = {field<&CommandOptions::anonymous>},
                                                 .help = "Without serial numbers and the like."},
                                                output_option<kFormats>("")});
// Its --gpu is understood to say how it is written.
constexpr auto kOfRelease = flags_only(kGroup, {gpu_option(""), output_option<kFormats>("")});
constexpr auto kOfTables = flags_only(kGroup, {output_option<kFormats>(kFormHelp)});
constexpr auto kOfOthers = flags_only(kGroup, {output_option<kFormats>("")});
constexpr auto kOfMpsDaemon = flags_only(kGroup, {{.name = "root",
                                                   .to = {field<&CommandOptions::root>},
                                                   .fallback = "/mps",
                                                   .help = "Where the chart mounts the host's "
                                                           "mps.root."}});

}  // namespace

OptionTable options_of_command(std::string_view command) {
  if (command.empty()) return {};
  if (command == "devices") return kOfDevices;
  if (command == "capture") return kOfCapture;
  if (command == "release") return kOfRelease;
  if (command == "mps-control-daemon") return kOfMpsDaemon;
  return command == "check-config" || command == "numbers" ? OptionTable(kOfTables)
                                                           : OptionTable(kOfOthers);
}

Result<CommandOptions> read_command_options(const Sources& sources) {
  const OptionTable table = sources.command_options;
  const CommandLine line = parse_command_line(table, sources.arguments, {.options = flag_table()});
  const Resolution own = resolve(table, line, {}, {});
  if (!own.problems.empty()) {
    return Error{ErrorCode::kInvalidArgument, join(own.problems, "\n")};
  }
  CommandOptions options;
  own.settings.fill(options);
  return options;
}

}  // namespace tranche::programs
