// SPDX-License-Identifier: Apache-2.0
#include "core/cdi/cdi_plan.h"

#include <fmt/core.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/path.h"
#include "base/result.h"
#include "base/text.h"
#include "core/cdi/cdi_edits.h"
#include "core/cdi/cdi_hooks.h"
#include "core/grant/cdi_names.h"

namespace tranche::core {
namespace {

struct Found {
  const Inventory& inventory;
  const DriverFiles& files;
  const CdiOptions& options;
  const GrantOptions& grant;
};

std::string qualified(std::string_view device_class, std::string_view name) {
  return fmt::format("{}={}", device_class, name);
}

Error missing(std::string message) { return {ErrorCode::kNotFound, std::move(message)}; }

Result<DeviceNode> node_at(const DriverFiles& files, const std::string& path) {
  const auto node = files.nodes.find(path);
  if (node == files.nodes.end()) return missing("there is no device node " + path);
  return node->second;
}

Result<DeviceNode> gpu_node(const DriverFiles& files, const Gpu& gpu) {
  if (!gpu.minor) return missing("the driver does not report the GPU's device node");
  return node_at(files, fmt::format("/dev/nvidia{}", *gpu.minor));
}

std::vector<DeviceNode> drm_nodes(const DriverFiles& files, const Gpu& gpu) {
  std::vector<DeviceNode> nodes;
  const auto paths = gpu.pci ? files.drm.find(*gpu.pci) : files.drm.end();
  if (paths == files.drm.end()) return nodes;
  for (const std::string& path : paths->second) {
    if (const auto node = node_at(files, path)) nodes.push_back(*node);
  }
  return nodes;
}

// Links from a PCI address to its graphics nodes.
std::vector<std::string> drm_links(const DriverFiles& files, const Gpu& gpu,
                                   const std::vector<DeviceNode>& nodes) {
  std::vector<std::string> links;
  if (!gpu.pci) return links;
  for (const char* kind : {"-card", "-render"}) {
    const std::string link = fmt::format("/dev/dri/by-path/pci-{}{}", to_string(*gpu.pci), kind);
    const auto target = files.drm_links.find(link);
    if (target == files.drm_links.end()) continue;
    const std::string path = normal_path("/dev/dri/by-path/" + target->second);
    if (std::ranges::find(nodes, path, &DeviceNode::path) == nodes.end()) continue;
    links.push_back(fmt::format("{}::{}", target->second, link));
  }
  return links;
}

void add_drm(const Found& found, const Gpu& gpu, CdiEdits& edits) {
  const std::vector<DeviceNode> nodes = drm_nodes(found.files, gpu);
  CdiEdits drm = node_edits(nodes, found.options);
  if (auto hook = symlinks_hook(found.options, drm_links(found.files, gpu, nodes))) {
    drm.hooks.push_back(*std::move(hook));
  }
  edits = merged({edits, drm});
}

// The capability nodes of the slice, without which the GPU's own node is of no use.
Result<std::vector<DeviceNode>> cap_nodes(const DriverFiles& files, const MigDevice& mig) {
  std::vector<DeviceNode> nodes;
  for (const auto& cap : {mig.gpu_instance_cap, mig.compute_instance_cap}) {
    if (!cap) return missing("the driver does not report the MIG device's access nodes");
    Result<DeviceNode> node = node_at(files, fmt::format("/dev/nvidia-caps/nvidia-cap{}", *cap));
    if (!node) return node.error();
    nodes.push_back(*std::move(node));
  }
  return nodes;
}

Result<CdiEdits> mig_edits(const Found& found, const Gpu& gpu, const MigDevice& mig) {
  const Result<DeviceNode> parent = gpu_node(found.files, gpu);
  if (!parent) return parent.error();
  Result<std::vector<DeviceNode>> nodes = cap_nodes(found.files, mig);
  if (!nodes) return nodes.error();
  nodes->push_back(*parent);
  CdiEdits edits = node_edits(*nodes, found.options);
  if (mig.profile.attribute == "+gfx") add_drm(found, gpu, edits);
  return edits;
}

Result<CdiEdits> gpu_edits(const Found& found, const Gpu& gpu) {
  const Result<DeviceNode> node = gpu_node(found.files, gpu);
  if (!node) return node.error();
  std::vector<DeviceNode> nodes = {*node};
  // A container with a whole MIG GPU may use every slice of it.
  for (const MigDevice& mig : gpu.mig) {
    const auto caps = cap_nodes(found.files, mig);
    if (caps) nodes.insert(nodes.end(), caps->begin(), caps->end());
  }
  CdiEdits edits = node_edits(nodes, found.options);
  add_drm(found, gpu, edits);
  // The driver accepts memory limits for whole GPUs only, and by their uuids.
  const bool limitable = found.inventory.driver == DriverKind::kNvml && !gpu.mig_enabled &&
                         !found.files.libraries.empty() &&
                         no_limit_hook(found.options, found.files.toolkit).empty();
  if (limitable) {
    if (auto hook = memory_limit_hook(found.options, gpu.uuid.text)) {
      edits.hooks.push_back(*std::move(hook));
    }
  }
  return edits;
}

// Runtimes refuse the whole file for a repeated or an illegal name.
void add_device(const std::string& name, Result<CdiEdits> edits, CdiSpec& spec, CdiPlan& plan) {
  if (name.empty()) return;
  if (!edits) {
    plan.left_out[qualified(spec.device_class, name)] = edits.error().message;
    return;
  }
  if (std::ranges::find(spec.devices, name, &CdiDevice::name) != spec.devices.end()) return;
  spec.devices.push_back({name, *std::move(edits)});
}

void add_all_device(CdiSpec& spec) {
  std::vector<CdiEdits> parts;
  parts.reserve(spec.devices.size());
  for (const CdiDevice& device : spec.devices) parts.push_back(device.edits);
  spec.devices.push_back({std::string(kCdiAll), merged(parts)});
  std::ranges::sort(spec.devices, {}, &CdiDevice::name);
}

// Containers with a GPU but no driver fail in ways that are hard to trace. Not naming the device
// is the clearer answer.
bool lacks_driver(const Found& found) {
  return found.inventory.driver == DriverKind::kNvml && found.files.libraries.empty();
}

void plan_gpus(const Found& found, CdiPlan& plan) {
  const std::string device_class(kCdiGpu);
  if (found.inventory.driver == DriverKind::kNone) {
    plan.kept.insert(device_class);
    return;
  }
  if (lacks_driver(found)) {
    plan.left_out[device_class] = "containers would get no driver: " + found.files.trouble;
    return;
  }
  CdiSpec spec = {.device_class = device_class};
  for (const Gpu& gpu : found.inventory.gpus) {
    const DeviceIdStrategy ids = found.grant.ids;
    if (!gpu.only_slices) {
      add_device(cdi_device_name(gpu, ids), gpu_edits(found, gpu), spec, plan);
    }
    for (const MigDevice& mig : gpu.mig) {
      add_device(cdi_device_name(gpu, mig, ids), mig_edits(found, gpu, mig), spec, plan);
    }
  }
  if (spec.devices.empty()) {
    plan.left_out[device_class] =
        found.inventory.gpus.empty() ? "there is no GPU" : "no GPU has a device node";
    return;
  }
  std::ranges::sort(spec.devices, {}, &CdiDevice::name);
  add_all_device(spec);
  spec.common = common_gpu_edits(found.files, found.options);
  plan.specs.push_back(std::move(spec));
}

Result<CdiEdits> imex_edits(const Found& found, const std::string& channel) {
  const auto node = node_at(found.files, "/dev/nvidia-caps-imex-channels/channel" + channel);
  if (!node) return node.error();
  return node_edits({*node}, found.options);
}

void plan_imex(const Found& found, CdiPlan& plan) {
  CdiSpec spec = {.device_class = std::string(kCdiImexChannel)};
  for (const unsigned channel : found.grant.imex_channels) {
    const std::string name = std::to_string(channel);
    add_device(name, imex_edits(found, name), spec, plan);
  }
  if (spec.devices.empty()) return;
  std::ranges::sort(spec.devices, {}, &CdiDevice::name);
  spec.common.env = {already_injected()};
  plan.specs.push_back(std::move(spec));
}

// A class with one device, `all`: every node whose path matches, and files.
struct Bundle {
  std::string_view device_class;
  std::vector<std::string_view> nodes;
  std::vector<DriverFile> files;
  std::string_view hint;
};

void plan_bundle(const Found& found, const Bundle& bundle, CdiPlan& plan) {
  std::vector<DeviceNode> nodes;
  for (const auto& found_node : found.files.nodes) {
    const DeviceNode& node = found_node.second;
    const auto matches = [&](std::string_view pattern) { return glob_match(pattern, node.path); };
    if (std::ranges::any_of(bundle.nodes, matches)) nodes.push_back(node);
  }
  if (nodes.empty()) {
    plan.left_out[std::string(bundle.device_class)] =
        fmt::format("there is no device node {}; {}", bundle.nodes.front(), bundle.hint);
    return;
  }
  CdiEdits edits = node_edits(nodes, found.options);
  edits.mounts = file_mounts(bundle.files, found.options);
  CdiSpec spec = {.device_class = std::string(bundle.device_class),
                  .devices = {{std::string(kCdiAll), normalised(std::move(edits))}}};
  spec.common.env = {already_injected()};
  plan.specs.push_back(std::move(spec));
}

}  // namespace

CdiPlan cdi_plan(const Inventory& inventory, const DriverFiles& files, const CdiOptions& options,
                 const GrantOptions& grant) {
  const Found found = {inventory, files, options, grant};
  CdiPlan plan;
  if (grant.gdrcopy) {
    plan_bundle(found, {kCdiGdrcopy, {"/dev/gdrdrv"}, {}, "load the gdrdrv module"}, plan);
  }
  if (grant.gds) {
    plan_bundle(found, {kCdiGds, {"/dev/nvidia-fs*"}, files.gds, "load the nvidia-fs module"},
                plan);
  }
  plan_gpus(found, plan);
  plan_imex(found, plan);
  if (grant.mofed) {
    plan_bundle(found,
                {kCdiMofed,
                 {"/dev/infiniband/uverbs*", "/dev/infiniband/rdma_cm"},
                 {},
                 "load the RDMA modules"},
                plan);
  }
  return plan;
}

}  // namespace tranche::core
