// SPDX-License-Identifier: Apache-2.0
#include "grant/grant.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <unordered_set>

#include "base/files.h"
#include "base/text.h"
#include "grant/cdi_names.h"

namespace tranche {
namespace {

constexpr const char* kVisibleDevices = "NVIDIA_VISIBLE_DEVICES";
constexpr const char* kVolumeMountRoot = "/var/run/nvidia-container-devices";
// A status that carries more than a few kilobytes of text does not arrive.
constexpr std::size_t kLongestIdTold = 100;

std::string told(std::string_view id) {
  if (id.size() <= kLongestIdTold) return std::string(id);
  return std::string(id.substr(0, kLongestIdTold)) + "…";
}

Error refusal(const Offer& offer, const std::string& why) {
  return {ErrorCode::kInvalidArgument,
          "invalid allocation request for \"" + offer.name.text + "\": " + why};
}

// The devices behind the ids, each once, in the offer's order.
Result<std::vector<const OfferedDevice*>> devices_of(const Offer& offer,
                                                     const std::vector<std::string_view>& ids) {
  if (ids.empty()) return refusal(offer, "no device ids were given");
  if (offer.terms.one_share_only && ids.size() > 1) {
    return refusal(offer, "maximum request size for shared resources is 1; found " +
                              std::to_string(ids.size()));
  }
  std::unordered_set<std::string_view> seen;
  std::vector<const OfferedDevice*> devices;
  for (const std::string_view id : ids) {
    const OfferedDevice* device = offer.find(id);
    if (device == nullptr) return refusal(offer, "unknown device: " + told(id));
    if (!seen.insert(id).second) return refusal(offer, "device given twice: " + told(id));
    if (!device->health.ok()) {
      return refusal(offer, "unhealthy device: " + told(id) + ": " + device->health.reason());
    }
    devices.push_back(device);
  }
  // Devices lie in one vector, so their addresses are their order.
  std::ranges::sort(devices);
  const auto doubles = std::ranges::unique(devices);
  devices.erase(doubles.begin(), doubles.end());
  return devices;
}

// A name for the annotation that differs between any two grants a container
// can get, and is the same each time for the same one.
std::string fingerprint(const Offer& offer, const std::vector<std::string>& names) {
  std::array<std::uint64_t, 2> hash{0xcbf29ce484222325ULL, 0x84222325cbf29ce4ULL};
  const auto add = [&](std::string_view text) {
    for (const char c : text) {
      hash[0] = (hash[0] ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
      hash[1] = (hash[1] ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
      hash[1] ^= hash[0] >> 29;
    }
  };
  add(offer.name.text);
  for (const std::string& name : names) add("\n" + name);
  std::array<char, 40> text{};
  std::snprintf(text.data(), text.size(), "%016llx%016llx",
                static_cast<unsigned long long>(hash[0]), static_cast<unsigned long long>(hash[1]));
  return text.data();
}

class Granting {
 public:
  Granting(const Offer& offer, const GrantOptions& options, const NodeFacts& facts,
           std::vector<const OfferedDevice*> devices)
      : offer_(offer), options_(options), facts_(facts), devices_(std::move(devices)) {
    for (const OfferedDevice* device : devices_) {
      names_.push_back(options_.ids == DeviceIdStrategy::kUuid ? device->uuid : device->index());
    }
  }

  Result<ContainerGrant> make() && {
    if (Status named = add_cdi(); !named) return named.error();
    if (options_.gdrcopy) grant_.env["NVIDIA_GDRCOPY"] = "enabled";
    if (options_.gds) grant_.env["NVIDIA_GDS"] = "enabled";
    if (options_.mofed) grant_.env["NVIDIA_MOFED"] = "enabled";
    if (options_.list.envvar) add_environment();
    if (options_.list.volume_mounts) add_volume_mounts();
    // Where CDI is the only way asked for, its specification has the nodes.
    const bool only_cdi = !options_.list.envvar && !options_.list.volume_mounts;
    if (options_.pass_device_specs && !(only_cdi && options_.list.any_cdi())) add_nodes();
    if (options_.driver_mount) {
      grant_.mounts.push_back(
          {options_.driver_mount->container_path, options_.driver_mount->host_path, true});
    }
    return std::move(grant_);
  }

 private:
  Status add_cdi() {
    if (!options_.list.any_cdi()) return Done{};
    for (const std::string& id : names_) {
      const std::string name = cdi_device_name(id);
      if (!is_in_specification(kCdiGpu, name)) return unresolvable(name);
      name_cdi(kCdiGpu, name);
    }
    for (const unsigned channel : facts_.imex_channels) {
      const std::string name = std::to_string(channel);
      if (is_in_specification(kCdiImexChannel, name)) name_cdi(kCdiImexChannel, name);
    }
    for (const auto& [enabled, cdi_class] :
         {std::pair{options_.gdrcopy, kCdiGdrcopy}, std::pair{options_.gds, kCdiGds},
          std::pair{options_.mofed, kCdiMofed}}) {
      if (enabled && is_in_specification(cdi_class, std::string(kCdiAll))) {
        name_cdi(cdi_class, kCdiAll);
      }
    }
    if (options_.list.cdi_annotations) {
      grant_.annotations[options_.cdi_annotation_prefix + "nvidia-device-plugin_" +
                         fingerprint(offer_, cdi_names_)] = join(cdi_names_, ",");
    }
    if (options_.list.cdi_cri) grant_.cdi_devices = cdi_names_;
    return Done{};
  }

  bool is_in_specification(std::string_view cdi_class, const std::string& name) const {
    const auto known = facts_.cdi.find(std::string(cdi_class));
    return known != facts_.cdi.end() && known->second.contains(name);
  }

  void name_cdi(std::string_view cdi_class, std::string_view name) {
    cdi_names_.push_back(cdi_qualified_name(cdi_class, name));
  }

  // Naming a device that no file resolves would leave the pod with an error
  // from the runtime that says less.
  Error unresolvable(const std::string& name) const {
    std::string why = "no CDI specification has device " + name;
    if (!facts_.cdi_problem.empty()) why += ": " + facts_.cdi_problem;
    return {ErrorCode::kUnavailable,
            "cannot allocate \"" + offer_.name.text + "\" through CDI: " + why};
  }

  void add_environment() {
    grant_.env[kVisibleDevices] = join(names_, ",");
    std::vector<std::string> channels;
    for (const unsigned channel : facts_.imex_channels) channels.push_back(std::to_string(channel));
    if (!channels.empty()) grant_.env["NVIDIA_IMEX_CHANNELS"] = join(channels, ",");
  }

  void add_volume_mounts() {
    const std::string root = kVolumeMountRoot;
    grant_.env[kVisibleDevices] = root;
    for (const std::string& name : names_) {
      grant_.mounts.push_back({root + "/" + name, "/dev/null", false});
    }
    for (const unsigned channel : facts_.imex_channels) {
      grant_.mounts.push_back({root + "/imex/" + std::to_string(channel), "/dev/null", false});
    }
  }

  void add_nodes() {
    for (const std::string& path : facts_.control_nodes) add_node(path);
    for (const OfferedDevice* device : devices_) {
      if (device->minor) add_node("/dev/nvidia" + std::to_string(*device->minor));
      for (const unsigned cap : device->caps) {
        add_node("/dev/nvidia-caps/nvidia-cap" + std::to_string(cap));
      }
    }
    for (const unsigned channel : facts_.imex_channels) {
      add_node("/dev/nvidia-caps-imex-channels/channel" + std::to_string(channel));
    }
  }

  // Two slices of one GPU share its node: it is passed once.
  void add_node(const std::string& path) {
    const bool is_there = std::ranges::any_of(
        grant_.nodes, [&](const GrantedNode& node) { return node.container_path == path; });
    if (!is_there) grant_.nodes.push_back({path, below(options_.dev_root, path), "rw"});
  }

  const Offer& offer_;
  const GrantOptions& options_;
  const NodeFacts& facts_;
  const std::vector<const OfferedDevice*> devices_;
  std::vector<std::string> names_;  // of the devices, by the id strategy
  std::vector<std::string> cdi_names_;
  ContainerGrant grant_;
};

}  // namespace

Result<ContainerGrant> grant(const Offer& offer, const GrantOptions& options,
                             const NodeFacts& facts, const std::vector<std::string_view>& ids) {
  Result<std::vector<const OfferedDevice*>> devices = devices_of(offer, ids);
  if (!devices) return devices.error();
  return Granting(offer, options, facts, *std::move(devices)).make();
}

}  // namespace tranche
