// SPDX-License-Identifier: Apache-2.0
//
// The hooks of NVIDIA's container toolkit that a specification asks the runtime to run:
// links, the loader's cache, forward compatibility. The program is on the host. Only hooks
// of its version are written, because an older program fails the container for a hook that
// it does not know. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/cdi/cdi_spec.h"
#include "core/cdi/driver_files.h"
#include "core/settings/cdi_options.h"

namespace tranche::core {

// The hook with these arguments; empty when it is disabled or has no program.
std::optional<CdiHook> cdi_hook(const CdiOptions& options, std::string_view name,
                                const std::vector<std::string>& arguments);

// Hooks for every container with a GPU. None without driver libraries, because the hooks
// prepare their use.
std::vector<CdiHook> common_hooks(const DriverFiles& files, const CdiOptions& options);

// Makes links in the container; each is "what it points to::its path".
std::optional<CdiHook> symlinks_hook(const CdiOptions& options,
                                     const std::vector<std::string>& links);

// Limits a container to the GPU memory in its environment (NVIDIA_GPU_MEMORY_LIMIT); does
// nothing for a container without that variable. Empty where no resource has the
// enforcement level `driver`.
std::optional<CdiHook> memory_limit_hook(const CdiOptions& options, const std::string& gpu_uuid);

// Why that hook is in no specification although it is needed; empty: it is in them.
std::string no_limit_hook(const CdiOptions& options, const Toolkit& toolkit);

bool has_feature(const CdiOptions& options, std::string_view flag);

}  // namespace tranche::core
