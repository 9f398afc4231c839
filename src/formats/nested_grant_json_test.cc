// SPDX-License-Identifier: Apache-2.0
#include "formats/nested_grant_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tranche::formats {
namespace {

using testing::HasSubstr;

NestedGrant a_grant() {
  return {.id = "3f",
          .resource = "nvidia.com/gpu",
          .generation = 7,
          .driver_version = "580.105.08",
          .devices = {{.uuid = "GPU-a",
                       .gpu = "GPU-a",
                       .index = "0",
                       .minor = 0,
                       .model = "NVIDIA H200",
                       .memory_bytes = 141ULL << 30},
                      {.uuid = "MIG-b",
                       .gpu = "GPU-b",
                       .index = "1:0",
                       .form = ShareForm::kMemory,
                       .shares = 3,
                       .shares_in_all = 10,
                       .granted_bytes = 3ULL << 30,
                       .health = {{"XID 79: the GPU fell off the bus"}}}}};
}

TEST(NestedGrantDocument, SaysAllThatIsGranted) {
  const auto read = parse_nested_grant(to_json(a_grant()));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, a_grant());
}

// Removed or renamed fields break older or newer guests.
TEST(NestedGrantDocument, HasTheseFieldsInVersionOne) {
  EXPECT_EQ(to_json(NestedGrant{.id = "3f",
                                .resource = "nvidia.com/gpu",
                                .driver_version = "580.105.08",
                                .devices = {{.uuid = "GPU-a",
                                             .gpu = "GPU-a",
                                             .index = "0",
                                             .minor = 4,
                                             .model = "NVIDIA H200",
                                             .memory_bytes = 100,
                                             .form = ShareForm::kReplicas,
                                             .shares = 2,
                                             .shares_in_all = 10,
                                             .granted_bytes = 20}}}),
            R"({
  "version": 1,
  "generation": 1,
  "id": "3f",
  "resource": "nvidia.com/gpu",
  "driverVersion": "580.105.08",
  "devices": [
    {
      "uuid": "GPU-a",
      "gpu": "GPU-a",
      "index": "0",
      "model": "NVIDIA H200",
      "memoryBytes": 100,
      "share": "replicas",
      "shares": 2,
      "sharesInAll": 10,
      "minor": 4,
      "grantedBytes": 20,
      "healthy": true,
      "reasons": []
    }
  ]
}
)");
}

TEST(NestedGrantDocument, MayHaveFieldsThatWeDoNotKnow) {
  const auto read = parse_nested_grant(
      R"({"version":1,"generation":2,"resource":"a/b","new":{},"devices":[{"uuid":"GPU-a","healthy":true,"new":1}]})");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->devices[0].gpu, "GPU-a");
  EXPECT_EQ(read->devices[0].form, ShareForm::kWhole);
}

TEST(NestedGrantDocument, OfAnotherVersionIsRefusedWithWhatToDo) {
  EXPECT_THAT(parse_nested_grant(R"({"version":2})").error().message,
              testing::AllOf(HasSubstr("version is 2"), HasSubstr("update this program")));
}

TEST(NestedGrantDocument, ThatIsNotOneIsRefused) {
  for (
      const char* text :
      {"", "[]", "{", "GPU-a,GPU-b", R"({"version":"1"})", R"({"version":1,"resource":"a"})",
       R"({"version":1,"generation":1,"resource":"a","devices":{}})",
       R"({"version":1,"generation":1,"resource":"a","devices":[{"healthy":true}]})",
       R"({"version":1,"generation":1,"resource":"a","devices":[{"uuid":"","healthy":true}]})",
       R"({"version":1,"generation":1,"resource":"a","devices":[{"uuid":"a"}]})",
       R"({"version":1,"generation":1,"resource":"a","devices":[{"uuid":"a","healthy":true,"share":"half"}]})"}) {
    EXPECT_FALSE(parse_nested_grant(text)) << text;
  }
}

TEST(NestedGrantDocument, WithANumberThatIsNoneIsRefusedAndNotRounded) {
  for (const char* version : {"88888888888888888888888888", "1.5", "-1", "1e30"}) {
    EXPECT_FALSE(parse_nested_grant(R"({"version":)" + std::string(version) + "}")) << version;
  }
  const auto with_minor = [](const std::string& minor) {
    return parse_nested_grant(
        R"({"version":1,"generation":1,"resource":"a","devices":[{"uuid":"a","healthy":true,"minor":)" +
        minor + "}]}");
  };
  EXPECT_TRUE(with_minor("4294967295"));
  EXPECT_EQ(with_minor("4294967297").error().message,
            "minor is 4294967297, and not a whole number from 0 to 4294967295");
  EXPECT_FALSE(with_minor("-1"));
  EXPECT_FALSE(with_minor("1e30"));
  EXPECT_FALSE(with_minor("true"));
}

TEST(NestedGrantDocument, NeverCallsADeviceHealthyThatGivesNoReason) {
  const auto read = parse_nested_grant(
      R"({"version":1,"generation":1,"resource":"a","devices":[{"uuid":"a","healthy":false}]})");
  EXPECT_FALSE(read->devices[0].health.ok());
}

TEST(GpuEnvLine, NamesWhatIsHealthy) {
  EXPECT_EQ(gpu_env_line(a_grant()), "GPU-a\n");
  NestedGrant grant = a_grant();
  grant.devices[1].health = {};
  EXPECT_EQ(gpu_env_line(grant), "GPU-a,MIG-b\n");
  EXPECT_EQ(gpu_env_line({}), "\n");
}

TEST(NestedGrantHealth, RaisesTheGenerationWhenItChanges) {
  NestedGrant grant = a_grant();
  const auto next = with_health(grant, {{{"lost"}}, {}});
  ASSERT_TRUE(next);
  EXPECT_EQ(next->generation, 8U);
  EXPECT_EQ(next->devices[0].health.reason(), "lost");
  EXPECT_TRUE(next->devices[1].health.ok());
  EXPECT_FALSE(with_health(*next, {{{"lost"}}, {}}));
}

TEST(GrantFolder, IsOneForEachResource) {
  EXPECT_EQ(grant_folder("nvidia.com/gpu"), "/gpu-grants/nvidia.com_gpu");
}

}  // namespace
}  // namespace tranche::formats
