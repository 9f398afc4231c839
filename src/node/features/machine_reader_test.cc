// SPDX-License-Identifier: Apache-2.0
#include "node/features/machine_reader.h"

#include <gtest/gtest.h>

#include "os/files.h"
#include "os/testing/temp_dir.h"

namespace tranche::node {
namespace {

class MachineReaderTest : public ::testing::Test {
 protected:
  MachineReaderTest() {
    options_.labels = LabelOutput::kFile;
    options_.machine_type_file = "/product_name";
  }
  void give(const std::string& text) {
    ASSERT_TRUE(write_atomically(folder_.path() + "/product_name", text));
  }
  MachineFacts look() { return reader_.look(options_, folder_.path()); }

  TempDir folder_;
  FeatureOptions options_;
  MachineReader reader_{1700000000};
};

TEST_F(MachineReaderTest, ReadsTheTypeBelowTheHostsRoot) {
  give("DGX H100\n");
  EXPECT_EQ(look(), (MachineFacts{"DGX H100", 1700000000}));
}

TEST_F(MachineReaderTest, KeepsATypeThatItHasRead) {
  give("DGX H100\n");
  look();
  give("another\n");
  EXPECT_EQ(look().type, "DGX H100");
}

TEST_F(MachineReaderTest, LooksAgainForATypeThatWasMissing) {
  EXPECT_EQ(look().type, "");
  give("DGX H100\n");
  EXPECT_EQ(look().type, "DGX H100");
}

TEST_F(MachineReaderTest, IsNotHeldUpByAPipeOrALargeFile) {
  options_.machine_type_file = "/large";
  ASSERT_TRUE(write_atomically(folder_.path() + "/large", std::string(5000, 'x')));
  EXPECT_EQ(look().type, "");
  options_.machine_type_file = "/";
  EXPECT_EQ(look().type, "");
}

TEST_F(MachineReaderTest, GivesNoTimeWithoutATimestamp) {
  options_.no_timestamp = true;
  EXPECT_EQ(look().timestamp, 0);
}

TEST_F(MachineReaderTest, ReadsNothingWithoutLabels) {
  give("DGX H100\n");
  options_.labels = LabelOutput::kNone;
  EXPECT_EQ(look(), MachineFacts{});
}

}  // namespace
}  // namespace tranche::node
