// SPDX-License-Identifier: Apache-2.0
//
// What NvmlSource reads again, and when: an unchanged uuid does not mean that nothing has changed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/health/node_state.h"
#include "node/driver/nvml/testing/source_on_a_world.h"

namespace tranche::node::nvml {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;

constexpr std::uint64_t kMib = 1ULL << 20;

class Reread : public NvmlSourceOnAWorld {
 protected:
  void cut(unsigned gpu, const char* layout) {
    const auto wanted = sim::parse_layout(layout);
    ASSERT_TRUE(wanted);
    apply(sim::set_mig(gpu, *wanted));
  }
  void reopen() {
    const Status opened = source_->open();
    ASSERT_TRUE(opened) << opened.error().message;
  }
  void fail(const char* call, unsigned gpu, std::optional<unsigned> times = std::nullopt,
            int code = abi::kUnknown) {
    apply(sim::fail_call({.call = call, .code = code, .times = times, .gpu = gpu}));
  }
};

std::vector<std::string> profiles(const GpuReading& reading) {
  std::vector<std::string> names;
  if (!reading.gpu) return {"no GPU"};
  for (const MigDevice& mig : reading.gpu->mig) names.push_back(to_string(mig.profile));
  return names;
}

TEST_F(Reread, SeesAnotherProfileBehindTheSameUuid) {
  open("dgx-h100");
  cut(2, "3g.40gb,3g.40gb");
  const MigUuid uuid = read().gpus[2].gpu->mig.at(0).uuid;
  cut(2, "4g.40gb");
  const DriverReading reading = read();
  EXPECT_THAT(profiles(reading.gpus[2]), ElementsAre("4g.40gb"));
  EXPECT_EQ(reading.gpus[2].gpu->mig[0].uuid, uuid);
}

TEST_F(Reread, SeesThatADeviceGotMediaEnginesBehindTheSameUuid) {
  open("dgx-h100");
  cut(2, "1g.10gb");
  const MigUuid uuid = read().gpus[2].gpu->mig.at(0).uuid;
  cut(2, "1g.10gb+me");
  const DriverReading reading = read();
  EXPECT_THAT(profiles(reading.gpus[2]), ElementsAre("1g.10gb+me"));
  EXPECT_EQ(reading.gpus[2].gpu->mig[0].uuid, uuid);
}

// These two profiles differ in no attribute of a slice.
TEST_F(Reread, ReadsSlicesAgainAfterAMigEvent) {
  start(*sim::parse_world("gpus: [{model: rtx-pro-6000}]", "world"));
  ASSERT_TRUE(source_->open());
  cut(0, "1g.24gb");
  EXPECT_THAT(profiles(read().gpus[0]), ElementsAre("1g.24gb"));
  cut(0, "1g.24gb+gfx");
  const auto changed = event();
  ASSERT_TRUE(changed);
  EXPECT_EQ(changed->kind, DriverEvent::Kind::kMigChanged);
  EXPECT_THAT(profiles(read().gpus[0]), ElementsAre("1g.24gb+gfx"));
}

TEST_F(Reread, ReadsSlicesAgainInANewSession) {
  start(*sim::parse_world("gpus: [{model: rtx-pro-6000}]", "world"));
  ASSERT_TRUE(source_->open());
  cut(0, "1g.24gb");
  EXPECT_THAT(profiles(read().gpus[0]), ElementsAre("1g.24gb"));
  cut(0, "1g.24gb+gfx");
  reopen();
  EXPECT_THAT(profiles(read().gpus[0]), ElementsAre("1g.24gb+gfx"));
}

TEST_F(Reread, ReadsSlicesAgainWhereEventsMayHaveBeenMissed) {
  start(*sim::parse_world("gpus: [{model: rtx-pro-6000}]", "world"));
  ASSERT_TRUE(source_->open());
  cut(0, "1g.24gb");
  EXPECT_THAT(profiles(read().gpus[0]), ElementsAre("1g.24gb"));
  cut(0, "1g.24gb+gfx");
  apply(sim::fail_call({.call = "nvmlEventSetWait_v2", .code = abi::kGpuIsLost, .times = 1}));
  EXPECT_FALSE(source_->wait(std::chrono::milliseconds(10)));
  EXPECT_THAT(profiles(read().gpus[0]), ElementsAre("1g.24gb+gfx"));
}

TEST_F(Reread, ReadsTheMemorySizeAgainInANewSession) {
  open("t4-quad");
  EXPECT_EQ(read().gpus[1].gpu->memory_bytes, 15360 * kMib);
  apply(sim::set_memory_size(1, 16384));
  reopen();
  EXPECT_EQ(read().gpus[1].gpu->memory_bytes, 16384 * kMib);
}

TEST_F(Reread, NamesSlicesByTheNewMemorySize) {
  open("dgx-h100");
  cut(0, "3g.40gb");
  EXPECT_THAT(profiles(read().gpus[0]), ElementsAre("3g.40gb"));
  const std::uint64_t half = node_->world()->gpus[0].model.memory_mib / 2;
  apply(sim::set_memory_size(0, half));
  cut(0, "3g.20gb");
  reopen();
  EXPECT_THAT(profiles(read().gpus[0]), ElementsAre("3g.20gb"));
}

TEST_F(Reread, KeepsTheLastSizeWhereTheCallFailsInPassing) {
  open("t4-quad");
  read();
  apply(sim::set_memory_size(1, 16384));
  fail("nvmlDeviceGetMemoryInfo", 1, 1);
  reopen();
  const DriverReading reading = read();
  EXPECT_THAT(failures(reading), IsEmpty());
  EXPECT_EQ(reading.gpus[1].gpu->memory_bytes, 15360 * kMib);
  EXPECT_EQ(read().gpus[1].gpu->memory_bytes, 16384 * kMib) << "it is asked again";
}

TEST_F(Reread, KeepsTheLastSizeOfAGpuThatHasAnotherIndexNow) {
  open("t4-quad");
  read();
  apply(sim::unplug(0));
  fail("nvmlDeviceGetMemoryInfo", 0);
  reopen();
  EXPECT_EQ(read().gpus[0].gpu->memory_bytes, 15360 * kMib);
}

TEST_F(Reread, TakesNotSupportedForAGpuWithoutMemoryOfItsOwn) {
  open("t4-quad");
  read();
  fail("nvmlDeviceGetMemoryInfo", 1, std::nullopt, abi::kNotSupported);
  reopen();
  const DriverReading reading = read();
  EXPECT_THAT(failures(reading), IsEmpty());
  EXPECT_EQ(reading.gpus[1].gpu->memory_bytes, 0U);
}

TEST_F(Reread, AsksAgainForAComputeCapabilityThatItDidNotGet) {
  start("t4-quad");
  fail("nvmlDeviceGetCudaComputeCapability", 1, 1);
  reopen();
  EXPECT_EQ(read().gpus[1].gpu->compute_major, 0U);
  EXPECT_EQ(read().gpus[1].gpu->compute_major, 7U);
}

TEST_F(Reread, LearnsMinorsAndCapabilitiesOfSlicesInANewSession) {
  open("dgx-h100");
  cut(2, "3g.40gb");
  const MigDevice before = read().gpus[2].gpu->mig.at(0);
  apply(sim::all_of({sim::edit_gpu(2U, [](sim::Gpu& gpu) { gpu.minor = 3; }),
                     sim::edit_gpu(3U, [](sim::Gpu& gpu) { gpu.minor = 2; })}));
  reopen();
  const Gpu after = *read().gpus[2].gpu;
  EXPECT_EQ(after.minor, 3U);
  EXPECT_EQ(after.mig.at(0).gpu_instance_cap, *before.gpu_instance_cap + 135);
  EXPECT_EQ(after.mig.at(0).compute_instance_cap, *before.compute_instance_cap + 135);
}

class UnknownSize : public Reread {};

TEST_F(UnknownSize, NamesNoSlice) {
  start("dgx-a100-mig-mixed");
  fail("nvmlDeviceGetMemoryInfo", 7);
  reopen();
  const DriverReading reading = read();
  ASSERT_THAT(failures(reading), SizeIs(1));
  EXPECT_THAT(reading.gpus[7].failure->what, HasSubstr("memory size is unknown"));
  EXPECT_THAT(reading.gpus[7].failure->what, HasSubstr("nvmlDeviceGetMemoryInfo: "));
  ASSERT_TRUE(reading.gpus[7].gpu) << "it said who it is";
  EXPECT_TRUE(reading.gpus[7].gpu->mig_enabled);
  EXPECT_THAT(profiles(reading.gpus[7]), IsEmpty());

  const NodeState state = with_reading({}, reading, {});
  EXPECT_FALSE(state.has_unidentified_gpu);
  ASSERT_THAT(present(state).gpus, SizeIs(8));
  EXPECT_FALSE(present(state).gpus[7].health.ok());

  apply(sim::clear_faults());
  const DriverReading next = read();
  EXPECT_THAT(failures(next), IsEmpty());
  EXPECT_THAT(profiles(next.gpus[7]),
              UnorderedElementsAre("1c.3g.20gb", "2c.3g.20gb", "2g.10gb", "1g.5gb+me"));
}

TEST_F(UnknownSize, KeepsTheSlicesThatAreKnown) {
  open("dgx-a100-mig-mixed");
  const DriverReading before = read();
  fail("nvmlDeviceGetMemoryInfo", 7);
  EXPECT_THAT(failures(read()), IsEmpty()) << "the size is known in this session";
  reopen();
  const DriverReading reading = read();
  ASSERT_THAT(failures(reading), SizeIs(1));
  EXPECT_EQ(reading.gpus[7].gpu, before.gpus[7].gpu);
  apply(sim::clear_faults());
  EXPECT_EQ(read().gpus[7].gpu, before.gpus[7].gpu);
}

TEST_F(UnknownSize, DoesNotMindACallThatFailsOnce) {
  start("dgx-a100-mig-mixed");
  fail("nvmlDeviceGetMemoryInfo", 7, 1);
  reopen();
  const DriverReading reading = read();
  EXPECT_THAT(failures(reading), IsEmpty());
  EXPECT_THAT(profiles(reading.gpus[7]), SizeIs(4));
}

TEST_F(UnknownSize, IsASizeThatCannotBe) {
  for (const std::uint64_t mib : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1} << 40}) {
    start("dgx-a100-mig-mixed");
    apply(sim::edit_gpu(7U, [&](sim::Gpu& gpu) {
      gpu.model.reserved_mib = 0;
      gpu.model.memory_mib = mib;
    }));
    reopen();
    const DriverReading reading = read();
    EXPECT_THAT(failures(reading), SizeIs(1)) << mib;
    EXPECT_THAT(profiles(reading.gpus[7]), IsEmpty()) << mib;
    source_->close();
  }
}

