// SPDX-License-Identifier: Apache-2.0
#include "apps/release.h"

#include <algorithm>

namespace tranche {

Result<std::vector<GpuUuid>> gpus_named(const std::vector<std::string>& words,
                                        const Inventory& inventory) {
  std::vector<GpuUuid> gpus;
  for (const std::string& word : words) {
    const auto pci = parse_pci_address(word);
    const auto named = std::ranges::find_if(inventory.gpus, [&](const Gpu& gpu) {
      return gpu.uuid.text == word || std::to_string(gpu.index) == word || (pci && gpu.pci == pci);
    });
    if (named == inventory.gpus.end()) {
      return Error{ErrorCode::kInvalidArgument,
                   "there is no GPU '" + word + "'; name it by uuid, index or PCI address"};
    }
    gpus.push_back(named->uuid);
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
