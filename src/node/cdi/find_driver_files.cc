// SPDX-License-Identifier: Apache-2.0
#include "node/cdi/find_driver_files.h"

#include <fmt/core.h>
#include <sys/stat.h>
#include <sys/utsname.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>

#include "base/path.h"
#include "base/text.h"
#include "node/cdi/device_nodes.h"
#include "node/cdi/driver_root.h"
#include "node/cdi/elf_soname.h"
#include "node/cdi/file_search.h"
#include "node/cdi/graphics_files.h"
#include "os/files.h"

namespace tranche::node {
namespace {

using Names = std::vector<std::string>;

// Only digits and dots, because it becomes part of patterns and paths.
bool is_version(std::string_view text) {
  return text.find('.') != std::string_view::npos && text.front() != '.' &&
         text.find_first_not_of("0123456789.") == std::string_view::npos;
}

// The version of the installed libraries: that of libcuda.so.1's target, else of the first one
// found.
std::string installed_version(DriverRoot& root) {
  for (const std::string library : {"libcuda.so.", "libnvidia-ml.so."}) {
    Names candidates = root.libraries(library + "1");
    for (std::string& path : root.libraries(library + "*.*")) candidates.push_back(std::move(path));
    for (const std::string& path : candidates) {
      const std::string name = file_name_of(path);
      if (!name.starts_with(library)) continue;
      if (std::string version = name.substr(library.size()); is_version(version)) return version;
    }
  }
  return {};
}

bool holds_driver(DriverRoot& root, const std::string& version) {
  return !root.libraries("libcuda.so." + version).empty() ||
         !root.libraries("libnvidia-ml.so." + version).empty();
}

DriverLibrary library_at(DriverRoot& root, const std::string& path) {
  const std::string name = file_name_of(path);
  const std::string stem = name.substr(0, name.find(".so")) + ".so";
  DriverLibrary library = {.path = path, .soname = elf_soname(root.here(path)).value_or("")};
  for (const std::string& beside : root.matches(parent_of(path), stem + "*")) {
    std::error_code error;
    if (std::filesystem::is_symlink(root.here(beside), error)) {
      library.links.push_back(file_name_of(beside));
    }
  }
  return library;
}

// Adds the libraries in `folders` whose names match, each file once.
void add_libraries(DriverRoot& root, const Names& folders, const std::string& pattern,
                   std::vector<DriverLibrary>& libraries) {
  for (const std::string& folder : folders) {
    for (const std::string& path : root.matches(folder, pattern)) {
      const std::optional<struct stat> info = root.status(path);
      if (!info || !S_ISREG(info->st_mode)) continue;
      const std::string real = root.resolve(path).value_or(path);
      if (std::ranges::find(libraries, real, &DriverLibrary::path) != libraries.end()) continue;
      libraries.push_back(library_at(root, real));
    }
  }
}

void find_libraries(DriverRoot& root, DriverFiles& files) {
  Names& folders = files.library_folders;
  for (const std::string& path : root.libraries("lib*.so." + files.version)) {
    const std::string folder = parent_of(path);
    if (std::ranges::find(folders, folder) == folders.end()) folders.push_back(folder);
  }
  add_libraries(root, folders, "*.so." + files.version, files.libraries);
  for (const std::string& folder : folders) {
    add_libraries(root, {below(folder, "vdpau")}, "*.so." + files.version, files.libraries);
  }
  add_libraries(root, folders, "libnvidia-nvvm70.so.*", files.libraries);
  for (const char* name : {"libEGL.so", "libGL.so", "libGLESv1_CM.so", "libGLESv2.so", "libGLX.so",
                           "libGLdispatch.so", "libOpenCL.so", "libOpenGL.so", "libnvidia-api.so",
                           "libnvidia-egl-xcb.so", "libnvidia-egl-xlib.so"}) {
    add_libraries(root, folders, name, files.explicit_libraries);
  }
}

// The kernel's firmware folders.
Names firmware_folders(const std::string& sys_root) {
  Names folders;
  const Result<std::string> custom =
      read_file(below(sys_root, "/sys/module/firmware_class/parameters/path"));
  if (custom && trim(*custom).starts_with('/')) folders.emplace_back(trim(*custom));
  struct utsname kernel = {};
  const std::string release = ::uname(&kernel) == 0 ? kernel.release : "";
  for (const char* folder : {"/lib/firmware/updates", "/lib/firmware"}) {
    if (!release.empty()) folders.push_back(below(folder, release));
    folders.emplace_back(folder);
  }
  return folders;
}

void find_firmware(DriverRoot& root, const std::string& sys_root, DriverFiles& files) {
  for (const std::string& folder : firmware_folders(sys_root)) {
    const std::string versioned = below(folder, "nvidia/" + files.version);
    Names found = root.matches(versioned, "gsp*.bin");
    for (std::string& path : root.matches(versioned, "ucodes*.bin")) found.push_back(path);
    for (const std::string& path : found) add_file(root, path, FileKind::kFile, files.firmware);
  }
}

void find_programs_and_sockets(DriverRoot& root, DriverFiles& files) {
  for (const char* program :
       {"nvidia-smi", "nvidia-debugdump", "nvidia-persistenced", "nvidia-cuda-mps-control",
        "nvidia-cuda-mps-server", "nvidia-imex", "nvidia-imex-ctl"}) {
    add_first(root, program_folders(), program, FileKind::kProgram, files.programs);
  }
  for (const char* socket : {"nvidia-persistenced/socket", "nvidia-fabricmanager/socket"}) {
    add_first(root, {"/run", "/var/run"}, socket, FileKind::kSocket, files.sockets);
  }
  // Not /tmp/nvidia-mps: every user of the host can create it, for example as a link to "/".
}

void find_gds(DriverRoot& root, DriverFiles& files) {
  add_file(root, "/run/udev", FileKind::kFolder, files.gds);
  add_file(root, "/etc/cufile.json", FileKind::kFile, files.gds);
}

}  // namespace

DriverFiles find_driver_files(const Inventory& inventory, const CdiOptions& options,
                              const std::string& host_root) {
  DriverFiles files;
  Names roots = {options.container_driver_root};
  if (host_root != options.container_driver_root) roots.push_back(host_root);
  const bool known = !inventory.driver_version.empty() && is_version(inventory.driver_version);
  for (const std::string& place : roots) {
    DriverRoot root(place);
    const std::string version = known ? inventory.driver_version : installed_version(root);
    if (version.empty() || !holds_driver(root, version)) continue;
    files.version = version;
    find_libraries(root, files);
    find_graphics_files(root, files);
    find_firmware(root, host_root, files);
    find_programs_and_sockets(root, files);
    find_gds(root, files);
    break;
  }
  if (files.version.empty()) {
    files.trouble =
        fmt::format("no libcuda.so.{} below {}; mount the host's driver root at {}",
                    known ? inventory.driver_version : "*", join(roots, " or "), roots.front());
    DriverRoot root(path_exists(roots.front()) ? roots.front() : roots.back());
    find_gds(root, files);
  }
  find_device_nodes(inventory, roots, host_root, files);
  return files;
}

}  // namespace tranche::node