TEST_F(UnknownSize, OfAWholeGpuKeepsTheLastOne) {
  open("t4-quad");
  read();
  apply(
      sim::edit_gpu(1U, [](sim::Gpu& gpu) { gpu.model.memory_mib = gpu.model.reserved_mib = 0; }));
  reopen();
  const DriverReading reading = read();
  EXPECT_THAT(failures(reading), IsEmpty());
  EXPECT_EQ(reading.gpus[1].gpu->memory_bytes, 15360 * kMib);
}

TEST_F(Reread, NamesNoSliceByHalfAnAnswer) {
  start("dgx-a100-mig-mixed");
  // Only this call shows which slice has the media engines.
  apply(sim::fail_call({.call = "nvmlGpuInstanceGetInfo", .code = abi::kUnknown}));
  reopen();
  const DriverReading reading = read();
  EXPECT_THAT(reading.gpus[7].failure->what, HasSubstr("nvmlGpuInstanceGetInfo: "));
  EXPECT_THAT(profiles(reading.gpus[7]), IsEmpty());
  apply(sim::clear_faults());
  EXPECT_THAT(profiles(read().gpus[7]),
              UnorderedElementsAre("1c.3g.20gb", "2c.3g.20gb", "2g.10gb", "1g.5gb+me"));
}

}  // namespace
}  // namespace tranche::node::nvml
