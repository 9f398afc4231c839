// SPDX-License-Identifier: Apache-2.0
#include "node/driver/device_node_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/path.h"
#include "node/driver/fallback_source.h"
#include "os/files.h"
#include "os/testing/temp_dir.h"

namespace tranche::node {
namespace {

using testing::SizeIs;

class DeviceNodes : public testing::Test {
 protected:
  void put(const std::string& path, const std::string& content) {
    const std::string whole = dir_.path() + path;
    ASSERT_TRUE(make_directories(parent_of(whole)));
    ASSERT_TRUE(write_atomically(whole, content));
  }

  TempDir dir_;
  DeviceNodeSource source_{KernelFiles(dir_.path())};
};

TEST_F(DeviceNodes, AreNoDriverWhereThereAreNone) {
  const Status opened = source_.open();
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, ErrorCode::kNotFound);
}

TEST_F(DeviceNodes, GiveAGpuItsNodesNameWhereNothingElseIsKnown) {
  put("/dev/nvidia0", "");
  put("/dev/nvidiactl", "");
  ASSERT_TRUE(source_.open());
  const Result<DriverReading> reading = source_.read({});
  ASSERT_TRUE(reading);
  ASSERT_THAT(reading->gpus, SizeIs(1));
  EXPECT_EQ(reading->kind, DriverKind::kDeviceNodes);
  EXPECT_EQ(reading->gpus[0].gpu, (Gpu{.uuid = GpuUuid("nvidia0"), .index = 0, .minor = 0}));
}

TEST_F(DeviceNodes, AreCompletedWithWhatTheKernelKnows) {
  put("/dev/nvidia2", "");
  put("/proc/driver/nvidia/gpus/0000:07:00.0/information",
      "Model: \t\t NVIDIA L4\nGPU UUID: \t GPU-x\nBus Location: \t 0000:07:00.0\n"
      "Device Minor: \t 2\n");
  put("/sys/bus/pci/devices/0000:07:00.0/numa_node", "1\n");
  put("/sys/module/nvidia/version", "550.90.07\n");
  ASSERT_TRUE(source_.open());
  const Result<DriverReading> reading = source_.read({});
  ASSERT_TRUE(reading);
  EXPECT_EQ(reading->driver_version, "550.90.07");
  EXPECT_EQ(reading->gpus.at(0).gpu, (Gpu{.uuid = GpuUuid("GPU-x"),
                                          .index = 2,
                                          .minor = 2,
                                          .pci = PciAddress{0, 7, 0, 0},
                                          .model = "NVIDIA L4",
                                          .numa_node = 1}));
}

// A library that is missing until it is installed.
class LateLibrary final : public GpuSource {
 public:
  Status open() override {
    if (!problem_) return Done{};
    return *problem_;
  }
  void close() override {}
  Result<DriverReading> read(const ReadRequest&) override {
    return DriverReading{.kind = DriverKind::kNvml};
  }
  Result<std::vector<DriverEvent>> wait(std::chrono::milliseconds) override {
    return std::vector<DriverEvent>{};
  }

  std::optional<Error> problem_ = Error{ErrorCode::kNotFound, "no library"};
};

TEST_F(DeviceNodes, AreLeftForTheLibraryAsSoonAsItIsThere) {
  put("/dev/nvidia0", "");
  LateLibrary library;
  FallbackSource source(library, source_);
  ASSERT_TRUE(source.open());
  EXPECT_EQ(source.read({})->kind, DriverKind::kDeviceNodes);
  library.problem_.reset();
  EXPECT_EQ(source.read({})->kind, DriverKind::kNvml);
}

TEST_F(DeviceNodes, AreNotUsedWhileTheLibraryFails) {
  put("/dev/nvidia0", "");
  LateLibrary library;
  library.problem_ = Error{ErrorCode::kUnavailable, "Driver/library version mismatch"};
  FallbackSource source(library, source_);
  const Status opened = source.open();
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().message, "Driver/library version mismatch");
}

TEST_F(DeviceNodes, AreNotUsedWhileTheLibraryIsAwayForAWhile) {
  put("/dev/nvidia0", "");
  LateLibrary library;
  library.problem_.reset();
  FallbackSource source(library, source_);
  ASSERT_TRUE(source.open());
  library.problem_ = Error{ErrorCode::kNotFound, "no library"};
  const Status opened = source.open();
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().message, "no library");
  EXPECT_FALSE(source.read({}));
  library.problem_.reset();
  ASSERT_TRUE(source.open());
  EXPECT_EQ(source.read({})->kind, DriverKind::kNvml);
}

TEST_F(DeviceNodes, AreNoLongerUsedWhenALibraryComesThatFails) {
  put("/dev/nvidia0", "");
  LateLibrary library;
  FallbackSource source(library, source_);
  ASSERT_TRUE(source.open());
  library.problem_ = Error{ErrorCode::kUnavailable, "Driver/library version mismatch"};
  const Result<DriverReading> reading = source.read({});
  ASSERT_FALSE(reading);
  EXPECT_EQ(reading.error().message, "Driver/library version mismatch");
  EXPECT_FALSE(source.read({}));
}

}  // namespace
}  // namespace tranche::node
