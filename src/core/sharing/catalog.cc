// SPDX-License-Identifier: Apache-2.0
#include "core/sharing/catalog.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>

#include "base/text.h"
#include "core/sharing/memory_unit.h"
#include "core/sharing/share_id.h"

namespace tranche::core {
namespace {

std::uint64_t varint_bytes(std::uint64_t value) {
  std::uint64_t bytes = 1;
  for (; value >= 0x80; value >>= 7) ++bytes;
  return bytes;
}

// A length-delimited protobuf field with a one-byte tag.
std::uint64_t field_bytes(std::uint64_t content) { return 1 + varint_bytes(content) + content; }

std::uint64_t topology_bytes(std::optional<unsigned> numa_node) {
  if (!numa_node) return 0;
  // Node 0 is the default of its field and is not written.
  const std::uint64_t node = *numa_node == 0 ? 0 : 1 + varint_bytes(*numa_node);
  return field_bytes(field_bytes(node));
}

std::uint64_t device_bytes(std::uint64_t id_length, std::optional<unsigned> numa_node) {
  constexpr std::uint64_t kUnhealthy = std::string_view("Unhealthy").size();
  return field_bytes(field_bytes(id_length) + field_bytes(kUnhealthy) + topology_bytes(numa_node));
}

// Replicas 0 to 9 have one digit, 10 to 99 two, and so on. The sum is computed per number
// of digits, so that its cost does not depend on the number of replicas.
std::uint64_t replica_list_bytes(const OfferedDevice& device, std::uint64_t replicas) {
  const std::uint64_t tag = device.tag.empty() ? 0 : device.tag.size() + 1;
  const std::uint64_t stem = device.uuid.size() + 2 + tag;
  std::uint64_t total = 0;
  std::uint64_t first = 0;
  for (std::uint64_t digits = 1, end = 10; first < replicas; ++digits, end *= 10) {
    const std::uint64_t last = std::min(end, replicas);
    total += (last - first) * device_bytes(stem + digits, device.numa_node);
    first = last;
  }
  return total;
}

std::uint64_t whole_id_length(const OfferedDevice& device) {
  return device.uuid.size() + (device.tag.empty() ? 0 : 2 + device.tag.size());
}

std::string index_text(unsigned gpu, std::optional<unsigned> mig) {
  return mig ? fmt::format("{}:{}", gpu, *mig) : std::to_string(gpu);
}

std::string mib(std::uint64_t bytes) {
  const std::uint64_t tenths = (bytes * 10 + (1 << 19)) >> 20;
  return fmt::format("{}.{} MiB", tenths / 10, tenths % 10);
}

}  // namespace

std::string OfferedDevice::index() const { return index_text(gpu_index, mig_index); }

std::string OfferedDevice::runtime_index() const {
  return index_text(driver_index.value_or(gpu_index), mig_index);
}

std::size_t Offer::shares() const {
  return std::accumulate(devices.begin(), devices.end(), std::size_t{0},
                         [](std::size_t sum, const OfferedDevice& d) { return sum + d.shares(); });
}

bool Offer::is_replicated() const {
  return std::ranges::any_of(devices,
                             [](const OfferedDevice& d) { return d.replicas.has_value(); });
}

LocatedShare Offer::locate(std::string_view share_id) const {
  const auto parsed = parse_share_id(share_id);
  if (!parsed) return {};
  // At most a few dozen devices, however many shares: a linear search is faster than a map.
  const auto device = std::ranges::find(devices, parsed->device, &OfferedDevice::uuid);
  if (device == devices.end() || device->tag != parsed->tag) return {};
  const std::optional<unsigned> replicas = device->replicas;
  if (!replicas && !parsed->replica) return {&*device, 0};
  if (!replicas || !parsed->replica || *parsed->replica >= *replicas) return {};
  return {&*device, *parsed->replica};
}

std::uint64_t list_bytes(const Offer& offer) {
  std::uint64_t total = 0;
  for (const OfferedDevice& device : offer.devices) {
    total += device.replicas ? replica_list_bytes(device, *device.replicas)
                             : device_bytes(whole_id_length(device), device.numa_node);
  }
  return total;
}

std::string oversized(const Offer& offer) {
  if (offer.terms.form == ShareForm::kMemory) {
    if (fits_in_units(offer)) return {};
    return fmt::format(
        "{}: units of {} make {} shares, which exceed the kubelet's message limit or what a pod "
        "status can name; smallest unit that fits: {} ('auto' uses it)",
        offer.name.text, unit_text(offer.terms.unit_bytes), offer.shares(),
        unit_text(smallest_unit(offer)));
  }
  const std::uint64_t bytes = list_bytes(offer);
  if (bytes <= kKubeletListLimit) return {};
  return fmt::format(
      "device list of {} would have {} shares and {}; the kubelet accepts at most {}, about {} "
      "shares: "
      "use fewer replicas",
      offer.name.text, offer.shares(), mib(bytes), mib(kKubeletListLimit),
      offer.shares() * kKubeletListLimit / bytes);
}

std::string oversized(const Catalog& catalog) {
  std::vector<std::string> complaints;
  for (const Offer& offer : catalog.offers) {
    if (std::string complaint = oversized(offer); !complaint.empty()) {
      complaints.push_back(std::move(complaint));
    }
  }
  return join(complaints, "; ");
}

}  // namespace tranche::core
