// SPDX-License-Identifier: Apache-2.0
#include "node/features/features_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "os/files.h"
#include "os/testing/temp_dir.h"

namespace tranche::node {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const NodeLabels kLabels{{"nvidia.com/gpu.count", "8"}, {"nvidia.com/gpu.product", "NVIDIA-H200"}};
constexpr const char* kText = "nvidia.com/gpu.count=8\nnvidia.com/gpu.product=NVIDIA-H200\n";

class FeaturesFileTest : public ::testing::Test {
 protected:
  FeaturesFileTest() {
    options_.labels = LabelOutput::kFile;
    options_.output_file = path("gfd");
  }
  std::string path(const std::string& name) const { return folder_.path() + "/" + name; }
  std::vector<std::string> names() const { return *list_directory(folder_.path()); }
  static ino_t inode(const std::string& file) {
    struct stat status{};
    EXPECT_EQ(::stat(file.c_str(), &status), 0);
    return status.st_ino;
  }

  TempDir folder_;
  std::vector<std::string> lines_;
  Log log_{[this](std::string_view line) { lines_.emplace_back(line); }};
  FeatureOptions options_;
  FeaturesFile file_{log_};
};

TEST_F(FeaturesFileTest, WritesALineForEachLabel) {
  file_.apply(options_, kLabels);
  EXPECT_EQ(*read_file(path("gfd")), kText);
  EXPECT_THAT(names(), ElementsAre("gfd"));
  EXPECT_THAT(lines_, SizeIs(1));
}

TEST_F(FeaturesFileTest, LeavesAFileThatHasTheLabels) {
  file_.apply(options_, kLabels);
  const ino_t before = inode(path("gfd"));
  file_.apply(options_, kLabels);
  EXPECT_EQ(inode(path("gfd")), before);
  EXPECT_THAT(lines_, SizeIs(1));
}

TEST_F(FeaturesFileTest, WritesAgainWhatSomebodyChangedOrRemoved) {
  file_.apply(options_, kLabels);
  ASSERT_TRUE(write_atomically(path("gfd"), "mine=1\n"));
  file_.apply(options_, kLabels);
  EXPECT_EQ(*read_file(path("gfd")), kText);
  std::filesystem::remove(path("gfd"));
  file_.apply(options_, kLabels);
  EXPECT_EQ(*read_file(path("gfd")), kText);
}

TEST_F(FeaturesFileTest, ReplacesALinkAndNotItsTarget) {
  ASSERT_TRUE(write_atomically(path("target"), kText));
  std::filesystem::create_symlink(path("target"), path("gfd"));
  file_.apply(options_, NodeLabels{});
  EXPECT_EQ(*read_plain_file(path("gfd"), 1000), "");
  EXPECT_EQ(*read_file(path("target")), kText);
}

TEST_F(FeaturesFileTest, KeepsTheFileWhileLabelsAreNotKnown) {
  file_.apply(options_, kLabels);
  file_.apply(options_, std::nullopt);
  EXPECT_EQ(*read_file(path("gfd")), kText);
}

TEST_F(FeaturesFileTest, MakesNoFolderAndSaysSoOnce) {
  options_.output_file = path("missing/gfd");
  file_.apply(options_, kLabels);
  file_.apply(options_, kLabels);
  EXPECT_THAT(names(), IsEmpty());
  ASSERT_THAT(lines_, SizeIs(1));
  EXPECT_THAT(lines_[0], HasSubstr("cannot write the features file"));
  EXPECT_THAT(lines_[0], HasSubstr("there is no"));
}

TEST_F(FeaturesFileTest, RefusesAFolderBehindALink) {
  std::filesystem::create_directory(path("real"));
  std::filesystem::create_symlink(path("real"), path("link"));
  options_.output_file = path("link/gfd");
  file_.apply(options_, kLabels);
  EXPECT_THAT(*list_directory(path("real")), IsEmpty());
  EXPECT_THAT(lines_, SizeIs(1));
}

TEST_F(FeaturesFileTest, RemovesTheFileAtTheEnd) {
  file_.apply(options_, kLabels);
  file_.remove();
  EXPECT_THAT(names(), IsEmpty());
  file_.remove();
}

TEST_F(FeaturesFileTest, LeavesTheFileOfAnotherAtTheEnd) {
  file_.apply(options_, kLabels);
  ASSERT_TRUE(write_atomically(path("gfd"), "theirs=1\n"));
  file_.remove();
  EXPECT_EQ(*read_file(path("gfd")), "theirs=1\n");
}

TEST_F(FeaturesFileTest, MovesTheFileWithTheOption) {
  file_.apply(options_, kLabels);
  options_.output_file = path("other");
  file_.apply(options_, kLabels);
  EXPECT_THAT(names(), ElementsAre("other"));
  options_.labels = LabelOutput::kApi;
  file_.apply(options_, kLabels);
  EXPECT_THAT(names(), IsEmpty());
}

TEST_F(FeaturesFileTest, WritesNothingUnlessAskedTo) {
  options_.labels = LabelOutput::kApi;
  file_.apply(options_, kLabels);
  EXPECT_THAT(names(), IsEmpty());
}

}  // namespace
}  // namespace tranche::node
