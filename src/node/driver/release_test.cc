// SPDX-License-Identifier: Apache-2.0
#include "core/health/release.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "core/gpu/testing/literals.h"
#include "formats/release_json.h"
#include "node/driver/release_file.h"
#include "os/testing/temp_dir.h"

namespace tranche::node {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

ReleaseMemory a_release() {
  ReleaseMemory release{.boot_id = "boot-1", .since = 1'760'000'000, .gpus = {GpuUuid("GPU-1")}};
  release.inventory.driver = DriverKind::kNvml;
  release.inventory.driver_version = "580.105.08";
  release.inventory.cuda_version = "13.0";
  release.inventory.limits_memory = true;
  release.inventory.gpus = {a_gpu(0), a_cut_gpu(1, {k1g10gb}), a_gpu(2)};
  release.inventory.gpus[2].driver_index = 1;
  return release;
}

std::vector<std::string> unhealthy(const NodeState& state) {
  std::vector<std::string> uuids;
  for (const Gpu& gpu : present(state).gpus) {
    if (!gpu.health.ok()) uuids.push_back(gpu.uuid.text);
  }
  return uuids;
}

TEST(ReleaseMemory, IsReadAsItWasWritten) {
  const auto read = parse_release_memory(to_json(a_release()));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, a_release());
  ReleaseMemory troubled = a_release();
  troubled.inventory.driver = DriverKind::kNone;
  troubled.inventory.driver_trouble = "Driver Not Loaded";
  EXPECT_EQ(*parse_release_memory(to_json(troubled)), troubled);
}

TEST(ReleaseMemory, SaysWhatIsWrongWithAFile) {
  const TempDir dir;
  std::ofstream(dir.path("released.json")) << "{";
  const auto read = read_release(release_path(dir.path()));
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(read.error().message, HasSubstr("released.json"));
  EXPECT_EQ(read_release(dir.path("none.json")).error().code, ErrorCode::kNotFound);
  EXPECT_TRUE(remove_release(dir.path("none.json")));
}

TEST(ReleaseMemory, AddsRequests) {
  ReleaseMemory release = with_request({}, {GpuUuid("GPU-1")});
  release = with_request(release, {GpuUuid("GPU-2")});
  EXPECT_THAT(release.gpus, ElementsAre(GpuUuid("GPU-1"), GpuUuid("GPU-2")));
  EXPECT_FALSE(release.all);
  EXPECT_TRUE(with_request(release, {}).all);
}

TEST(ReleaseMemory, IsOverAfterAReboot) {
  EXPECT_TRUE(is_over(a_release(), "boot-2"));
  EXPECT_FALSE(is_over(a_release(), "boot-1"));
  EXPECT_FALSE(is_over(a_release(), ""));  // unknown is not another one
}

TEST(KeptRelease, KeepsTheOtherGpusOffered) {
  const NodeState state = with_kept_release({}, a_release(), true);
  EXPECT_TRUE(state.driver_released);
  EXPECT_THAT(unhealthy(state), ElementsAre("GPU-1"));
  EXPECT_EQ(present(state).released_at, 1'760'000'000);
  ReleaseMemory all = a_release();
  all.all = true;
  EXPECT_THAT(unhealthy(with_kept_release({}, all, true)), ElementsAre("GPU-0", "GPU-1", "GPU-2"));
}

TEST(KeptRelease, HasTheFaultsThatWereRemembered) {
  NodeState recalled;
  recalled.inventory.gpus = {a_gpu(2), a_gpu(5)};
  recalled.faults = {{.gpu = GpuUuid("GPU-2"), .text = "XID 79"},
                     {.gpu = GpuUuid("GPU-5"), .text = "lost"}};
  EXPECT_THAT(unhealthy(with_kept_release(recalled, a_release(), true)),
              ElementsAre("GPU-1", "GPU-2", "GPU-5"));
}

}  // namespace
}  // namespace tranche::node
