// SPDX-License-Identifier: Apache-2.0
#include "programs/device_plugin/unit_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "core/gpu/testing/literals.h"
#include "core/sharing/offer.h"
#include "os/testing/temp_dir.h"

namespace tranche::programs {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::uint64_t kMiB = 1ULL << 20;

class UnitMemoryTest : public testing::Test {
 protected:
  static SharingPolicy by_memory() {
    ResourcePolicy row{.resource = ResourceName("a.b/memory")};
    row.terms.form = ShareForm::kMemory;
    return {.policies = {row}};
  }
  static Catalog offered_by(std::uint64_t gpu_bytes) {
    Inventory node = a_node(1);
    node.gpus[0].memory_bytes = gpu_bytes;
    return offer(node, by_memory());
  }

  TempDir dir_;
  std::string path_ = dir_.path("units.json");
  std::string said_;
  Log log_{[this](std::string_view line) { said_ += line; }};
};

TEST_F(UnitMemoryTest, OutlivesTheAgent) {
  UnitMemory memory(path_, log_);
  memory.keep(units_to_keep(by_memory(), offered_by(143771 * kMiB), memory.kept()));
  EXPECT_EQ(UnitMemory(path_, log_).kept(), (KeptUnits{{"a.b/memory", 64 * kMiB}}));
  EXPECT_EQ(said_, "");
}

TEST_F(UnitMemoryTest, SaysThatAUnitHasGrown) {
  UnitMemory memory(path_, log_);
  memory.keep(units_to_keep(by_memory(), offered_by(4096 * kMiB), memory.kept()));
  memory.keep(units_to_keep(by_memory(), offered_by(143771 * kMiB), memory.kept()));
  EXPECT_THAT(said_, HasSubstr("larger than before"));
  EXPECT_THAT(said_, HasSubstr("before=1MiB now=64MiB"));
}

TEST_F(UnitMemoryTest, SaysWhatItCannotReadAndGoesOn) {
  for (const char* text : {"{", "[1]", R"({"a.b/memory": -1})", R"({"a.b/memory": 1e30})"}) {
    said_.clear();
    std::ofstream(path_) << text;
    EXPECT_THAT(UnitMemory(path_, log_).kept(), IsEmpty()) << text;
    EXPECT_THAT(said_, HasSubstr("units.json")) << text;
  }
}

TEST_F(UnitMemoryTest, SaysThatItCannotBeWrittenAndGoesOn) {
  UnitMemory memory(dir_.path("nowhere/units.json"), log_);
  memory.keep(units_to_keep(by_memory(), offered_by(4096 * kMiB), memory.kept()));
  EXPECT_THAT(said_, HasSubstr("not kept over a restart"));
  EXPECT_EQ(memory.kept(), (KeptUnits{{"a.b/memory", kMiB}}));
}

}  // namespace
}  // namespace tranche::programs
