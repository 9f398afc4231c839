// SPDX-License-Identifier: Apache-2.0
//
// Names in our CDI (Container Device Interface) specifications. A device is named
// "vendor/class=name". The code that writes specifications and the code that answers the
// kubelet must use the same names, so both take them from here. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/gpu/gpu.h"
#include "core/settings/grant_options.h"

namespace tranche::core {

// NVIDIA's device plugin uses this vendor. Runtimes, policies and people know it, and our
// file replaces the one that NVIDIA's plugin left.
inline constexpr std::string_view kCdiVendor = "k8s.device-plugin.nvidia.com";

inline constexpr std::string_view kCdiGpu = "gpu";
inline constexpr std::string_view kCdiImexChannel = "imex-channel";
inline constexpr std::string_view kCdiGdrcopy = "gdrcopy";
inline constexpr std::string_view kCdiGds = "gds";
inline constexpr std::string_view kCdiMofed = "mofed";
// The one device of gdrcopy, gds and mofed; in class gpu every device at once.
inline constexpr std::string_view kCdiAll = "all";

// Every class we write a file for, sorted.
std::vector<std::string_view> cdi_classes();

// `id` as a device name. CDI allows letters, digits and `_ - . :`, so the `/` of an old MIG id
// ("MIG-GPU-…/7/0") becomes `_`. Empty if nothing legal is left.
std::string cdi_device_name(std::string_view id);

// The names of a GPU and of a MIG device on it: the uuid, or "0" and "0:1" by the
// driver's count. Empty by index for a GPU that the driver does not list: its last
// index may be another GPU's now.
std::string cdi_device_name(const Gpu& gpu, DeviceIdStrategy ids);
std::string cdi_device_name(const Gpu& gpu, const MigDevice& mig, DeviceIdStrategy ids);

// "k8s.device-plugin.nvidia.com/gpu=GPU-8f1c…", as passed to the kubelet.
std::string cdi_qualified_name(std::string_view device_class, std::string_view name);

// "k8s.device-plugin.nvidia.com-gpu.json"
std::string cdi_file_name(std::string_view device_class);

// The allowed values of CdiOptions::disabled_hooks and ::feature_flags, for checking a
// configuration. Some flags concern things we never do; they are accepted because NVIDIA's
// plugin accepts them.
std::vector<std::string> known_cdi_hooks();
std::vector<std::string> known_cdi_feature_flags();

}  // namespace tranche::core
