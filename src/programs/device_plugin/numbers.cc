// SPDX-License-Identifier: Apache-2.0
#include "programs/device_plugin/numbers.h"

#include <algorithm>

#include "base/text.h"

namespace tranche::programs {
namespace {

std::string list(const std::set<unsigned>& numbers) {
  std::vector<std::string> words;
  for (const unsigned number : numbers) words.push_back(std::to_string(number));
  return join(words, ", ");
}

std::set<unsigned> bound(const GpuNumbers& numbers) {
  std::set<unsigned> all;
  for (const auto& [number, slot] : numbers) all.insert(number);
  return all;
}

Error invalid(std::string message) { return {ErrorCode::kInvalidArgument, std::move(message)}; }

}  // namespace

std::set<unsigned> missing_numbers(const Inventory& inventory) {
  std::set<unsigned> missing = bound(inventory.numbers);
  for (const Gpu& gpu : inventory.gpus) {
    if (gpu.driver_index) missing.erase(gpu.index);
  }
  return missing;
}

Result<std::set<unsigned>> numbers_named(const std::vector<std::string>& words,
                                         const GpuNumbers& numbers,
                                         const std::set<unsigned>& missing) {
  const std::set<unsigned> all = bound(numbers);
  if (all.empty()) return invalid("no GPU number is bound");
  if (words.empty()) {
    return invalid("name the numbers to forget, or 'all'; known numbers: " + list(all));
  }
  std::set<unsigned> named;
  if (words == std::vector<std::string>{"all"}) named = all;
  for (const std::string& word : words) {
    if (word == "all" && named == all) break;
    const auto number = std::ranges::find_if(
        all, [&](unsigned candidate) { return std::to_string(candidate) == word; });
    if (number == all.end()) {
      return invalid("GPU number '" + word + "' is not bound; known numbers: " + list(all));
    }
    named.insert(*number);
  }
  if (!missing.empty() && !std::ranges::includes(missing, named)) {
    return invalid("GPU " + list(missing) +
                   " is missing, so the driver's indexes are shifted, and other GPUs would get its "
                   "number. Forget only " +
                   list(missing) + ", or repeat this when it is back");
  }
  return named;
}

Result<std::set<unsigned>> numbers_to_forget(const std::vector<std::string>& words,
                                             const Inventory& inventory, const std::string& node) {
  Result<std::set<unsigned>> numbers =
      numbers_named(words, inventory.numbers, missing_numbers(inventory));
  if (!numbers) return numbers.error().in("node " + node);
  return numbers;
}

std::string forget_answer(const std::set<unsigned>& numbers, const std::string& node) {
  return "node " + node + "\nforgotten: " + list(numbers) +
         "\nthe agent's next look binds the GPUs in these slots by the driver's index where that "
         "number is free; check the indexes in the configuration";
}

}  // namespace tranche::programs
