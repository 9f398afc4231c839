// SPDX-License-Identifier: Apache-2.0
#include "core/features/node_labels.h"

#include <gtest/gtest.h>

#include <string>

namespace tranche::core {
namespace {

TEST(LabelText, HasDashesForBlanksAndNothingThatALabelMustNotHave) {
  EXPECT_EQ(label_text("NVIDIA H100 80GB HBM3"), "NVIDIA-H100-80GB-HBM3");
  EXPECT_EQ(label_text("  Tesla   T4 "), "Tesla-T4");
  EXPECT_EQ(label_text("GeForce RTX 4090 (Laptop) / x™"), "GeForce-RTX-4090-Laptop-x");
  EXPECT_EQ(label_text(""), "");
}

TEST(LabelValue, IsAlwaysValid) {
  for (const char* name : {"", " ", "-", "---", "NVIDIA H200", ".a.", "a(", "\xff\xfe", "_x_"}) {
    for (const char* suffix : {"", "-SHARED", "-MIG-1g.10gb-SHARED"}) {
      EXPECT_TRUE(is_label_value(label_value(name, suffix))) << name << suffix;
    }
  }
}

TEST(LabelValue, CutsTheNameAndKeepsTheSuffix) {
  const std::string long_name(80, 'x');
  EXPECT_EQ(label_value(long_name, ""), std::string(63, 'x'));
  EXPECT_EQ(label_value(long_name, "-SHARED"), std::string(56, 'x') + "-SHARED");
  EXPECT_EQ(label_value("NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition",
                        "-MIG-1g.24gb.me.all-SHARED"),
            "NVIDIA-RTX-PRO-6000-Blackwell-Max-Q-W-MIG-1g.24gb.me.all-SHARED");
}

TEST(LabelValue, EndsWithALetterOrDigitWhereItIsCut) {
  const std::string name = std::string(55, 'x') + " tail";
  EXPECT_EQ(label_value(name, "-SHARED"), std::string(55, 'x') + "-SHARED");
}

TEST(LabelValue, IsEmptyWithoutAName) { EXPECT_EQ(label_value("()", "-SHARED"), ""); }

TEST(IsLabelValue, FollowsKubernetes) {
  for (const char* good : {"", "a", "1.2", "A_b-c.d"}) EXPECT_TRUE(is_label_value(good)) << good;
  for (const char* bad : {"-a", "a-", ".a", "a b", "a+b", "a\n", "é"}) {
    EXPECT_FALSE(is_label_value(bad)) << bad;
  }
  EXPECT_TRUE(is_label_value(std::string(63, 'a')));
  EXPECT_FALSE(is_label_value(std::string(64, 'a')));
}

}  // namespace
}  // namespace tranche::core
