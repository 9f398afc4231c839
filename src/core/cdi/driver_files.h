// SPDX-License-Identifier: Apache-2.0
//
// The driver installation of this node: its files below the driver root, and its device nodes.
// Values only; cdi_plan.h decides which of them a container gets.
//
// Every path is relative to the driver root (files) or the device root (nodes), as a container
// sees it. The paths of the two roots, for us and for the host's runtime, are not part of it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/cdi/toolkit.h"
#include "core/gpu/inventory.h"
#include "core/gpu/pci_address.h"
#include "core/settings/cdi_options.h"

namespace tranche::core {

// A character device.
struct DeviceNode {
  std::string path;  // "/dev/nvidia0"
  unsigned major = 0;
  unsigned minor = 0;
  unsigned mode = 0;  // permission bits
  unsigned gid = 0;

  bool operator==(const DeviceNode&) const = default;
};

struct DriverFile {
  std::string path;  // where it was found
  // The same with every link followed inside the root. An absolute link is
  // right inside the root and wrong outside of it.
  std::string real_path;
  std::string container_path;  // where programs look for it

  bool operator==(const DriverFile&) const = default;
};

struct DriverLibrary {
  std::string path;    // links followed
  std::string soname;  // empty: not an ELF file
  // Names of links beside it that begin with its "libname.so", sorted.
  std::vector<std::string> links;

  bool operator==(const DriverLibrary&) const = default;
};

struct DriverFiles {
  // Of the libraries below; empty when there are none.
  std::string version;
  // Folders with libraries of this version, in the order they are searched.
  std::vector<std::string> library_folders;
  // Everything named *.so.<version> there, and NVVM.
  std::vector<DriverLibrary> libraries;
  // Libraries without the version in their names that belong to GL and OpenCL rather than
  // to the driver; used on request.
  std::vector<DriverLibrary> explicit_libraries;
  std::vector<DriverFile> graphics;  // EGL platforms, X modules, their programs and settings
  std::vector<DriverFile> programs;
  std::vector<DriverFile> firmware;
  std::vector<DriverFile> sockets;  // of daemons on the host
  std::vector<DriverFile> gds;      // what GPUDirect Storage reads

  std::map<std::string, DeviceNode> nodes;  // by path
  // Nodes of the kernel's graphics devices, by the GPU they belong to.
  std::map<PciAddress, std::vector<std::string>> drm;
  std::map<std::string, std::string> drm_links;  // "/dev/dri/by-path/…": what it points to

  // The program for hooks on the host. Filled in elsewhere, because reading it takes longer.
  Toolkit toolkit;

  // Why there are no libraries, for people.
  std::string trouble;

  bool operator==(const DriverFiles&) const = default;
};

}  // namespace tranche::core
