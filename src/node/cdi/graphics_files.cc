// SPDX-License-Identifier: Apache-2.0
#include "node/cdi/graphics_files.h"

#include <string>
#include <vector>

#include "base/path.h"
#include "node/cdi/file_search.h"

namespace tranche::node {
namespace {

using Names = std::vector<std::string>;

Names xorg_folders(const Names& library_folders) {
  Names folders;
  const auto add_modules = [&](const std::string& modules) {
    for (const char* part : {"drivers", "extensions", "updates/drivers", "updates/extensions"}) {
      folders.push_back(below(modules, part));
    }
  };
  for (const std::string& folder : library_folders) {
    folders.push_back(below(folder, "nvidia/xorg"));
    add_modules(below(folder, "xorg/modules"));
  }
  for (const char* modules : {"/usr/lib/xorg/modules", "/usr/lib64/xorg/modules",
                              "/usr/X11R6/lib/modules", "/usr/X11R6/lib64/modules"}) {
    add_modules(modules);
  }
  return folders;
}

// The host has a settings file in /etc or in a share folder; programs in a container look in one
// place.
void add_setting(DriverRoot& root, const Names& folders, const std::string& container_folder,
                 const std::string& name, DriverFiles& files) {
  for (const std::string& folder : folders) {
    if (add_file(root, below(folder, name), FileKind::kFile, files.graphics,
                 below(container_folder, name))) {
      return;
    }
  }
}

void find_settings(DriverRoot& root, DriverFiles& files) {
  const Names folders = {"/etc", "/usr/local/share", "/usr/share"};
  for (const char* name :
       {"glvnd/egl_vendor.d/10_nvidia.json", "egl/egl_external_platform.d/15_nvidia_gbm.json",
        "egl/egl_external_platform.d/10_nvidia_wayland.json",
        "egl/egl_external_platform.d/09_nvidia_wayland2.json",
        "egl/egl_external_platform.d/20_nvidia_xcb.json",
        "egl/egl_external_platform.d/20_nvidia_xlib.json", "nvidia/nvoptix.bin",
        "X11/xorg.conf.d/10-nvidia.conf", "X11/xorg.conf.d/nvidia-drm-outputclass.conf"}) {
    add_setting(root, folders, "/usr/share", name, files);
  }
  add_setting(root, folders, "/etc", "OpenCL/vendors/nvidia.icd", files);

  // Google's driver installer puts these at its root.
  Names and_root = folders;
  and_root.emplace_back("/");
#if defined(__aarch64__)
  const char* const rpm_icd = "vulkan/icd.d/nvidia_icd.aarch64.json";
#else
  const char* const rpm_icd = "vulkan/icd.d/nvidia_icd.x86_64.json";
#endif
  for (const char* name : {"vulkan/icd.d/nvidia_icd.json", "vulkan/icd.d/nvidia_layers.json",
                           "vulkan/implicit_layer.d/nvidia_layers.json", rpm_icd}) {
    add_setting(root, and_root, "/etc", name, files);
  }
}

}  // namespace

void find_graphics_files(DriverRoot& root, DriverFiles& files) {
  // The EGL platforms have versions of their own.
  for (const char* pattern :
       {"libnvidia-egl-gbm.so.*.*", "libnvidia-egl-wayland.so.*.*", "libnvidia-egl-wayland2.so.*.*",
        "libnvidia-egl-xcb.so.*.*", "libnvidia-egl-xlib.so.*.*"}) {
    for (const std::string& path : root.libraries(pattern)) {
      add_file(root, path, FileKind::kFile, files.graphics);
    }
  }
  const Names modules = xorg_folders(files.library_folders);
  add_first(root, modules, "nvidia_drv.so", FileKind::kFile, files.graphics);
  add_first(root, modules, "libglxserver_nvidia.so." + files.version, FileKind::kFile,
            files.graphics);
  add_first(root, program_folders(), "nvidia-xconfig", FileKind::kProgram, files.graphics);
  find_settings(root, files);
}

}  // namespace tranche::node
