// SPDX-License-Identifier: Apache-2.0
#include "formats/ld_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "formats/testing/ld_cache_bytes.h"
#include "os/files.h"

namespace tranche::formats {
namespace {

using os::read_file;

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::IsEmpty;

const std::vector<LdCacheEntry> kEntries = {{.path = "/opt/nv/libcuda.so.1"},
                                            {.path = "/opt/nv/libnvidia-ml.so.1"}};

TEST(LdCache, ListsLibrariesInItsOrder) {
  EXPECT_THAT(ld_cache_libraries(ld_cache_bytes(kEntries)),
              ElementsAre("/opt/nv/libcuda.so.1", "/opt/nv/libnvidia-ml.so.1"));
}

TEST(LdCache, TheOldFormatInFrontIsSkipped) {
  EXPECT_THAT(ld_cache_libraries(old_ld_cache_bytes(kEntries)),
              ElementsAre("/opt/nv/libcuda.so.1", "/opt/nv/libnvidia-ml.so.1"));
}

TEST(LdCache, LeavesOutThirtyTwoBitAndRepeatedEntries) {
  EXPECT_THAT(ld_cache_libraries(ld_cache_bytes({{.flags = 0x0003, .path = "/lib32/libcuda.so.1"},
                                                 {.path = "/lib64/libcuda.so.1"},
                                                 {.path = "/lib64/libcuda.so.1"},
                                                 {.path = "relative.so"}})),
              ElementsAre("/lib64/libcuda.so.1"));
}

TEST(LdCache, OtherBytesListNothing) {
  EXPECT_THAT(ld_cache_libraries(""), IsEmpty());
  EXPECT_THAT(ld_cache_libraries("ld.so-1.7.0"), IsEmpty());
  EXPECT_THAT(ld_cache_libraries(std::string(100, 'x')), IsEmpty());
}

TEST(LdCache, ACutCacheListsNothingThatIsNotInTheWhole) {
  const std::string whole = old_ld_cache_bytes(kEntries);
  const std::vector<std::string> all = ld_cache_libraries(whole);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    for (const std::string& path : ld_cache_libraries(std::string_view(whole).substr(0, size))) {
      EXPECT_THAT(all, Contains(path)) << size;
    }
  }
}

TEST(LdCache, ReadsThisMachinesOwn) {
  const Result<std::string> bytes = read_file("/etc/ld.so.cache");
  if (!bytes) GTEST_SKIP() << "no /etc/ld.so.cache here";
  EXPECT_THAT(ld_cache_libraries(*bytes), Contains(EndsWith("/libc.so.6")));
}

}  // namespace
}  // namespace tranche::formats
