// SPDX-License-Identifier: Apache-2.0
#include "core/cdi/cdi_hooks.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/path.h"
#include "base/text.h"

namespace tranche::core {
namespace {

using Names = std::vector<std::string>;

constexpr std::string_view kLimitHook = "apply-cuda-memory-limits";

bool is_disabled(const CdiOptions& options, std::string_view hook) {
  return std::ranges::any_of(options.disabled_hooks, [&](const std::string& disabled) {
    return disabled == hook || disabled == "all";
  });
}

bool contains(const Names& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

void add_once(Names& list, std::string item) {
  if (!contains(list, item)) list.push_back(std::move(item));
}

std::string link(const std::string& target, const std::string& folder, const std::string& name) {
  return fmt::format("{}::{}", target, below(folder, name));
}

// "libcuda.so.1" gives "libcuda.so"; empty for names other than *.so*.
std::string bare_so_name(std::string_view name) {
  const std::size_t so = name.rfind(".so");
  if (so == std::string_view::npos) return {};
  const std::string_view rest = name.substr(so + 3);
  return rest.empty() || rest.front() == '.' ? std::string(name.substr(0, so + 3)) : std::string();
}

// Links that programs expect and no installer creates.
void add_missing_links(const std::string& folder, const std::string& name, Names& links) {
  if (glob_match("libcuda.so.*.*", name)) {
    links.push_back(link("libcuda.so.1", folder, "libcuda.so"));
  }
  if (glob_match("libGLX_nvidia.so.*.*", name)) {
    links.push_back(link(name, folder, "libGLX_indirect.so.0"));
  }
  if (glob_match("libnvidia-opticalflow.so.*.*", name)) {
    links.push_back(link("libnvidia-opticalflow.so.1", folder, "libnvidia-opticalflow.so"));
  }
}

// The host's own links to the library: the loader's name and the linker's.
void add_host_links(const DriverLibrary& library, Names& links) {
  const std::string folder = parent_of(library.path);
  const std::string name = file_name_of(library.path);
  if (library.soname.empty() || !glob_match("*.*.*", name)) return;
  if (library.soname != name && contains(library.links, library.soname)) {
    add_once(links, link(name, folder, library.soname));
  }
  const std::string bare = bare_so_name(library.soname);
  if (bare != library.soname && contains(library.links, bare)) {
    add_once(links, link(library.soname, folder, bare));
  }
}

Names library_links(const std::vector<DriverLibrary>& libraries) {
  Names links;
  for (const DriverLibrary& library : libraries) {
    Names missing;
    add_missing_links(parent_of(library.path), file_name_of(library.path), missing);
    for (std::string& one : missing) add_once(links, std::move(one));
    add_host_links(library, links);
  }
  return links;
}

// Links for graphics programs.
Names graphics_links(const DriverFiles& files) {
  Names links;
  const auto is = [&](const std::string& path, const std::string& library) {
    return file_name_of(path) == library + "." + files.version;
  };
  const auto add_beside = [&](const std::string& path, const std::string& library) {
    if (is(path, library)) links.push_back(link(file_name_of(path), parent_of(path), library));
  };
  for (const DriverLibrary& library : files.libraries) {
    if (!is(library.path, "libnvidia-allocator.so")) continue;
    links.push_back(
        link("../libnvidia-allocator.so.1", parent_of(library.path), "gbm/nvidia-drm_gbm.so"));
  }
  for (const DriverLibrary& library : files.libraries) {
    add_beside(library.path, "libnvidia-vulkan-producer.so");
  }
  for (const DriverFile& file : files.graphics) {
    add_beside(file.container_path, "libglxserver_nvidia.so");
  }
  return links;
}

// Folders with libraries, for the loader's cache.
Names loader_folders(const std::vector<DriverLibrary>& libraries) {
  Names folders;
  for (const DriverLibrary& library : libraries) {
    if (!glob_match("lib*.so*", file_name_of(library.path))) continue;
    add_once(folders, parent_of(library.path));
  }
  return folders;
}

Names with_flag(const std::string& flag, const Names& values) {
  Names arguments;
  for (const std::string& value : values) {
    arguments.push_back(flag);
    arguments.push_back(value);
  }
  return arguments;
}

}  // namespace

bool has_feature(const CdiOptions& options, std::string_view flag) {
  return std::ranges::find(options.feature_flags, flag) != options.feature_flags.end();
}

std::optional<CdiHook> cdi_hook(const CdiOptions& options, std::string_view name,
                                const std::vector<std::string>& arguments) {
  if (options.hook_path.empty() || is_disabled(options, name)) return std::nullopt;
  CdiHook hook = {.stage = "createContainer",
                  .path = options.hook_path,
                  .args = {file_name_of(options.hook_path)},
                  .env = {"NVIDIA_CTK_DEBUG=false"}};
  // nvidia-ctk has the hooks below a subcommand; nvidia-cdi-hook has only hooks.
  if (hook.args.front() == "nvidia-ctk") hook.args.emplace_back("hook");
  hook.args.emplace_back(name);
  hook.args.insert(hook.args.end(), arguments.begin(), arguments.end());
  return hook;
}

std::optional<CdiHook> symlinks_hook(const CdiOptions& options, const Names& links) {
  if (links.empty()) return std::nullopt;
  return cdi_hook(options, "create-symlinks", with_flag("--link", links));
}

std::optional<CdiHook> memory_limit_hook(const CdiOptions& options, const std::string& gpu_uuid) {
  if (!options.limits_memory) return std::nullopt;
  auto hook =
      cdi_hook(options, kLimitHook, {"--driver-root", options.driver_root, "--gpu-id", gpu_uuid});
  // Runs in the host's namespaces, where the container's whole cgroup path is visible.
  if (hook) hook->stage = "createRuntime";
  return hook;
}

std::string no_limit_hook(const CdiOptions& options, const Toolkit& toolkit) {
  const std::string name(kLimitHook);
  if (options.hook_path.empty()) return "there is no program for hooks: --nvidia-cdi-hook-path";
  if (is_disabled(options, name)) {
    return fmt::format("--cdi-disable-hooks leaves out {}, which sets the limit", name);
  }
  if (has_hook(toolkit, kLimitHook)) return {};
  const std::string since = to_string(hook_since(kLimitHook).value_or(ToolkitVersion{}));
  if (toolkit.version) {
    return fmt::format(
        "NVIDIA's container toolkit is {} here, and {}, which sets the limit, came with {}",
        to_string(toolkit), name, since);
  }
  return fmt::format(
      "it is not known whether NVIDIA's container toolkit here has {}, which sets the limit and "
      "came with {} ({}); set --cdi-toolkit-version",
      name, since, toolkit.problem);
}

std::vector<CdiHook> common_hooks(const DriverFiles& files, const CdiOptions& options) {
  std::vector<CdiHook> hooks;
  const auto add = [&](std::optional<CdiHook> hook) {
    if (hook) hooks.push_back(*std::move(hook));
  };
  if (files.libraries.empty()) return hooks;
  std::vector<DriverLibrary> libraries = files.libraries;
  if (has_feature(options, "enable-explicit-driver-libraries")) {
    libraries.insert(libraries.end(), files.explicit_libraries.begin(),
                     files.explicit_libraries.end());
  }
  add(symlinks_hook(options, graphics_links(files)));
  add(symlinks_hook(options, library_links(libraries)));
  const auto add_if_known = [&](std::string_view name, const Names& arguments) {
    if (has_hook(files.toolkit, name)) add(cdi_hook(options, name, arguments));
  };
  add_if_known("enable-cuda-compat", {"--host-driver-version=" + files.version});
  if (const Names folders = loader_folders(libraries); !folders.empty()) {
    add(cdi_hook(options, "update-ldcache", with_flag("--folder", folders)));
  }
  add_if_known("disable-device-node-modification", {});
  add_if_known("update-application-profile", {});
  return hooks;
}

}  // namespace tranche::core
