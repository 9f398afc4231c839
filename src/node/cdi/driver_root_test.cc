// SPDX-License-Identifier: Apache-2.0
#include "node/cdi/driver_root.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "formats/testing/ld_cache_bytes.h"
#include "node/cdi/testing/fake_root.h"

namespace tranche::node {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(DriverRoot, FollowsRelativeAndAbsoluteLinksInsideTheRoot) {
  FakeRoot fake;
  fake.file("/usr/lib/x/libcuda.so.5.1");
  fake.link("/lib", "usr/lib");
  fake.link("/etc/alternatives/cuda", "/usr/lib/x/libcuda.so.5.1");
  fake.link("/usr/lib/libcuda.so.1", "/etc/alternatives/cuda");
  const DriverRoot root(fake.path());
  EXPECT_EQ(root.resolve("/lib/x/libcuda.so.5.1"), "/usr/lib/x/libcuda.so.5.1");
  EXPECT_EQ(root.resolve("/lib/libcuda.so.1"), "/usr/lib/x/libcuda.so.5.1");
  EXPECT_TRUE(root.status("/lib/libcuda.so.1"));
}

TEST(DriverRoot, NoLinkLeadsOutOfTheRoot) {
  FakeRoot fake;
  fake.file("/etc/hostname");
  fake.link("/up", "../../../../etc/hostname");
  fake.link("/only-on-the-host", "/proc/self");
  const DriverRoot root(fake.path());
  EXPECT_EQ(root.resolve("/up"), "/etc/hostname");
  EXPECT_EQ(root.resolve("/only-on-the-host"), std::nullopt);
}

TEST(DriverRoot, LinksInACircleLeadNowhere) {
  FakeRoot fake;
  fake.link("/a", "b");
  fake.link("/b", "a");
  const DriverRoot root(fake.path());
  EXPECT_EQ(root.resolve("/a"), std::nullopt);
  EXPECT_EQ(root.status("/a").has_value(), false);
}

TEST(DriverRoot, AMissingRootHasNothing) {
  DriverRoot root("/nowhere/at/all");
  EXPECT_EQ(root.resolve("/etc"), std::nullopt);
  EXPECT_THAT(root.matches("/etc", "*"), IsEmpty());
  EXPECT_THAT(root.libraries("*"), IsEmpty());
}

TEST(DriverRoot, MatchesAreSortedAndKeepTheFolderTheyWereAskedBy) {
  FakeRoot fake;
  fake.file("/usr/lib/firmware/gsp_b.bin");
  fake.file("/usr/lib/firmware/gsp_a.bin");
  fake.file("/usr/lib/firmware/other.bin");
  fake.link("/lib", "usr/lib");
  DriverRoot root(fake.path());
  EXPECT_THAT(root.matches("/lib/firmware", "gsp*.bin"),
              ElementsAre("/lib/firmware/gsp_a.bin", "/lib/firmware/gsp_b.bin"));
}

TEST(DriverRoot, FindsLibrariesOnceInTheOrderOfTheFolders) {
  FakeRoot fake;
  fake.file("/usr/lib64/libcuda.so.5.1");
  fake.file("/usr/lib/x86_64-linux-gnu/libcuda.so.5.1");
  fake.link("/lib64", "usr/lib64");
  fake.link("/lib", "usr/lib");
  fake.link("/usr/lib64/libcuda.so.1", "libcuda.so.5.1");
  DriverRoot root(fake.path());
  EXPECT_THAT(root.libraries("libcuda.so.*"),
              ElementsAre("/usr/lib64/libcuda.so.5.1", "/usr/lib/x86_64-linux-gnu/libcuda.so.5.1"));
}

TEST(DriverRoot, AsksTheLoadersCacheForLibrariesInOtherFolders) {
  FakeRoot fake;
  fake.file("/opt/nvidia/lib/libcuda.so.5.1");
  fake.link("/opt/nvidia/lib/libcuda.so.1", "libcuda.so.5.1");
  fake.file("/etc/ld.so.cache", ld_cache_bytes({{.path = "/opt/nvidia/lib/libcuda.so.1"},
                                                {.path = "/opt/nvidia/lib/gone.so.1"}}));
  DriverRoot root(fake.path());
  EXPECT_THAT(root.libraries("libcuda.so.1"), ElementsAre("/opt/nvidia/lib/libcuda.so.5.1"));
  EXPECT_THAT(root.libraries("libcuda.so.5.1"), ElementsAre("/opt/nvidia/lib/libcuda.so.5.1"));
  EXPECT_THAT(root.libraries("gone.so.1"), IsEmpty());
}

TEST(DriverRoot, DoesNotAskTheCacheForWhatTheUsualFoldersHave) {
  FakeRoot fake;
  fake.file("/usr/lib64/libcuda.so.5.1");
  fake.file("/opt/old/libcuda.so.4.1");
  fake.file("/etc/ld.so.cache", ld_cache_bytes({{.path = "/opt/old/libcuda.so.4.1"}}));
  DriverRoot root(fake.path());
  EXPECT_THAT(root.libraries("libcuda.so.*.*"), ElementsAre("/usr/lib64/libcuda.so.5.1"));
}

}  // namespace
}  // namespace tranche::node
