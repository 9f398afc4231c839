// SPDX-License-Identifier: Apache-2.0
#include "os/settings/go_duration.h"

#include <gtest/gtest.h>

namespace tranche::os {
namespace {

using namespace std::chrono_literals;

TEST(GoDuration, ReadsWhatGoReads) {
  EXPECT_EQ(parse_go_duration("5s"), 5s);
  EXPECT_EQ(parse_go_duration("0"), 0s);
  EXPECT_EQ(parse_go_duration("1m30s"), 90s);
  EXPECT_EQ(parse_go_duration("1.5h"), 90min);
  EXPECT_EQ(parse_go_duration(".5s"), 500ms);
  EXPECT_EQ(parse_go_duration("1.s"), 1s);
  EXPECT_EQ(parse_go_duration("300ms"), 300ms);
  EXPECT_EQ(parse_go_duration("7us"), 7us);
  EXPECT_EQ(parse_go_duration("7\u00B5s"), 7us);
  EXPECT_EQ(parse_go_duration("7\u03BCs"), 7us);
  EXPECT_EQ(parse_go_duration("9ns"), 9ns);
  EXPECT_EQ(parse_go_duration("+2s"), 2s);
  EXPECT_EQ(parse_go_duration("-2s"), -2s);
  EXPECT_EQ(parse_go_duration("1h2m3s4ms"), 1h + 2min + 3s + 4ms);
  EXPECT_EQ(parse_go_duration("0.0000000009s"), 0ns);
}

TEST(GoDuration, RefusesWhatGoRefuses) {
  for (const char* text : {"", "5", "s", ".s", "5 s", " 5s", "5S", "5x", "s5", "-", "+", "1e3s",
                           "9223372036854775808ns", "99999999999999999999s", "2562048h"}) {
    EXPECT_EQ(parse_go_duration(text), std::nullopt) << text;
  }
}

TEST(GoDuration, WritesWhatItReadsBack) {
  EXPECT_EQ(go_duration(5s), "5s");
  EXPECT_EQ(go_duration(1500ms), "1500ms");
  EXPECT_EQ(go_duration(90s), "90s");
  for (const auto duration : {100ms, 5000ms, 86400000ms}) {
    EXPECT_EQ(parse_go_duration(go_duration(duration)), duration);
  }
}

}  // namespace
}  // namespace tranche::os
