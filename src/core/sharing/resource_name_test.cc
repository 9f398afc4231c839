// SPDX-License-Identifier: Apache-2.0
#include "core/sharing/resource_name.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tranche::core {
namespace {

using ::testing::HasSubstr;

TEST(ResourceName, GetsNvidiasDomainWhenItHasNone) {
  EXPECT_EQ(parse_resource_name("gpu")->text, "nvidia.com/gpu");
  EXPECT_EQ(parse_resource_name("mig-1g.5gb.shared")->text, "nvidia.com/mig-1g.5gb.shared");
  EXPECT_EQ(parse_resource_name("nvidia.com/gpu")->text, "nvidia.com/gpu");
}

TEST(ResourceName, KeepsAnotherDomain) {
  EXPECT_EQ(parse_resource_name("deepomatic.com/shared-gpu")->text, "deepomatic.com/shared-gpu");
  EXPECT_EQ(parse_resource_name("a/b")->text, "a/b");
}

TEST(ResourceName, HasAtMost63CharactersWithItsDomain) {
  const std::string longest(63 - std::string_view("nvidia.com/").size(), 'a');
  EXPECT_EQ(parse_resource_name(longest)->text.size(), 63U);
  const auto longer = parse_resource_name(longest + "a");
  ASSERT_FALSE(longer);
  EXPECT_THAT(longer.error().message, HasSubstr("must be 63 characters or less"));
}

TEST(ResourceName, RefusesWhatKubernetesWouldNotTake) {
  for (const char* text :
       {"", "/", "/gpu", "nvidia.com/", "$invalid$", "GPU", "gpu_a", "-gpu", "gpu-", "gpu..a",
        ".gpu", "gpu.", "nvidia.com/gpu/a", "nvi dia.com/gpu", "gpu ", "g\xC3\xA4pu", "a/b/c"}) {
    const auto name = parse_resource_name(text);
    ASSERT_FALSE(name) << text;
    EXPECT_THAT(name.error().message, HasSubstr("incorrect format for resource name")) << text;
  }
}

TEST(ResourceName, RefusesNamesThatBelongToKubernetes) {
  for (const char* text : {"kubernetes.io/gpu", "x.kubernetes.io/gpu", "requests.nvidia.com/gpu"}) {
    const auto name = parse_resource_name(text);
    ASSERT_FALSE(name) << text;
    EXPECT_THAT(name.error().message, HasSubstr("reserved")) << text;
  }
}

}  // namespace
}  // namespace tranche::core
