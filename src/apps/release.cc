// SPDX-License-Identifier: Apache-2.0
#include "apps/release.h"

#include <algorithm>
#include <utility>

namespace tranche {
namespace {

Error invalid(std::string message) { return {ErrorCode::kInvalidArgument, std::move(message)}; }

std::string described(const Gpu& gpu) {
  return "GPU " + std::to_string(gpu.index) + " (driver's index " +
         (gpu.driver_index ? std::to_string(*gpu.driver_index) : "none") + ", " + gpu.uuid.text +
         ", PCI address " + (gpu.pci ? to_string(*gpu.pci) : "not known") + ")";
}

// nvidia-smi counts as the driver does: where that is another GPU than the one
// with this number, the wrong one could be reset.
Result<GpuUuid> gpu_named(const std::string& word, const Inventory& inventory) {
  const auto find = [&](auto matches) {
    const auto found = std::ranges::find_if(inventory.gpus, matches);
    return found == inventory.gpus.end() ? nullptr : &*found;
  };
  const auto pci = parse_pci_address(word);
  if (const Gpu* gpu = find([&](const Gpu& candidate) {
        return candidate.uuid.text == word || (pci && candidate.pci == pci);
      })) {
    return gpu->uuid;
  }
  const Gpu* numbered =
      find([&](const Gpu& candidate) { return std::to_string(candidate.index) == word; });
  const Gpu* counted = find([&](const Gpu& candidate) {
    return candidate.driver_index && std::to_string(*candidate.driver_index) == word;
  });
  if (counted != nullptr && counted != numbered) {
    return invalid("'" + word + "' can mean two GPUs: " +
                   (numbered != nullptr ? described(*numbered)
                                        : "the one with this number, which is not there,") +
                   " and, as the driver counts, " + described(*counted) +
                   "; name it by uuid or PCI address");
  }
  if (numbered != nullptr) return numbered->uuid;
  return invalid("there is no GPU '" + word + "'; name it by uuid, index or PCI address");
}

}  // namespace

Result<std::vector<GpuUuid>> gpus_named(const std::vector<std::string>& words,
                                        const Inventory& inventory) {
  std::vector<GpuUuid> gpus;
  for (const std::string& word : words) {
    Result<GpuUuid> gpu = gpu_named(word, inventory);
    if (!gpu) return gpu.error();
    gpus.push_back(*std::move(gpu));
  }
  return gpus;
}

std::string release_answer(const ReleaseCircumstances& circumstances) {
  std::string answer =
      "the driver will be let go of within a second; take it up again with 'resume'";
  if (circumstances.has_mps_daemons) {
    answer +=
        "\nMPS daemons of this agent stay on their GPUs, for their clients; to reset such a GPU, "
        "take MPS off it in the configuration first";
  }
  if (circumstances.all_gpus) return answer;
  return answer +
         (circumstances.follows_kernel_log
              ? "\nthe other GPUs stay offered; only the kernel's log tells of them meanwhile"
              : "\nthe kernel's log cannot be read, so no GPU is healthy until then");
}

}  // namespace tranche
