// SPDX-License-Identifier: Apache-2.0
#include "node/driver/kernel_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/path.h"
#include "os/files.h"
#include "os/testing/temp_dir.h"

namespace tranche::node {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr const char* kInformation =
    "Model: \t\t NVIDIA A100-SXM4-40GB\n"
    "IRQ:   \t\t 408\n"
    "GPU UUID: \t GPU-4cf8db2d-06c0-7d70-1a51-e59b25b2c16c\n"
    "Bus Location: \t 0000:07:00.0\n"
    "Device Minor: \t 3\n"
    "GPU Excluded:\t No\n";

class KernelFilesOnATree : public testing::Test {
 protected:
  void put(const std::string& path, const std::string& content) {
    const std::string whole = dir_.path() + path;
    ASSERT_TRUE(make_directories(parent_of(whole)));
    ASSERT_TRUE(write_atomically(whole, content));
  }

  TempDir dir_;
  KernelFiles kernel_{dir_.path()};
};

TEST(MigMinors, AreReadByGpuMinorAndInstances) {
  const MigMinors minors = MigMinors::parse(
      "config 1\nmonitor 2\ngpu0/gi0/access 3\ngpu0/gi0/ci0/access 4\n"
      "gpu3/gi1/access 417\ngpu3/gi1/ci2/access 420\n");
  EXPECT_EQ(minors.gpu_instance(3, 1), 417U);
  EXPECT_EQ(minors.compute_instance(3, 1, 2), 420U);
  EXPECT_EQ(minors.gpu_instance(1, 1), std::nullopt);
}

TEST(MigMinors, PassOverWhatTheyDoNotUnderstand) {
  const MigMinors minors = MigMinors::parse(
      "\n \ngpu/gi0/access 3\ngpu0/gi0/access\ngpu0/gi0/access x\ngpu0/gi0/ci/access 5\nnonsense "
      "1\n"
      "gpu0/gi0/ci0/more/access 6\n");
  EXPECT_EQ(minors.gpu_instance(0, 0), std::nullopt);
}

TEST(GpuInformation, IsReadAsTheDriverWritesIt) {
  EXPECT_EQ(parse_gpu_information(kInformation),
            (KernelGpu{"NVIDIA A100-SXM4-40GB", "GPU-4cf8db2d-06c0-7d70-1a51-e59b25b2c16c",
                       PciAddress{0, 7, 0, 0}, 3}));
}

TEST(GpuInformation, HasNoUuidBeforeTheFirstUse) {
  EXPECT_EQ(parse_gpu_information("GPU UUID: \t GPU-?\?\?\?\?\?\?\?-?\?\?\?\n").uuid, "");
}

TEST_F(KernelFilesOnATree, ReadTheBootId) {
  EXPECT_FALSE(kernel_.boot_id());
  put("/proc/sys/kernel/random/boot_id", "4a2369af-42fc-448d-a77d-171bf76bb63a\n");
  EXPECT_EQ(*kernel_.boot_id(), "4a2369af-42fc-448d-a77d-171bf76bb63a");
}

TEST_F(KernelFilesOnATree, TakeNumaNodeMinusOneForUnknown) {
  put("/sys/bus/pci/devices/0000:07:00.0/numa_node", "3\n");
  put("/sys/bus/pci/devices/0000:08:00.0/numa_node", "-1\n");
  EXPECT_EQ(kernel_.numa_node({0, 7, 0, 0}), 3U);
  EXPECT_EQ(kernel_.numa_node({0, 8, 0, 0}), std::nullopt);
  EXPECT_EQ(kernel_.numa_node({0, 9, 0, 0}), std::nullopt);
}

TEST_F(KernelFilesOnATree, TellAMissingPciDeviceFromAMissingList) {
  EXPECT_EQ(kernel_.has_pci_device({0, 7, 0, 0}), std::nullopt);
  put("/sys/bus/pci/devices/0000:07:00.0/numa_node", "0\n");
  EXPECT_EQ(kernel_.has_pci_device({0, 7, 0, 0}), true);
  EXPECT_EQ(kernel_.has_pci_device({0, 8, 0, 0}), false);
}

TEST_F(KernelFilesOnATree, TellOneBindingOfTheDriverFromTheNext) {
  namespace fs = std::filesystem;
  const PciAddress gpu{0, 7, 0, 0};
  put("/sys/bus/pci/devices/0000:07:00.0/numa_node", "0\n");
  EXPECT_EQ(kernel_.driver_binding(gpu), std::nullopt);
  const std::string link = kernel_.root() + "/sys/bus/pci/devices/0000:07:00.0/driver";
  fs::create_symlink("../../../../bus/pci/drivers/nvidia", link);
  const auto first = kernel_.driver_binding(gpu);
  ASSERT_TRUE(first);
  EXPECT_EQ(kernel_.driver_binding(gpu), first);
  fs::rename(link, link + ".gone");  // so that its inode is not used again
  fs::create_symlink("../../../../bus/pci/drivers/vfio-pci", link);
  EXPECT_EQ(kernel_.driver_binding(gpu), std::nullopt);
  fs::remove(link);
  fs::create_symlink("../../../../bus/pci/drivers/nvidia", link);
  EXPECT_NE(kernel_.driver_binding(gpu), first);
}

TEST_F(KernelFilesOnATree, FindGpusByTheirNodes) {
  EXPECT_THAT(kernel_.gpu_node_minors(), IsEmpty());
  for (const char* name : {"nvidia10", "nvidia2", "nvidiactl", "nvidia-uvm", "null"}) {
    put(std::string("/dev/") + name, "");
  }
  EXPECT_THAT(kernel_.gpu_node_minors(), ElementsAre(2, 10));
}

TEST_F(KernelFilesOnATree, ListTheKernelsGpus) {
  put("/proc/driver/nvidia/gpus/0000:07:00.0/information", kInformation);
  put("/proc/driver/nvidia/gpus/0000:0f:00.0/information", "Model: \t\t NVIDIA L4\n");
  EXPECT_THAT(kernel_.kernel_gpus(),
              ElementsAre(parse_gpu_information(kInformation),
                          KernelGpu{"NVIDIA L4", "", PciAddress{0, 15, 0, 0}, std::nullopt}));
}

TEST_F(KernelFilesOnATree, TellWhichGpusTheDriverWasGiven) {
  EXPECT_EQ(kernel_.gpu_set(), "");
  for (const char* name : {"0000:0f:00.0", "0000:07:00.0", "bind"}) {
    put(std::string("/sys/module/nvidia/drivers/pci:nvidia/") + name, "");
  }
  EXPECT_EQ(kernel_.gpu_set(), "0000:07:00.0 0000:0f:00.0");
}

TEST_F(KernelFilesOnATree, SayWhichControlNodesAndChannelsAreThere) {
  put("/dev/nvidiactl", "");
  put("/dev/nvidia-modeset", "");
  put("/dev/nvidia-caps-imex-channels/channel0", "");
  EXPECT_THAT(control_nodes(dir_.path()), ElementsAre("/dev/nvidiactl", "/dev/nvidia-modeset"));
  EXPECT_THAT(imex_channels({0}, {"/nowhere", dir_.path()}), ElementsAre(0));
  EXPECT_THAT(imex_channels({0}, {"/nowhere"}), IsEmpty());
}

}  // namespace
}  // namespace tranche::node
