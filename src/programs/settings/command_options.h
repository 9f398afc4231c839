// SPDX-License-Identifier: Apache-2.0
//
// Options of single commands. They are no settings: neither the environment nor the file has
// them. Constant data and pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "os/settings/option.h"
#include "programs/settings/load.h"

namespace tranche::programs {

enum class OutputFormat { kTable, kJson, kPods };

struct CommandOptions {
  OutputFormat format = OutputFormat::kTable;
  std::optional<std::string> gpu;
  bool anonymous = false;
  std::string root;  // of mps-control-daemon: where its folders are
};

// For Sources::command_options. Empty: the agent itself. A row without help is accepted, but
// no usage names it.
OptionTable options_of_command(std::string_view command);

// Options of the command that the sources have. The rest of their arguments is not checked.
Result<CommandOptions> read_command_options(const Sources& sources);

}  // namespace tranche::programs
