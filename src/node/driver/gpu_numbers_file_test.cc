// SPDX-License-Identifier: Apache-2.0
#include "node/driver/gpu_numbers_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "os/files.h"
#include "os/testing/temp_dir.h"

namespace tranche::node {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

const GpuNumbers kOne{{3, {{0, 0x10, 0, 0}, GpuUuid("GPU-a"), "NVIDIA H200"}}};

class NumbersFile : public testing::Test {
 protected:
  void write(const std::string& text) { std::ofstream(path_) << text; }

  TempDir dir_;
  const std::string path_ = gpu_numbers_path(dir_.path());
  std::string logged_;
  Log log_{[this](std::string_view line) { logged_ += line; }};
};

TEST_F(NumbersFile, KeepsNumbersForTheNextRun) {
  GpuNumbersFile first(path_, log_);
  EXPECT_FALSE(first.recall());
  first.remember(kOne);
  EXPECT_EQ(GpuNumbersFile(path_, log_).recall(), kOne);
  EXPECT_THAT(logged_, IsEmpty()) << "a missing file is normal";
}

TEST_F(NumbersFile, WritesOnlyWhatHasChanged) {
  GpuNumbersFile file(path_, log_);
  file.remember(kOne);
  std::filesystem::remove(path_);
  file.remember(kOne);
  EXPECT_FALSE(path_exists(path_));
  file.remember({});
  EXPECT_TRUE(path_exists(path_));
}

TEST_F(NumbersFile, SetsAsideAFileThatItCannotRead) {
  write("{\"version\": 1, \"numb");
  GpuNumbersFile file(path_, log_);
  EXPECT_FALSE(file.recall());
  EXPECT_THAT(logged_, HasSubstr("error"));
  EXPECT_THAT(logged_, HasSubstr("cannot read the gpu numbers of earlier runs"));
  EXPECT_EQ(*read_file(path_ + ".unreadable"), "{\"version\": 1, \"numb");
  file.remember(kOne);
  EXPECT_EQ(*read_gpu_numbers(path_), kOne);
  EXPECT_TRUE(path_exists(path_ + ".unreadable"));
}

TEST_F(NumbersFile, KeepsAFileThatItSetAsideEarlier) {
  write("the first, perhaps worth repairing");
  EXPECT_FALSE(GpuNumbersFile(path_, log_).recall());
  write("the second");
  EXPECT_FALSE(GpuNumbersFile(path_, log_).recall());
  EXPECT_EQ(*read_file(path_ + ".unreadable"), "the first, perhaps worth repairing");
  EXPECT_EQ(*read_file(path_ + ".unreadable.2"), "the second");
  EXPECT_THAT(logged_, HasSubstr(".unreadable.2"));
}

TEST_F(NumbersFile, LeavesAloneAFileThatItCanNeitherReadNorRename) {
  write("not ours");
  std::filesystem::create_directory(path_ + ".unreadable");
  for (char next = '2'; next <= '9'; ++next) {
    std::filesystem::create_directory(path_ + ".unreadable." + next);
  }
  GpuNumbersFile file(path_, log_);
  EXPECT_FALSE(file.recall());
  file.remember(kOne);
  EXPECT_EQ(*read_file(path_), "not ours");
  EXPECT_THAT(logged_, HasSubstr("gpu numbers are not kept over a restart"));
}

TEST_F(NumbersFile, SaysOnceThatItCannotBeWritten) {
  GpuNumbersFile file(dir_.path("no/such/folder/gpu-numbers.json"), log_);
  EXPECT_FALSE(file.recall());
  file.remember(kOne);
  EXPECT_THAT(logged_, HasSubstr("cannot write the gpu numbers"));
  logged_.clear();
  file.remember(kOne);
  EXPECT_THAT(logged_, IsEmpty());
}

}  // namespace
}  // namespace tranche::node
