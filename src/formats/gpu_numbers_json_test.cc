// SPDX-License-Identifier: Apache-2.0
#include "formats/gpu_numbers_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tranche::formats {
namespace {

using testing::HasSubstr;

const GpuNumbers kTwo{{0, {{0, 0x10, 0, 0}, GpuUuid("GPU-a"), "NVIDIA H200"}},
                      {7, {{0x1234, 0xff, 0x1f, 0}, GpuUuid(), ""}}};

TEST(GpuNumbersJson, SaysTheSameWhenItIsReadAgain) {
  const Result<GpuNumbers> read = parse_gpu_numbers(to_json(kTwo));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, kTwo);
  EXPECT_EQ(*parse_gpu_numbers(to_json(GpuNumbers{})), GpuNumbers{});
}

TEST(GpuNumbersJson, RefusesWhatItDidNotWrite) {
  const std::string head = R"({"version":1,"numbers":[)";
  for (const std::string& text :
       {std::string(), std::string("{"), std::string("[]"), std::string("null"), std::string("{}"),
        std::string(R"({"version":1})"), std::string(R"({"version":1,"numbers":7})"),
        std::string(R"({"version":2,"numbers":[]})"),
        std::string(R"({"version":4294967297,"numbers":[]})"), head + "{}]}",
        head + R"({"number":-1,"pci":"0000:10:00.0","uuid":"","model":""}]})",
        head + R"({"number":1.5,"pci":"0000:10:00.0","uuid":"","model":""}]})",
        head + R"({"number":1,"pci":"nowhere","uuid":"","model":""}]})",
        head + R"({"number":1,"pci":"0000:10:00.0","uuid":3,"model":""}]})"}) {
    EXPECT_FALSE(parse_gpu_numbers(text)) << text;
  }
}

TEST(GpuNumbersJson, RefusesTheSameNumberAddressOrUuidTwice) {
  const auto two = [](const std::string& first, const std::string& second) {
    return parse_gpu_numbers(R"({"version":1,"numbers":[{)" + first + R"(,"model":""},{)" + second +
                             R"(,"model":""}]})");
  };
  const std::string one = R"("number":1,"pci":"0000:10:00.0","uuid":"GPU-a")";
  EXPECT_TRUE(two(one, R"("number":2,"pci":"0000:11:00.0","uuid":"GPU-b")"));
  EXPECT_THAT(two(one, R"("number":1,"pci":"0000:11:00.0","uuid":"GPU-b")").error().message,
              HasSubstr("number 1 is there twice"));
  EXPECT_THAT(two(one, R"("number":2,"pci":"10:00.0","uuid":"GPU-b")").error().message,
              HasSubstr("PCI address 0000:10:00.0 is there twice"));
  EXPECT_THAT(two(one, R"("number":2,"pci":"0000:11:00.0","uuid":"GPU-a")").error().message,
              HasSubstr("uuid GPU-a is there twice"));
}

TEST(GpuNumbersJson, SurvivesTextThatIsNoUtf8) {
  GpuNumbers numbers = kTwo;
  numbers.at(0).model = "bad \xff byte";
  EXPECT_TRUE(parse_gpu_numbers(to_json(numbers)));
}

}  // namespace
}  // namespace tranche::formats
