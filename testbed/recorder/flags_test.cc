// SPDX-License-Identifier: Apache-2.0
#include "testbed/recorder/flags.h"

#include <gtest/gtest.h>

namespace tranche::testbed::recorder {
namespace {

std::string flag_error(const std::vector<std::string>& arguments) {
  const auto flags = parse_flags(arguments);
  return flags ? "" : flags.error().message;
}

TEST(RecorderFlags, AreReadInBothForms) {
  const auto flags =
      parse_flags({"--kubelet-folder", "/k", "--plugin-folder=/p", "--transcript", "t"});
  ASSERT_TRUE(flags) << flags.error().message;
  EXPECT_EQ(flags->recorder.kubelet_folder, "/k");
  EXPECT_EQ(flags->recorder.plugin_folder, "/p");
  EXPECT_EQ(flags->transcript, "t");
  EXPECT_TRUE(parse_flags({"--help"})->help);
}

TEST(RecorderFlags, NameTheirMistakes) {
  EXPECT_EQ(flag_error({"--plugin-folder", "/p"}), "--transcript is missing; see --help");
  EXPECT_EQ(flag_error({"--transcript", "t"}), "--plugin-folder is missing; see --help");
  EXPECT_EQ(flag_error({"--kubelet-folder=", "--plugin-folder=/p", "--transcript=t"}),
            "--kubelet-folder is missing; see --help");
  EXPECT_EQ(flag_error({"--transcript"}), "--transcript: needs a value; write --transcript=FILE");
  EXPECT_EQ(flag_error({"--transkript=t"}),
            "--transkript: unknown flag; did you mean --transcript?");
}

}  // namespace
}  // namespace tranche::testbed::recorder
