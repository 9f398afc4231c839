// SPDX-License-Identifier: Apache-2.0
#include "core/mps/client_limits.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/text.h"
#include "core/grant/mps_grant.h"
#include "core/mps/mps_plan.h"

namespace tranche::core {
namespace {

constexpr unsigned kVolta = 7;

std::pair<unsigned, unsigned> version_of(std::string_view text) {
  const std::vector<std::string> parts = split(text, '.');
  const unsigned major = parse_number<unsigned>(parts.at(0)).value_or(0);
  const unsigned minor = parts.size() > 1 ? parse_number<unsigned>(parts[1]).value_or(0) : 0;
  return {major, minor};
}

std::string clients_warning(const Offer& offer, const OfferedDevice& device, unsigned limit) {
  return fmt::format(
      "{}: {} is offered {} times, and MPS takes {} client processes a device with this driver; "
      "the next one fails with error 808",
      offer.name.text, device.uuid, device.shares(), limit);
}

// Omits the number of containers, so that the note does not change with each of them.
std::string holders_warning(const Offer& offer, const OfferedDevice& device, unsigned limit) {
  return fmt::format(
      "{}: as many containers hold memory of {} as MPS takes client processes with this driver, "
      "{}; the next process fails with error 808",
      offer.name.text, device.uuid, limit);
}

std::string small_share_warning(const Offer& offer, const OfferedDevice& device) {
  return fmt::format(
      "{}: a share of {} is {} MiB, and a CUDA context alone takes up to about 520 MiB of it; a "
      "process in one share may find no memory left",
      offer.name.text, device.uuid, device.share_bytes >> 20);
}

}  // namespace

unsigned mps_client_limit(std::string_view cuda_version, unsigned compute_major) {
  if (compute_major > 0 && compute_major < kVolta) return 16;
  return version_of(cuda_version) >= std::pair(13U, 1U) ? 60 : 48;
}

std::vector<std::string> mps_warnings(const Catalog& catalog, const Inventory& inventory,
                                      const Holders& holders) {
  std::vector<std::string> warnings;
  for (const Offer& offer : catalog.offers) {
    if (!uses_mps(offer.terms)) continue;
    for (const OfferedDevice& device : offer.devices) {
      const Gpu* gpu = find_gpu(inventory, device.gpu);
      const unsigned limit =
          mps_client_limit(inventory.cuda_version, gpu == nullptr ? 0 : gpu->compute_major);
      // A container with many units of memory is still one client.
      const auto held = holders.find(device.uuid);
      if (offer.terms.form == ShareForm::kMemory && held != holders.end() &&
          held->second >= limit) {
        warnings.push_back(holders_warning(offer, device, limit));
      }
      if (offer.terms.form == ShareForm::kReplicas && device.shares() > limit) {
        warnings.push_back(clients_warning(offer, device, limit));
      }
      if (offer.terms.form == ShareForm::kReplicas && device.share_bytes > 0 &&
          device.share_bytes < kSmallShareBytes) {
        warnings.push_back(small_share_warning(offer, device));
      }
    }
  }
  return warnings;
}

std::string nvidia_thread_percentage(unsigned shares) {
  // In thousandths, rounded down, so that all shares together do not add up to more than
  // the whole.
  const unsigned thousandths = std::max(1U, 100'000U / std::max(1U, shares));
  std::string text = std::to_string(thousandths / 1000);
  std::string rest = std::to_string(thousandths % 1000 + 1000).substr(1);
  while (!rest.empty() && rest.back() == '0') rest.pop_back();
  return rest.empty() ? text : fmt::format("{}.{}", text, rest);
}

}  // namespace tranche::core
