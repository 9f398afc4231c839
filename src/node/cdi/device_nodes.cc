// SPDX-License-Identifier: Apache-2.0
#include "node/cdi/device_nodes.h"

#include <fmt/core.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <system_error>

#include "base/path.h"
#include "base/text.h"
#include "os/files.h"

namespace tranche::node {
namespace {

struct NodeNames {
  const char* folder;
  const char* pattern;
};
constexpr std::array kNodeNames = {
    NodeNames{"/dev", "nvidia*"},
    NodeNames{"/dev", "gdrdrv"},
    NodeNames{"/dev/dri", "card*"},
    NodeNames{"/dev/dri", "renderD*"},
    NodeNames{"/dev/infiniband", "rdma_cm"},
    NodeNames{"/dev/infiniband", "uverbs*"},
    NodeNames{"/dev/nvidia-caps", "nvidia-cap*"},
};
constexpr NodeNames kImexNames = {"/dev/nvidia-caps-imex-channels", "channel*"};

std::optional<DeviceNode> node_at(const std::string& root, const std::string& path) {
  struct stat info = {};
  // lstat: a link is not a node, and its target has a path of its own.
  if (::lstat(below(root, path).c_str(), &info) != 0 || !S_ISCHR(info.st_mode)) {
    return std::nullopt;
  }
  return DeviceNode{.path = path,
                    .major = major(info.st_rdev),
                    .minor = minor(info.st_rdev),
                    .mode = static_cast<unsigned>(info.st_mode) & 07777U,
                    .gid = info.st_gid};
}

std::vector<DeviceNode> nodes_like(const std::string& root, const NodeNames& wanted) {
  const Result<std::vector<std::string>> names = list_directory(below(root, wanted.folder));
  std::vector<DeviceNode> nodes;
  if (!names) return nodes;
  for (const std::string& name : *names) {
    if (!glob_match(wanted.pattern, name)) continue;
    if (auto node = node_at(root, below(wanted.folder, name))) nodes.push_back(*std::move(node));
  }
  return nodes;
}

void add_nodes(const std::string& root, const NodeNames& wanted, DriverFiles& files) {
  for (DeviceNode& node : nodes_like(root, wanted)) files.nodes.try_emplace(node.path, node);
}

std::string device_root(const std::vector<std::string>& roots) {
  const auto has_driver_nodes = [](const std::string& root) {
    return !nodes_like(root, {"/dev", "nvidia*"}).empty();
  };
  if (auto found = std::ranges::find_if(roots, has_driver_nodes); found != roots.end()) {
    return *found;
  }
  const auto has_dev = [](const std::string& root) { return path_exists(below(root, "/dev")); };
  const auto found = std::ranges::find_if(roots, has_dev);
  return found == roots.end() ? roots.back() : *found;
}

void add_drm(const PciAddress& pci, const std::string& root, const std::string& sys_root,
             DriverFiles& files) {
  const std::string bdf = to_string(pci);
  const Result<std::vector<std::string>> names =
      list_directory(below(sys_root, fmt::format("/sys/bus/pci/devices/{}/drm", bdf)));
  if (!names) return;
  for (const std::string& name : *names) {
    const std::string path = "/dev/dri/" + name;
    if (files.nodes.contains(path)) files.drm[pci].push_back(path);
  }
  for (const char* kind : {"-card", "-render"}) {
    const std::string link = fmt::format("/dev/dri/by-path/pci-{}{}", bdf, kind);
    std::error_code error;
    const auto target = std::filesystem::read_symlink(below(root, link), error);
    if (!error) files.drm_links[link] = target.string();
  }
}

}  // namespace

void find_device_nodes(const Inventory& inventory, const std::vector<std::string>& roots,
                       const std::string& sys_root, DriverFiles& files) {
  const std::string root = device_root(roots);
  for (const NodeNames& wanted : kNodeNames) add_nodes(root, wanted, files);
  // IMEX channels often exist only in our container's own /dev.
  add_nodes(root, kImexNames, files);
  for (const std::string& other : roots) add_nodes(other, kImexNames, files);
  for (const Gpu& gpu : inventory.gpus) {
    if (gpu.pci) add_drm(*gpu.pci, root, sys_root, files);
  }
}

}  // namespace tranche::node
