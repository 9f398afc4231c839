// SPDX-License-Identifier: Apache-2.0
//
// The hooks of NVIDIA's container toolkit that a specification asks the
// runtime to run: links, the loader's cache, forward compatibility. The
// program is on the host; a hook it is too old to know it skips with a
// warning. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "handoff/cdi_options.h"
#include "handoff/cdi_spec.h"
#include "handoff/driver_files.h"

namespace tranche {

// The hook with these arguments; empty when it is disabled or has no program.
std::optional<CdiHook> cdi_hook(const CdiOptions& options, std::string_view name,
                                const std::vector<std::string>& arguments);

// Hooks for every container with a GPU. None without driver libraries, whose
// use they prepare.
std::vector<CdiHook> common_hooks(const DriverFiles& files, const CdiOptions& options);

// Makes links in the container; each is "what it points to::its path".
std::optional<CdiHook> symlinks_hook(const CdiOptions& options,
                                     const std::vector<std::string>& links);

// Holds a container to the GPU memory that its environment names
// (NVIDIA_GPU_MEMORY_LIMIT); does nothing for one without.
std::optional<CdiHook> memory_limit_hook(const CdiOptions& options, const std::string& gpu_uuid);

bool has_feature(const CdiOptions& options, std::string_view flag);

}  // namespace tranche
