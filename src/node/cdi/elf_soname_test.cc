// SPDX-License-Identifier: Apache-2.0
#include "node/cdi/elf_soname.h"

#include <gtest/gtest.h>

#include <fstream>

#include "node/cdi/testing/fake_root.h"

namespace tranche::node {
namespace {

std::optional<std::string> soname_of(const std::string& bytes) {
  const ReadAt read_at = [&](std::uint64_t offset, std::size_t size) {
    return offset > bytes.size() ? std::string() : bytes.substr(offset, size);
  };
  return elf_soname(read_at, "file.so");
}

TEST(ElfSoname, IsTheNameTheLibraryGivesItself) {
  EXPECT_EQ(soname_of(elf_with_soname("libcuda.so.1")), "libcuda.so.1");
}

TEST(ElfSoname, ALibraryWithoutANameGoesByItsFileName) {
  EXPECT_EQ(soname_of(elf_with_soname("")), "file.so");
}

TEST(ElfSoname, OtherFilesHaveNone) {
  EXPECT_EQ(soname_of(""), std::nullopt);
  EXPECT_EQ(soname_of("#!/bin/sh\n"), std::nullopt);
  EXPECT_EQ(elf_soname("/nowhere"), std::nullopt);
  EXPECT_EQ(elf_soname("/tmp"), std::nullopt);
}

TEST(ElfSoname, ANameThatIsAPathIsNone) {
  EXPECT_EQ(soname_of(elf_with_soname("../../etc/passwd")), std::nullopt);
}

TEST(ElfSoname, ACutFileGivesTheNameOrNothing) {
  const std::string whole = elf_with_soname("libcuda.so.1");
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const auto name = soname_of(whole.substr(0, size));
    EXPECT_TRUE(!name || *name == "file.so") << size;
  }
}

TEST(ElfSoname, ReadsARealLibrary) {
  std::ifstream maps("/proc/self/maps");
  std::string word, path;
  while (maps >> word) {
    if (word.ends_with("/libc.so.6")) path = word;
  }
  ASSERT_FALSE(path.empty());
  EXPECT_EQ(elf_soname(path), "libc.so.6");
}

}  // namespace
}  // namespace tranche::node
