// SPDX-License-Identifier: Apache-2.0
#include "config/sharing_words.h"

namespace tranche {
namespace {

constexpr Word<ShareForm> kShares[] = {{"whole", ShareForm::kWhole},
                                       {"replicas", ShareForm::kReplicas},
                                       {"memory", ShareForm::kMemory}};
constexpr Word<SharePlacement> kPlacements[] = {{"spread", SharePlacement::kSpread},
                                                {"pack", SharePlacement::kPack},
                                                {"distributed", SharePlacement::kDistributed},
                                                {"packed", SharePlacement::kPacked}};
constexpr Word<ShownSize> kOffers[] = {{"sum", ShownSize::kSum},
                                       {"largest-block", ShownSize::kLargestBlock}};
constexpr Word<Dialect> kDialects[] = {{"nvidia", Dialect::kNvidia},
                                       {"deepomatic", Dialect::kDeepomatic},
                                       {"gcp", Dialect::kGcp},
                                       {"gpushare", Dialect::kGpushare}};
constexpr Word<std::optional<Rung>> kEnforcements[] = {{"auto", std::nullopt},
                                                       {"none", Rung::kNone},
                                                       {"mps", Rung::kMps},
                                                       {"mps-exclusive", Rung::kMpsExclusive},
                                                       {"driver", Rung::kDriver}};
constexpr Word<MpsDaemons> kMpsDaemons[] = {{"per-gpu", MpsDaemons::kPerGpu},
                                            {"per-node", MpsDaemons::kPerNode},
                                            {"outside", MpsDaemons::kOutside},
                                            {"nvidia", MpsDaemons::kNvidia}};

}  // namespace

std::span<const Word<ShareForm>> share_words() { return kShares; }
std::span<const Word<SharePlacement>> placement_words() { return kPlacements; }
std::span<const Word<ShownSize>> offer_words() { return kOffers; }
std::span<const Word<Dialect>> dialect_words() { return kDialects; }
std::span<const Word<std::optional<Rung>>> enforcement_words() { return kEnforcements; }
std::span<const Word<MpsDaemons>> mps_daemons_words() { return kMpsDaemons; }

}  // namespace tranche
