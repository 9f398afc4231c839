// SPDX-License-Identifier: Apache-2.0
#include "node/driver/kernel_files.h"

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/path.h"
#include "base/text.h"
#include "formats/pci_config.h"
#include "os/files.h"

namespace tranche::node {
namespace {

// A PCI Express device's configuration space.
constexpr std::size_t kLargestConfig = 4096;

// "gi12" with prefix "gi" is 12.
std::optional<unsigned> number_after(std::string_view text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return std::nullopt;
  return parse_number<unsigned>(text.substr(prefix.size()));
}

// Removes "gi12" (prefix "gi") from the front and returns 12. Without a match, removes nothing.
std::optional<unsigned> take_number(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return std::nullopt;
  const std::string_view rest = text.substr(prefix.size());
  const std::size_t end = std::min(rest.find_first_not_of("0123456789"), rest.size());
  const auto number = parse_number<unsigned>(rest.substr(0, end));
  if (number) text = rest.substr(end);
  return number;
}

std::optional<unsigned> find_minor(
    const std::map<std::tuple<unsigned, unsigned, int>, unsigned>& minors,
    const std::tuple<unsigned, unsigned, int>& key) {
  const auto found = minors.find(key);
  return found == minors.end() ? std::nullopt : std::optional(found->second);
}

std::string first_line(const Result<std::string>& content) {
  if (!content) return {};
  return std::string(trim(split(*content, '\n').front()));
}

}  // namespace

// Without copies: the file has thousands of lines, and a node with MIG reads it in each driver
// session.
MigMinors MigMinors::parse(std::string_view text) {
  MigMinors result;
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const auto gpu = take_number(line, "gpu");
    const auto instance = take_number(line, "/gi");
    if (!gpu || !instance) continue;
    const auto compute = take_number(line, "/ci");
    const auto minor = take_number(line, "/access ");
    if (!minor || !trim(line).empty()) continue;
    result.minors_[{*gpu, *instance, compute ? static_cast<int>(*compute) : -1}] = *minor;
  }
  return result;
}

std::optional<unsigned> MigMinors::gpu_instance(unsigned gpu_minor, unsigned instance) const {
  return find_minor(minors_, {gpu_minor, instance, -1});
}

std::optional<unsigned> MigMinors::compute_instance(unsigned gpu_minor, unsigned gpu_instance,
                                                    unsigned instance) const {
  return find_minor(minors_, {gpu_minor, gpu_instance, static_cast<int>(instance)});
}

KernelGpu parse_gpu_information(std::string_view text) {
  KernelGpu gpu;
  for (const std::string& line : split(text, '\n')) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const std::string label(trim(line.substr(0, colon)));
    const std::string value(trim(line.substr(colon + 1)));
    if (label == "Model") gpu.model = value;
    // Question marks until the driver has read it from the card.
    if (label == "GPU UUID" && value.find('?') == std::string::npos) gpu.uuid = value;
    if (label == "Bus Location") gpu.pci = parse_pci_address(value);
    if (label == "Device Minor") gpu.minor = parse_number<unsigned>(value);
  }
  return gpu;
}

Result<std::string> KernelFiles::boot_id() const {
  const std::string path = below(root_, "/proc/sys/kernel/random/boot_id");
  const Result<std::string> content = read_file(path);
  if (!content) return content.error();
  const std::string id = first_line(content);
  if (id.empty()) return Error{ErrorCode::kUnavailable, path + " is empty"};
  return id;
}

std::optional<unsigned> KernelFiles::numa_node(const PciAddress& address) const {
  const auto content =
      read_file(below(root_, fmt::format("/sys/bus/pci/devices/{}/numa_node", to_string(address))));
  // -1 if the kernel has only one node, and in most virtual machines.
  return parse_number<unsigned>(first_line(content));
}

GpuFeatures KernelFiles::features(const PciAddress& address) const {
  const std::string folder =
      below(root_, fmt::format("/sys/bus/pci/devices/{}", to_string(address)));
  GpuFeatures features;
  const std::string pci_class = first_line(read_file(below(folder, "class")));
  if (pci_class.starts_with("0x")) {
    features.pci_class = parse_number<std::uint32_t>(pci_class.substr(2), 16);
  }
  const Result<std::string> config = read_file(below(folder, "config"), kLargestConfig);
  const auto vgpu = config ? parse_vgpu_capability(*config) : std::nullopt;
  if (vgpu) {
    features.is_vgpu = vgpu->is_vgpu;
    features.vgpu_host = vgpu->host;
  }
  return features;
}

