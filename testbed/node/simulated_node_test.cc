// SPDX-License-Identifier: Apache-2.0
#include "testbed/node/simulated_node.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <filesystem>

#include "os/files.h"
#include "os/testing/temp_dir.h"
#include "testbed/node/host_files.h"
#include "testbed/world/parse.h"
#include "testbed/worlds/builtin.h"

namespace tranche::testbed::sim {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Key;
using ::testing::Not;
using ::testing::StartsWith;

class Node : public ::testing::Test {
 protected:
  SimulatedNode make(const std::string& builtin, bool plain_files = true) {
    const Result<SimulatedNode> node = SimulatedNode::create(
        folder_.path("root"), *builtin_world(builtin), {.plain_files = plain_files});
    EXPECT_TRUE(node) << node.error().message;
    return *node;
  }
  static std::string text(const SimulatedNode& node, const std::string& path) {
    const Result<std::string> content = read_file(node.path(path));
    return content ? *content : content.error().message;
  }
  static void apply(const SimulatedNode& node, const Change& change) {
    const Status applied = node.apply(change);
    EXPECT_TRUE(applied) << applied.error().message;
  }

  const TempDir folder_;
};

TEST_F(Node, HasItsWorldWhereTheLibraryLooksForIt) {
  const SimulatedNode node = make("hgx-h200");
  EXPECT_EQ(*node.world(), *builtin_world("hgx-h200"));
  EXPECT_EQ(node.world_file(), node.root() + "/tranche-sim/world.yaml");
  EXPECT_TRUE(path_exists(node.driver_library()));
  EXPECT_EQ(*SimulatedNode::open(node.root())->world(), *node.world());
  EXPECT_THAT(SimulatedNode::open("/nowhere").error().message, HasSubstr("no simulated node"));
}

TEST_F(Node, ShowsTheDriverBelowProc) {
  const SimulatedNode node = make("dgx-a100-mig-mixed");
  EXPECT_THAT(text(node, "/proc/driver/nvidia/version"),
              StartsWith("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.148.08  "));
  EXPECT_THAT(text(node, "/proc/driver/nvidia/params"), HasSubstr("ModifyDeviceFiles: 1\n"));
  const std::string information = text(node, "/proc/driver/nvidia/gpus/0000:07:00.0/information");
  EXPECT_THAT(information, HasSubstr("Model: \t\t NVIDIA A100-SXM4-40GB\n"));
  EXPECT_THAT(information, HasSubstr("GPU UUID: \t " + node.world()->gpus[0].uuid.text + "\n"));
  EXPECT_THAT(information, HasSubstr("Device Minor: \t 0\n"));
  EXPECT_EQ(text(node, "/proc/sys/kernel/random/boot_id"), node.world()->boot_id + "\n");
  EXPECT_THAT(text(node, "/proc/devices"), HasSubstr("\n195 nvidia\n"));
  EXPECT_THAT(text(node, "/proc/devices"), HasSubstr("\n235 nvidia-caps\n"));
  EXPECT_THAT(text(node, "/proc/driver/nvidia-caps/mig-minors"),
              HasSubstr("gpu4/gi2/access 561\ngpu4/gi2/ci0/access 562\n"));
  EXPECT_THAT(text(node, "/proc/driver/nvidia/capabilities/gpu4/mig/gi2/ci0/access"),
              HasSubstr("DeviceFileMinor: 562\n"));
}

TEST_F(Node, ShowsTheGpusBelowSys) {
  const SimulatedNode node = make("dgx-a100");
  const std::string gpu = "/sys/bus/pci/devices/0000:47:00.0";
  EXPECT_EQ(text(node, gpu + "/vendor"), "0x10de\n");
  EXPECT_EQ(text(node, gpu + "/device"), "0x20b0\n");
  EXPECT_EQ(text(node, gpu + "/class"), "0x030200\n");
  EXPECT_EQ(text(node, gpu + "/numa_node"), "1\n");
  EXPECT_EQ(text(node, gpu + "/local_cpulist"), "16-31,144-159\n");
  EXPECT_TRUE(path_exists(node.path(gpu + "/drm/card3")));
  EXPECT_EQ(text(node, "/sys/module/nvidia/initstate"), "live\n");
  EXPECT_EQ(text(node, "/sys/bus/pci/devices/0000:c4:00.0/class"), "0x068000\n");
}

TEST_F(Node, HasTheDriversFiles) {
  const SimulatedNode node = make("hgx-h200");
  namespace fs = std::filesystem;
  const std::string libraries = node.path("/usr/lib/x86_64-linux-gnu/");
  EXPECT_EQ(fs::read_symlink(libraries + "libcuda.so.1"), "libcuda.so.580.105.08");
  EXPECT_EQ(fs::read_symlink(libraries + "libnvidia-ml.so.1"), "libnvidia-ml.so.580.105.08");
  for (const char* path : {"/usr/bin/nvidia-smi", "/lib/firmware/nvidia/580.105.08/gsp_ga10x.bin",
                           "/usr/share/vulkan/icd.d/nvidia_icd.json",
                           "/run/nvidia-persistenced/socket", "/run/nvidia-fabricmanager/socket"}) {
    EXPECT_TRUE(path_exists(node.path(path))) << path;
  }
}

TEST_F(Node, HasDeviceNodesWithTheirNumbers) {
  const HostFiles files = host_files(*builtin_world("dgx-a100-mig-mixed"));
  const auto device = [&](const std::string& path) { return std::get<CharDevice>(files.at(path)); };
  EXPECT_EQ(device("/dev/nvidia7"), (CharDevice{195, 7}));
  EXPECT_EQ(device("/dev/nvidiactl"), (CharDevice{195, 255}));
  EXPECT_EQ(device("/dev/nvidia-modeset"), (CharDevice{195, 254}));
  EXPECT_EQ(device("/dev/nvidia-uvm-tools"), (CharDevice{kUvmMajor, 1}));
  EXPECT_EQ(device("/dev/nvidia-caps/nvidia-cap1"), (CharDevice{kCapsMajor, 1, 0400}));
  EXPECT_EQ(device("/dev/nvidia-caps/nvidia-cap562"), (CharDevice{kCapsMajor, 562, 0444}));
  EXPECT_EQ(device("/dev/nvidia-nvswitchctl"), (CharDevice{kNvSwitchMajor, 255}));
  EXPECT_EQ(device("/dev/dri/renderD130"), (CharDevice{kDrmMajor, 130, 0660}));
  EXPECT_THAT(files, Not(Contains(Key("/dev/gdrdrv"))));
}

TEST_F(Node, HasWhatOtherDriversBring) {
  World world = *builtin_world("gb200-tray");
  world.extras.gdrdrv = true;
  world.extras.nvidia_fs = 2;
  world.extras.infiniband = 1;
  const HostFiles files = host_files(world);
  for (const char* path : {"/dev/gdrdrv", "/dev/nvidia-fs1", "/dev/infiniband/uverbs0",
                           "/dev/infiniband/rdma_cm", "/dev/nvidia-caps-imex-channels/channel0"}) {
    EXPECT_THAT(files, Contains(Key(path)));
  }
}

TEST_F(Node, MakesRealDeviceNodesWhereItMay) {
  const SimulatedNode node = make("t4-single", false);
  struct stat info{};
  ASSERT_EQ(::stat(node.path("/dev/nvidia0").c_str(), &info), 0);
  if (!S_ISCHR(info.st_mode)) GTEST_SKIP() << "no device nodes can be made here";
  EXPECT_EQ(major(info.st_rdev), 195U);
  EXPECT_EQ(info.st_mode & 0777U, 0666U);
}

TEST_F(Node, KeepsItsFilesInStepWithItsWorld) {
  const SimulatedNode node = make("hgx-h200");
  apply(node, set_mig(0, *parse_layout("3g.71gb")));
  EXPECT_TRUE(path_exists(node.path("/dev/nvidia-caps/nvidia-cap21")));
  EXPECT_TRUE(path_exists(node.path("/proc/driver/nvidia/capabilities/gpu0/mig/gi2/access")));
  apply(node, mig_off(0));
  EXPECT_FALSE(path_exists(node.path("/dev/nvidia-caps/nvidia-cap21")));
  EXPECT_FALSE(path_exists(node.path("/proc/driver/nvidia/capabilities/gpu0/mig/gi2")));
  EXPECT_TRUE(path_exists(node.path("/proc/driver/nvidia/capabilities/gpu0/mig")));

  apply(node, unplug(7));
  EXPECT_FALSE(path_exists(node.path("/dev/nvidia7")));
  EXPECT_FALSE(path_exists(node.path("/sys/bus/pci/devices/0000:df:00.0")));

  apply(node, unload_driver());
  EXPECT_FALSE(path_exists(node.path("/sys/module/nvidia")));
  EXPECT_FALSE(path_exists(node.path("/proc/driver/nvidia")));
  EXPECT_TRUE(path_exists(node.path("/dev/nvidia0")));
  apply(node, load_driver());
  EXPECT_TRUE(path_exists(node.path("/proc/driver/nvidia/version")));
}

TEST_F(Node, AppendsToTheKernelsLog) {
  const SimulatedNode node = make("hgx-h200");
  EXPECT_EQ(text(node, "/dev/kmsg"), "");
  apply(node, raise_xid(0, {.number = 79}));
  const std::string first = text(node, "/dev/kmsg");
  EXPECT_THAT(first, StartsWith("6,1,"));
  EXPECT_THAT(first, HasSubstr(",-;NVRM: Xid (PCI:0000:1b:00): 79, pid='<unknown>'"));
  apply(node, log_line("NVRM: GPU 0000:1b:00.0: GPU has fallen off the bus."));
  EXPECT_THAT(text(node, "/dev/kmsg"), StartsWith(first));
  EXPECT_EQ(node.kernel_log(), node.path("/dev/kmsg"));
  apply(node, reboot());
  EXPECT_EQ(text(node, "/dev/kmsg"), "");
}

TEST_F(Node, IsLeftAloneByAChangeThatCannotBe) {
  const SimulatedNode node = make("t4-single");
  EXPECT_FALSE(node.apply(lose(5)));
  EXPECT_EQ(*node.world(), *builtin_world("t4-single"));
}

TEST_F(Node, CanBeMadeAnewFromAnotherWorld) {
  make("hgx-h200");
  const SimulatedNode node = make("t4-single");
  EXPECT_FALSE(path_exists(node.path("/dev/nvidia7")));
  EXPECT_FALSE(path_exists(node.path("/sys/bus/pci/devices/0000:1b:00.0")));
  EXPECT_TRUE(path_exists(node.path("/sys/bus/pci/devices/0000:00:1e.0/numa_node")));
}

}  // namespace
}  // namespace tranche::testbed::sim
