// SPDX-License-Identifier: Apache-2.0
#include "testbed/world/describe.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "os/files.h"

namespace tranche::testbed::sim {
namespace {

// Notes every key that describe() names, also those of what lies within.
class Keys {
 public:
  template <typename T>
  void field(std::string_view key, T& value, const T&) {
    always(key, value);
  }
  template <typename T>
  void always(std::string_view key, T& value) {
    names.emplace(key);
    if constexpr (requires { describe(*this, value, value); }) describe(*this, value, value);
  }
  template <typename T>
  void always(std::string_view key, std::vector<T>&) {
    names.emplace(key);
    T item{};
    if constexpr (requires { describe(*this, item, item); }) describe(*this, item, item);
  }
  void code(std::string_view key, int&, int) { names.emplace(key); }

  std::set<std::string> names;
};

TEST(WorldKeys, AreAllInTheManual) {
  Keys keys;
  Driver driver;
  Gpu gpu;
  Extras extras;
  PairLevel level;
  CallFault fault;
  describe(keys, driver, driver);
  describe(keys, gpu, gpu);
  describe(keys, extras, extras);
  describe(keys, level, level);
  describe(keys, fault, fault);
  EXPECT_GT(keys.names.size(), 90U);
  const Result<std::string> manual = read_file(TRANCHE_SIM_MANUAL);
  ASSERT_TRUE(manual) << manual.error().message;
  // Keys of a MIG table's rows speak for themselves beside those of the GPU.
  for (const char* row : {"argument", "profiles", "instances", "copy_engines", "decoders",
                          "encoders", "jpegs", "ofas", "starts", "size", "units", "number"}) {
    keys.names.erase(row);
  }
  for (const std::string& key : keys.names) {
    EXPECT_NE(manual->find(key), std::string::npos) << key << " is not in testbed/README.md";
  }
}

}  // namespace
}  // namespace tranche::testbed::sim