std::optional<bool> KernelFiles::has_pci_device(const PciAddress& address) const {
  const std::string devices = below(root_, "/sys/bus/pci/devices");
  const Result<std::vector<std::string>> names = list_directory(devices);
  if (!names || names->empty()) return std::nullopt;
  return std::ranges::find(*names, to_string(address)) != names->end();
}

// The inode of the link that the kernel creates on bind and removes on unbind; /sys never reuses a
// number.
std::optional<std::uint64_t> KernelFiles::driver_binding(const PciAddress& address) const {
  const std::string link =
      below(root_, fmt::format("/sys/bus/pci/devices/{}/driver", to_string(address)));
  struct stat info{};
  std::array<char, 256> target{};
  const ssize_t size = ::readlink(link.c_str(), target.data(), target.size());
  if (size <= 0 || ::lstat(link.c_str(), &info) != 0) return std::nullopt;
  const std::string_view driver(target.data(), static_cast<std::size_t>(size));
  if (!driver.ends_with("/nvidia")) return std::nullopt;
  return info.st_ino;
}

MigMinors KernelFiles::mig_minors() const {
  const auto content = read_file(below(root_, "/proc/driver/nvidia-caps/mig-minors"));
  return MigMinors::parse(content ? *content : std::string());
}

std::vector<KernelGpu> KernelFiles::kernel_gpus() const {
  const std::string folder = below(root_, "/proc/driver/nvidia/gpus");
  const Result<std::vector<std::string>> names = list_directory(folder);
  if (!names) return {};
  std::vector<KernelGpu> gpus;
  for (const std::string& name : *names) {
    const Result<std::string> text = read_file(below(folder, name + "/information"));
    if (!text) continue;
    KernelGpu gpu = parse_gpu_information(*text);
    if (!gpu.pci) gpu.pci = parse_pci_address(name);
    gpus.push_back(std::move(gpu));
  }
  return gpus;
}

std::string KernelFiles::driver_version() const {
  return first_line(read_file(below(root_, "/sys/module/nvidia/version")));
}

std::string KernelFiles::gpu_set() const {
  for (const char* folder : {"/sys/module/nvidia/drivers/pci:nvidia", "/sys/bus/pci/drivers/nvidia",
                             "/proc/driver/nvidia/gpus"}) {
    const Result<std::vector<std::string>> names = list_directory(below(root_, folder));
    if (!names) continue;
    std::vector<std::string> gpus;
    for (const std::string& name : *names) {
      if (parse_pci_address(name)) gpus.push_back(name);
    }
    return join(gpus, " ");
  }
  return {};
}

std::optional<bool> KernelFiles::has_driver_module() const {
  if (!path_exists(below(root_, "/sys/module"))) return std::nullopt;
  return path_exists(below(root_, "/sys/module/nvidia"));
}

std::vector<unsigned> KernelFiles::gpu_node_minors() const {
  const Result<std::vector<std::string>> names = list_directory(below(root_, "/dev"));
  if (!names) return {};
  std::vector<unsigned> minors;
  for (const std::string& name : *names) {
    // "nvidiactl", "nvidia-uvm" and others are no GPUs.
    if (const auto minor = number_after(name, "nvidia")) minors.push_back(*minor);
  }
  std::ranges::sort(minors);
  return minors;
}

std::string KernelFiles::kernel_log_path() const { return below(root_, "/dev/kmsg"); }

std::vector<std::string> control_nodes(const std::string& dev_root) {
  std::vector<std::string> present;
  for (const char* path :
       {"/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools", "/dev/nvidia-modeset"}) {
    if (path_exists(below(dev_root, path))) present.emplace_back(path);
  }
  return present;
}

std::vector<unsigned> imex_channels(const std::vector<unsigned>& wanted,
                                    const std::vector<std::string>& dev_roots) {
  std::vector<unsigned> present;
  for (const unsigned channel : wanted) {
    const std::string node = fmt::format("/dev/nvidia-caps-imex-channels/channel{}", channel);
    const bool is_there = std::ranges::any_of(
        dev_roots, [&](const std::string& root) { return path_exists(below(root, node)); });
    if (is_there) present.push_back(channel);
  }
  return present;
}

}  // namespace tranche::node
