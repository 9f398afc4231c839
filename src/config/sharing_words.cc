// SPDX-License-Identifier: Apache-2.0
#include "config/sharing_words.h"

#include <array>

namespace tranche {
namespace {

// The words are sharing's own, which people also read in the log.
template <typename T, typename... Meanings>
auto words_for(Meanings... meanings) {
  return std::array{Word<T>{word(meanings), meanings}...};
}

}  // namespace

std::span<const Word<ShareForm>> share_words() {
  using enum ShareForm;
  static const auto words = words_for<ShareForm>(kWhole, kReplicas, kMemory);
  return words;
}

std::span<const Word<SharePlacement>> placement_words() {
  using enum SharePlacement;
  static const auto words = words_for<SharePlacement>(kSpread, kPack, kDistributed, kPacked);
  return words;
}

std::span<const Word<ShownSize>> offer_words() {
  static const auto words = words_for<ShownSize>(ShownSize::kSum, ShownSize::kLargestBlock);
  return words;
}

std::span<const Word<Dialect>> dialect_words() {
  using enum Dialect;
  static const auto words = words_for<Dialect>(kNvidia, kDeepomatic, kGcp, kGpushare, kNestedHost);
  return words;
}

std::span<const Word<Exposure>> exposure_words() {
  using enum Exposure;
  static const auto words = words_for<Exposure>(kEnvvar, kAll, kGranted);
  return words;
}

std::span<const Word<std::optional<Rung>>> enforcement_words() {
  using Demand = Word<std::optional<Rung>>;
  static const std::array words = {
      Demand{"auto", std::nullopt}, Demand{word(Rung::kNone), Rung::kNone},
      Demand{word(Rung::kMps), Rung::kMps}, Demand{word(Rung::kMpsExclusive), Rung::kMpsExclusive},
      Demand{word(Rung::kDriver), Rung::kDriver}};
  return words;
}

std::span<const Word<MpsDaemons>> mps_daemons_words() {
  static constexpr std::array kWords = {Word<MpsDaemons>{"per-gpu", MpsDaemons::kPerGpu},
                                        Word<MpsDaemons>{"per-node", MpsDaemons::kPerNode},
                                        Word<MpsDaemons>{"outside", MpsDaemons::kOutside},
                                        Word<MpsDaemons>{"nvidia", MpsDaemons::kNvidia}};
  return kWords;
}

}  // namespace tranche
