// SPDX-License-Identifier: Apache-2.0
//
// Linked as the program is: libstdc++ and libgcc inside, glibc outside.

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>

namespace {

int throws(const void* /*one*/, const void* /*other*/) { throw std::runtime_error("compared"); }

// The exception passes frames of glibc, a shared object.
std::string thrown_through_glibc() {
  std::array<int, 4> numbers{4, 3, 2, 1};
  try {
    std::qsort(numbers.data(), numbers.size(), sizeof(int), throws);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
}

TEST(OlderGlibc, ExceptionsAreCaughtAlsoThroughFramesOfSharedObjects) {
  EXPECT_EQ(thrown_through_glibc(), "compared");
}

TEST(OlderGlibc, ExceptionsAreCaughtInEveryThread) {
  std::string caught;
  std::thread([&] { caught = thrown_through_glibc(); }).join();
  EXPECT_EQ(caught, "compared");
}

TEST(OlderGlibc, UnwindTablesAreFoundForTheProgramAndForSharedObjects) {
  for (void* address : {reinterpret_cast<void*>(&throws), dlsym(RTLD_DEFAULT, "qsort")}) {
    dl_find_object found{};
    ASSERT_EQ(_dl_find_object(address, &found), 0);
    EXPECT_NE(found.dlfo_eh_frame, nullptr);
    EXPECT_LE(found.dlfo_map_start, address);
    EXPECT_GT(found.dlfo_map_end, address);
    EXPECT_EQ(found.dlfo_flags, 0U);
  }
}

TEST(OlderGlibc, AnAddressOutsideEveryObjectIsNotFound) {
  int on_the_stack = 0;
  dl_find_object found{};
  EXPECT_EQ(_dl_find_object(&on_the_stack, &found), -1);
}

TEST(OlderGlibc, RandomDevicesGiveDifferentNumbers) {
  std::set<unsigned> seen;
  for (int i = 0; i < 64; ++i) {
    seen.insert(std::random_device{"default"}());
  }
  EXPECT_GT(seen.size(), 60U);
}

TEST(OlderGlibc, LibrariesThatAreLoadedLaterKeepGlibcsOwn) {
  Dl_info owner{};
  void* function = dlsym(RTLD_DEFAULT, "_dl_find_object");
  if (function == nullptr) {
    GTEST_SKIP() << "this glibc has none";
  }
  ASSERT_NE(dladdr(function, &owner), 0);
  EXPECT_NE(std::string(owner.dli_fname).find(".so"), std::string::npos) << owner.dli_fname;
}

}  // namespace
