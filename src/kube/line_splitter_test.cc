// SPDX-License-Identifier: Apache-2.0
#include "kube/line_splitter.h"

#include <gmock/gmock.h>

namespace tranche::kube {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(LineSplitter, JoinsALineThatComesInPieces) {
  LineSplitter lines(100);
  EXPECT_THAT(*lines.take("on"), IsEmpty());
  EXPECT_THAT(*lines.take("e\ntwo\nthr"), ElementsAre("one", "two"));
  EXPECT_TRUE(lines.has_rest());
  EXPECT_THAT(*lines.take("ee\n"), ElementsAre("three"));
  EXPECT_FALSE(lines.has_rest());
}

TEST(LineSplitter, LeavesEmptyLinesOut) {
  LineSplitter lines(100);
  EXPECT_THAT(*lines.take("\n\na\n\n"), ElementsAre("a"));
}

TEST(LineSplitter, RefusesALineThatIsTooLongAlsoInPieces) {
  LineSplitter lines(3);
  EXPECT_THAT(*lines.take("abc\n"), ElementsAre("abc"));
  EXPECT_TRUE(lines.take("ab"));
  EXPECT_FALSE(lines.take("cd"));
}

}  // namespace
}  // namespace tranche::kube
