// SPDX-License-Identifier: Apache-2.0
#include "core/report/extended_counts.h"

#include <gmock/gmock.h>

#include "core/gpu/testing/literals.h"
#include "core/sharing/offer.h"

namespace tranche::core {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

const std::vector<ExtendedResource> kThree{{"a.b/all", CountedGpus::kAll},
                                           {"a.b/healthy", CountedGpus::kHealthy},
                                           {"a.b/four", std::uint64_t{4}}};

TEST(ExtendedCounts, CountGpusOrAreFixed) {
  Inventory node = a_node(3);
  node.gpus[1].health.troubles = {"XID 79"};
  const ExtendedCounts counts = extended_counts(kThree, node, offer(node, {}));
  EXPECT_THAT(counts.counts,
              ElementsAre(Pair("a.b/all", 3U), Pair("a.b/four", 4U), Pair("a.b/healthy", 2U)));
  EXPECT_THAT(counts.notes, IsEmpty());
}

TEST(ExtendedCounts, AreUnknownWhileTheDriverWasNeverRead) {
  EXPECT_THAT(extended_counts(kThree, Inventory{}, Catalog{}).counts,
              ElementsAre(Pair("a.b/all", std::nullopt), Pair("a.b/four", 4U),
                          Pair("a.b/healthy", std::nullopt)));
}

// As after a restart that remembers the fault of one GPU.
TEST(ExtendedCounts, OfAllGpusAreUnknownWhileTheDriverCannotBeRead) {
  Inventory node = a_node(1);
  node.gpus[0].health.troubles = {"XID 79"};
  node.driver = DriverKind::kNone;
  EXPECT_THAT(
      extended_counts(kThree, node, offer(node, {})).counts,
      ElementsAre(Pair("a.b/all", std::nullopt), Pair("a.b/four", 4U), Pair("a.b/healthy", 0U)));
}

TEST(ExtendedCounts, LeaveOutWhatTheKubeletHasFromUs) {
  const Inventory node = a_node(1);
  const ExtendedCounts counts =
      extended_counts({{"nvidia.com/gpu", std::uint64_t{4}}}, node, offer(node, {}));
  EXPECT_THAT(counts.counts, IsEmpty());
  EXPECT_THAT(counts.notes, ElementsAre(HasSubstr("nvidia.com/gpu is left out")));
}

}  // namespace
}  // namespace tranche::core
