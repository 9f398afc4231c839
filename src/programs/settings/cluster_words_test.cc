// SPDX-License-Identifier: Apache-2.0
#include "programs/settings/cluster_words.h"

#include <gmock/gmock.h>

namespace tranche::programs {
namespace {

using testing::HasSubstr;

TEST(ExtendedResourceWord, IsANameAndACount) {
  EXPECT_EQ(*parse_extended_resource("aliyun.com/gpu-count=gpus"),
            (ExtendedResource{"aliyun.com/gpu-count", CountedGpus::kAll}));
  EXPECT_EQ(*parse_extended_resource("a.b/c=healthy-gpus"),
            (ExtendedResource{"a.b/c", CountedGpus::kHealthy}));
  EXPECT_EQ(*parse_extended_resource("nvidia.com/gpu=4"),
            (ExtendedResource{"nvidia.com/gpu", std::uint64_t{4}}));
}

TEST(ExtendedResourceWord, IsRefusedWithTheReason) {
  const std::pair<const char*, const char*> words[] = {
      {"gpu=4", "'gpu=4' is not DOMAIN/NAME=COUNT"},
      {"a.b/c", "is not DOMAIN/NAME=COUNT"},
      {"a.b/c=", "the count is a whole number"},
      {"a.b/c=-1", "the count is a whole number"},
      {"a.b/c=9223372036854775808", "the count is a whole number"},
      {"kubernetes.io/c=1", "is reserved"},
      {"A.b/c=1", "incorrect format"}};
  for (const auto& [word, reason] : words) {
    const auto parsed = parse_extended_resource(word);
    ASSERT_FALSE(parsed) << word;
    EXPECT_THAT(parsed.error().message, HasSubstr(reason));
  }
}

TEST(ConditionType, IsANameWithOrWithoutADomain) {
  for (const char* good :
       {"", "GpusHealthy", "example.com/GpusHealthy", "AcceleratedHardwareReady"}) {
    EXPECT_TRUE(is_condition_type(good)) << good;
  }
  for (const char* bad : {" ", "a b", "-a", "a/", "/a", "a/b/c"}) {
    EXPECT_FALSE(is_condition_type(bad)) << bad;
  }
  EXPECT_FALSE(is_condition_type(std::string(64, 'a')));
}

}  // namespace
}  // namespace tranche::programs
