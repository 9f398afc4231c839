// SPDX-License-Identifier: Apache-2.0
//
// The sub-commands beside running the agent. Each gives its exit code; what
// programs may want goes to standard output, complaints to standard error.
#pragma once

#include <optional>
#include <string>

#include "programs/settings/command_options.h"
#include "programs/settings/load.h"

namespace tranche::programs {

// GPUs, health, resources and the pods that hold them, from the running agent or from a look
// of our own; of one GPU where one is named.
int run_devices(const Loaded& loaded, OutputFormat format, const std::optional<std::string>& gpu);
// The effective configuration and where each value came from.
int run_check_config(const Loaded& loaded, OutputFormat format);
// The node's GPUs as a world file of the simulated driver.
int run_capture(const Loaded& loaded, bool without_identity);
int run_release(const Loaded& loaded);
int run_resume(const Loaded& loaded);
// GPU numbers and their PCI addresses; with "forget" and numbers, unbinds these.
int run_numbers(const Loaded& loaded, OutputFormat format);

}  // namespace tranche::programs
