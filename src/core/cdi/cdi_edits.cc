// SPDX-License-Identifier: Apache-2.0
#include "core/cdi/cdi_edits.h"

#include <string_view>

#include "base/path.h"
#include "base/text.h"
#include "core/cdi/cdi_hooks.h"

namespace tranche::core {
namespace {

std::string_view without_trailing_slashes(std::string_view path) {
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  return path;
}

// The device root may include /dev or not.
std::string_view device_root(const CdiOptions& options) {
  std::string_view root = without_trailing_slashes(options.dev_root);
  if (root.ends_with("/dev")) root.remove_suffix(4);
  return root;
}

bool only_for_its_group(const DeviceNode& node) {
  constexpr unsigned kOthersReadAndWrite = 06;
  return node.gid != 0 && (node.mode & kOthersReadAndWrite) != kOthersReadAndWrite;
}

CdiMount mount_of(const DriverFile& file, const CdiOptions& options,
                  std::vector<std::string> mount_options) {
  // With any other root an absolute link would lead the runtime to the host's own files.
  const bool at_host_root = without_trailing_slashes(options.driver_root) == "/";
  return {.host_path = below(options.driver_root, at_host_root ? file.path : file.real_path),
          .container_path = file.container_path,
          .options = std::move(mount_options)};
}

void add_libraries(const std::vector<DriverLibrary>& libraries, const CdiOptions& options,
                   std::vector<CdiMount>& mounts) {
  std::vector<DriverFile> files;
  files.reserve(libraries.size());
  for (const DriverLibrary& library : libraries) {
    files.push_back({library.path, library.path, library.path});
  }
  for (CdiMount& mount : file_mounts(files, options)) mounts.push_back(std::move(mount));
}

std::vector<CdiMount> driver_mounts(const DriverFiles& files, const CdiOptions& options) {
  std::vector<CdiMount> mounts;
  add_libraries(files.libraries, options, mounts);
  if (has_feature(options, "enable-explicit-driver-libraries")) {
    add_libraries(files.explicit_libraries, options, mounts);
  }
  for (const auto* part : {&files.graphics, &files.programs, &files.firmware}) {
    for (CdiMount& mount : file_mounts(*part, options)) mounts.push_back(std::move(mount));
  }
  if (!has_feature(options, "disable-ipc-discoverer")) {
    for (const DriverFile& socket : files.sockets) {
      mounts.push_back(
          mount_of(socket, options, {"nosuid", "nodev", "rbind", "rprivate", "noexec"}));
    }
  }
  return mounts;
}

}  // namespace

std::string already_injected() { return "NVIDIA_VISIBLE_DEVICES=void"; }

CdiEdits node_edits(const std::vector<DeviceNode>& nodes, const CdiOptions& options) {
  CdiEdits edits;
  const bool with_groups = !has_feature(options, "no-additional-gids-for-device-nodes");
  for (const DeviceNode& node : nodes) {
    const std::string host_path = below(device_root(options), node.path);
    edits.nodes.push_back({.path = node.path,
                           .host_path = host_path == node.path ? "" : host_path,
                           .major = node.major,
                           .minor = node.minor,
                           .mode = node.mode,
                           .gid = node.gid});
    if (with_groups && only_for_its_group(node)) edits.additional_gids.push_back(node.gid);
  }
  return normalised(std::move(edits));
}

std::vector<CdiMount> file_mounts(const std::vector<DriverFile>& files, const CdiOptions& options) {
  std::vector<CdiMount> mounts;
  mounts.reserve(files.size());
  for (const DriverFile& file : files) {
    mounts.push_back(mount_of(file, options, {"ro", "nosuid", "nodev", "rbind", "rprivate"}));
  }
  return mounts;
}

CdiEdits common_gpu_edits(const DriverFiles& files, const CdiOptions& options) {
  std::vector<DeviceNode> nodes;
  for (const char* path :
       {"/dev/nvidia-modeset", "/dev/nvidia-uvm-tools", "/dev/nvidia-uvm", "/dev/nvidiactl"}) {
    if (const auto node = files.nodes.find(path); node != files.nodes.end()) {
      nodes.push_back(node->second);
    }
  }
  CdiEdits edits = node_edits(nodes, options);
  if (!files.library_folders.empty()) {
    edits.env.push_back("NVIDIA_CTK_LIBCUDA_DIR=" + join(files.library_folders, ":"));
  }
  edits.env.push_back(already_injected());
  edits.mounts = driver_mounts(files, options);
  edits.hooks = common_hooks(files, options);
  return normalised(std::move(edits));
}

}  // namespace tranche::core
