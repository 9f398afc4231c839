// SPDX-License-Identifier: Apache-2.0
#include "os/log.h"

#include <gtest/gtest.h>

#include <vector>

namespace tranche::os {
namespace {

TEST(Log, WritesAMessageAndItsValuesAsText) {
  EXPECT_EQ(format_log_line(LogFormat::kText, LogLevel::kWarning, "gpu is unhealthy",
                            {{"gpu", "GPU-1"}, {"reason", "GPU is lost"}}),
            R"(warning gpu is unhealthy gpu=GPU-1 reason="GPU is lost")");
}

TEST(Log, WritesTheSameAsJson) {
  EXPECT_EQ(format_log_line(LogFormat::kJson, LogLevel::kInfo, "registered",
                            {{"resource", "nvidia.com/gpu"}}),
            R"("level":"info","message":"registered","resource":"nvidia.com/gpu")");
}

TEST(Log, LetsNoValueForgeALine) {
  const std::string line =
      format_log_line(LogFormat::kText, LogLevel::kInfo, "id", {{"id", "a\nerror \"b\"\x01"}});
  EXPECT_EQ(line, R"(info    id id="a\nerror \"b\"\u0001")");
}

TEST(Log, WritesValidTextThatATerminalDoesNotObey) {
  const LogField command{"command",
                         "x\x7F\xC2\x9B"
                         "2J\xFF\xFE\u00E9"};
  EXPECT_EQ(format_log_line(LogFormat::kText, LogLevel::kInfo, "m", {command}),
            "info    m command=x\\u007f\\ufffd\\ufffd2J\\ufffd\\ufffd\u00E9");
  EXPECT_EQ(format_log_line(LogFormat::kJson, LogLevel::kInfo, "m", {command}),
            R"("level":"info","message":"m","command":"x\u007f\ufffd\ufffd2J\ufffd\ufffd)"
            "\u00E9\"");
}

TEST(Log, DropsWhatIsBelowTheLeastLevel) {
  std::vector<std::string> lines;
  Log log([&](std::string_view line) { lines.emplace_back(line); });
  log.debug("hidden");
  log.info("seen");
  log.configure(LogFormat::kJson, LogLevel::kDebug);
  log.debug("now seen");
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_TRUE(lines[0].ends_with(" info    seen\n")) << lines[0];
  EXPECT_TRUE(lines[1].starts_with(R"({"time":")")) << lines[1];
  EXPECT_TRUE(lines[1].ends_with("\"message\":\"now seen\"}\n")) << lines[1];
}

TEST(OnChange, SpeaksOnceForEachNewText) {
  OnChange said;
  EXPECT_TRUE(said.changed("driver", "not loaded"));
  EXPECT_FALSE(said.changed("driver", "not loaded"));
  EXPECT_TRUE(said.changed("driver", "loaded"));
  EXPECT_TRUE(said.changed("driver", "not loaded"));
}

}  // namespace
}  // namespace tranche::os
