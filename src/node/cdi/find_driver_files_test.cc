// SPDX-License-Identifier: Apache-2.0
#include "node/cdi/find_driver_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "node/cdi/testing/fake_root.h"

namespace tranche::node {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Key;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

constexpr const char* kVersion = "580.95.05";
const std::string kLib = "/usr/lib/x86_64-linux-gnu";

Inventory inventory_of(const std::string& version, std::vector<Gpu> gpus = {}) {
  return {.driver = DriverKind::kNvml, .driver_version = version, .gpus = std::move(gpus)};
}

void put_libcuda(FakeRoot& root, const std::string& folder, const std::string& version) {
  root.library(folder + "/libcuda.so." + version, "libcuda.so.1");
  root.link(folder + "/libcuda.so.1", "libcuda.so." + version);
}

// The mounted driver root, and the rest of the machine.
struct Machine {
  FakeRoot driver;
  FakeRoot host;

  DriverFiles find(const Inventory& inventory) const {
    return find_driver_files(inventory, {.container_driver_root = driver.path()}, host.path());
  }
};

std::vector<std::string> paths(const std::vector<DriverFile>& files) {
  std::vector<std::string> result;
  result.reserve(files.size());
  for (const DriverFile& file : files) result.push_back(file.path);
  return result;
}

std::vector<std::string> paths(const std::vector<DriverLibrary>& libraries) {
  std::vector<std::string> result;
  result.reserve(libraries.size());
  for (const DriverLibrary& library : libraries) result.push_back(library.path);
  return result;
}

TEST(DriverFiles, TakesEveryLibraryOfTheVersionAndNoOther) {
  Machine machine;
  put_libcuda(machine.driver, kLib, kVersion);
  machine.driver.library(kLib + "/libnvidia-ml.so.580.95.05", "libnvidia-ml.so.1");
  machine.driver.library(kLib + "/libnvidia-old.so.570.1", "libnvidia-old.so.1");
  machine.driver.library(kLib + "/libc.so.6", "libc.so.6");
  machine.driver.library(kLib + "/vdpau/libvdpau_nvidia.so.580.95.05", "libvdpau_nvidia.so.1");
  machine.driver.library(kLib + "/libnvidia-nvvm70.so.4", "libnvidia-nvvm70.so.4");
  const DriverFiles files = machine.find(inventory_of(kVersion));
  EXPECT_EQ(files.version, kVersion);
  EXPECT_EQ(files.trouble, "");
  EXPECT_THAT(files.library_folders, ElementsAre(kLib));
  EXPECT_THAT(
      paths(files.libraries),
      ElementsAre(kLib + "/libcuda.so.580.95.05", kLib + "/libnvidia-ml.so.580.95.05",
                  kLib + "/vdpau/libvdpau_nvidia.so.580.95.05", kLib + "/libnvidia-nvvm70.so.4"));
  EXPECT_EQ(files.libraries[0].soname, "libcuda.so.1");
  EXPECT_THAT(files.libraries[0].links, ElementsAre("libcuda.so.1"));
}

TEST(DriverFiles, WithoutAVersionFromTheDriverTheLibraryInUseTellsIt) {
  Machine machine;
  machine.driver.library(kLib + "/libcuda.so.570.1", "libcuda.so.1");  // left over
  put_libcuda(machine.driver, kLib, kVersion);
  EXPECT_EQ(machine.find(inventory_of("")).version, kVersion);
}

TEST(DriverFiles, WithoutLibcudaTheManagementLibraryTellsTheVersion) {
  Machine machine;
  machine.driver.library(kLib + "/libnvidia-ml.so.580.95.05", "libnvidia-ml.so.1");
  EXPECT_EQ(machine.find(inventory_of("")).version, kVersion);
}

TEST(DriverFiles, TheHostsRootStandsInForADriverRootWithoutADriver) {
  Machine machine;
  put_libcuda(machine.host, kLib, kVersion);
  machine.driver.folder("/usr/lib64");
  EXPECT_EQ(machine.find(inventory_of(kVersion)).version, kVersion);
}

TEST(DriverFiles, TheDriverRootComesBeforeTheHostsRoot) {
  Machine machine;
  put_libcuda(machine.driver, "/usr/lib64", kVersion);
  put_libcuda(machine.host, kLib, kVersion);
  EXPECT_THAT(machine.find(inventory_of(kVersion)).library_folders, ElementsAre("/usr/lib64"));
}

TEST(DriverFiles, LibrariesOfAnotherVersionThanTheRunningDriversAreNotTaken) {
  Machine machine;
  put_libcuda(machine.driver, kLib, "570.1");
  const DriverFiles files = machine.find(inventory_of(kVersion));
  EXPECT_EQ(files.version, "");
  EXPECT_THAT(files.libraries, IsEmpty());
  EXPECT_THAT(files.trouble,
              AllOf(HasSubstr("no libcuda.so.580.95.05"), HasSubstr(machine.driver.path())));
}

TEST(DriverFiles, AVersionThatIsNoVersionIsNotPutIntoPaths) {
  Machine machine;
  put_libcuda(machine.driver, kLib, kVersion);
  EXPECT_EQ(machine.find(inventory_of("../*")).version, kVersion);
}

TEST(DriverFiles, FindsProgramsFirmwareAndSockets) {
  Machine machine;
  put_libcuda(machine.driver, kLib, kVersion);
  machine.driver.program("/usr/bin/nvidia-smi");
  machine.driver.program("/bin/nvidia-smi");
  machine.driver.file("/usr/bin/nvidia-imex");  // not executable
  machine.driver.file("/lib/firmware/nvidia/580.95.05/gsp_ga10x.bin");
  machine.driver.file("/lib/firmware/nvidia/580.95.05/ucodes_x.bin");
  machine.driver.file("/lib/firmware/nvidia/570.1/gsp_ga10x.bin");
  machine.driver.socket("/run/nvidia-persistenced/socket");
  machine.driver.socket("/var/run/nvidia-persistenced/socket");
  machine.driver.socket("/var/run/nvidia-fabricmanager/socket");
  const DriverFiles files = machine.find(inventory_of(kVersion));
  EXPECT_THAT(paths(files.programs), ElementsAre("/usr/bin/nvidia-smi"));
  EXPECT_THAT(paths(files.firmware), ElementsAre("/lib/firmware/nvidia/580.95.05/gsp_ga10x.bin",
                                                 "/lib/firmware/nvidia/580.95.05/ucodes_x.bin"));
  EXPECT_THAT(paths(files.sockets), ElementsAre("/run/nvidia-persistenced/socket",
                                                "/var/run/nvidia-fabricmanager/socket"));
}

// Any user of the host can create it, even as a link to "/".
TEST(DriverFiles, NothingInTheHostsTmpIsEverHandedOut) {
  Machine machine;
  put_libcuda(machine.driver, kLib, kVersion);
  machine.driver.folder("/tmp/nvidia-mps");
  EXPECT_THAT(machine.find(inventory_of(kVersion)).sockets, IsEmpty());
}

class DaemonSockets : public testing::Test {
 protected:
  DaemonSockets() { put_libcuda(machine_.driver, kLib, kVersion); }

  std::vector<std::string> found() const {
    return paths(machine_.find(inventory_of(kVersion)).sockets);
  }
  void give(const std::string& inside, unsigned user, mode_t mode) const {
    ASSERT_EQ(::chown(machine_.driver.path(inside).c_str(), user, user), 0);
    ASSERT_EQ(::chmod(machine_.driver.path(inside).c_str(), mode), 0);
  }

  const std::string folder_ = "/run/nvidia-persistenced";
  const std::string socket_ = "/run/nvidia-persistenced/socket";
  Machine machine_;
};

TEST_F(DaemonSockets, AreSocketsAndNothingElse) {
  machine_.driver.file(socket_);
  machine_.driver.folder("/run/nvidia-fabricmanager/socket");
  EXPECT_THAT(found(), IsEmpty());
}

TEST_F(DaemonSockets, LeadToNoFolderByALink) {
  machine_.driver.link(socket_, "/");
  EXPECT_THAT(found(), IsEmpty());
}

TEST_F(DaemonSockets, AreNotInAFolderThatEverybodyMayWrite) {
  machine_.driver.socket(socket_);
  ASSERT_EQ(::chmod(machine_.driver.path(folder_).c_str(), 0777), 0);
  EXPECT_THAT(found(), IsEmpty());
  ASSERT_EQ(::chmod(machine_.driver.path(folder_).c_str(), 0755), 0);
  EXPECT_THAT(found(), ElementsAre(socket_));
  ASSERT_EQ(::chmod(machine_.driver.path("/run").c_str(), 01777), 0);
  EXPECT_THAT(found(), IsEmpty());
}

TEST_F(DaemonSockets, MayBelongToTheDaemonsOwnUserWithTheirFolder) {
  if (::geteuid() != 0) GTEST_SKIP() << "giving files away needs root";
  machine_.driver.socket(socket_);
  give(socket_, 4711, 0666);
  EXPECT_THAT(found(), ElementsAre(socket_));
  give(folder_, 4711, 0755);
  EXPECT_THAT(found(), ElementsAre(socket_));
}

TEST_F(DaemonSockets, AreNotInAFolderOfSomebodyElse) {
  if (::geteuid() != 0) GTEST_SKIP() << "giving files away needs root";
  machine_.driver.socket(socket_);
  give(folder_, 4711, 0755);
  EXPECT_THAT(found(), IsEmpty());
  give(folder_, 0, 0755);
  give("/run", 4711, 0755);
  EXPECT_THAT(found(), IsEmpty());
}

TEST(DriverFiles, AreWhatTheyAreCalled) {
  Machine machine;
  put_libcuda(machine.driver, kLib, kVersion);
  machine.driver.socket(kLib + "/libnvidia-ml.so.580.95.05");
  machine.driver.socket("/lib/firmware/nvidia/580.95.05/gsp_ga10x.bin");
  machine.driver.socket("/etc/glvnd/egl_vendor.d/10_nvidia.json");
  const DriverFiles files = machine.find(inventory_of(kVersion));
  EXPECT_THAT(paths(files.libraries), ElementsAre(kLib + "/libcuda.so.580.95.05"));
  EXPECT_THAT(files.firmware, IsEmpty());
  EXPECT_THAT(files.graphics, IsEmpty());
}

TEST(DriverFiles, FirmwareIsAlsoWhereTheKernelWasToldToLook) {
  Machine machine;
  put_libcuda(machine.driver, kLib, kVersion);
  machine.host.file("/sys/module/firmware_class/parameters/path", "/run/firmware\n");
  machine.driver.file("/run/firmware/nvidia/580.95.05/gsp_tu10x.bin");
  EXPECT_THAT(paths(machine.find(inventory_of(kVersion)).firmware),
              ElementsAre("/run/firmware/nvidia/580.95.05/gsp_tu10x.bin"));
}

TEST(DriverFiles, ALinkedFileIsKnownByBothItsPlaces) {
  Machine machine;
  put_libcuda(machine.driver, kLib, kVersion);
  machine.driver.program("/usr/lib/nvidia/current/nvidia-smi");
  machine.driver.link("/etc/alternatives/nvidia-smi", "/usr/lib/nvidia/current/nvidia-smi");
  machine.driver.link("/usr/bin/nvidia-smi", "/etc/alternatives/nvidia-smi");
  EXPECT_THAT(machine.find(inventory_of(kVersion)).programs,
              ElementsAre(DriverFile{.path = "/usr/bin/nvidia-smi",
                                     .real_path = "/usr/lib/nvidia/current/nvidia-smi",
                                     .container_path = "/usr/bin/nvidia-smi"}));
}

TEST(DriverFiles, GraphicsSettingsGoToTheOnePlaceProgramsLook) {
  Machine machine;
  put_libcuda(machine.driver, kLib, kVersion);
  machine.driver.file("/etc/glvnd/egl_vendor.d/10_nvidia.json");
  machine.driver.file("/usr/share/glvnd/egl_vendor.d/10_nvidia.json");
  machine.driver.file("/vulkan/icd.d/nvidia_icd.json");
  machine.driver.file("/usr/share/OpenCL/vendors/nvidia.icd");
  const std::vector<DriverFile> graphics = machine.find(inventory_of(kVersion)).graphics;
  const auto lies_at = [](const char* path, const char* container_path) {
    return AllOf(Field(&DriverFile::path, path),
                 Field(&DriverFile::container_path, container_path));
  };
  EXPECT_THAT(
      graphics,
      ElementsAre(lies_at("/etc/glvnd/egl_vendor.d/10_nvidia.json",
                          "/usr/share/glvnd/egl_vendor.d/10_nvidia.json"),
                  lies_at("/usr/share/OpenCL/vendors/nvidia.icd", "/etc/OpenCL/vendors/nvidia.icd"),
                  lies_at("/vulkan/icd.d/nvidia_icd.json", "/etc/vulkan/icd.d/nvidia_icd.json")));
}

TEST(DriverFiles, FindsEglPlatformsAndXModules) {
  Machine machine;
  put_libcuda(machine.driver, kLib, kVersion);
  machine.driver.library(kLib + "/libnvidia-egl-gbm.so.1.1.2", "libnvidia-egl-gbm.so.1");
  machine.driver.link(kLib + "/libnvidia-egl-gbm.so.1", "libnvidia-egl-gbm.so.1.1.2");
  machine.driver.file("/usr/lib/xorg/modules/drivers/nvidia_drv.so");
  machine.driver.file(kLib + "/nvidia/xorg/libglxserver_nvidia.so.580.95.05");
  machine.driver.program("/usr/bin/nvidia-xconfig");
  EXPECT_THAT(paths(machine.find(inventory_of(kVersion)).graphics),
              ElementsAre(kLib + "/libnvidia-egl-gbm.so.1.1.2",
                          "/usr/lib/xorg/modules/drivers/nvidia_drv.so",
                          kLib + "/nvidia/xorg/libglxserver_nvidia.so.580.95.05",
                          "/usr/bin/nvidia-xconfig"));
}

TEST(DriverFiles, LibrariesOfGlAndOpenClAreApart) {
  Machine machine;
  put_libcuda(machine.driver, kLib, kVersion);
  machine.driver.library(kLib + "/libOpenCL.so.1.0.0", "libOpenCL.so.1");
  machine.driver.link(kLib + "/libOpenCL.so", "libOpenCL.so.1.0.0");
  const DriverFiles files = machine.find(inventory_of(kVersion));
  EXPECT_THAT(paths(files.libraries), ElementsAre(kLib + "/libcuda.so.580.95.05"));
  EXPECT_THAT(paths(files.explicit_libraries), ElementsAre(kLib + "/libOpenCL.so.1.0.0"));
}

TEST(DriverFiles, StorageFilesAreFoundWithoutADriverToo) {
  Machine machine;
  machine.driver.folder("/run/udev");
  machine.driver.file("/etc/cufile.json");
  EXPECT_THAT(paths(machine.find(inventory_of(kVersion)).gds),
              ElementsAre("/run/udev", "/etc/cufile.json"));
}

class DeviceNodes : public testing::Test {
 protected:
  void SetUp() override {
    if (FakeRoot::can_make_nodes()) return;
    // In CI a skipped test is a failure.
    if (std::getenv("CI") != nullptr) FAIL() << "making device nodes needs root";
    GTEST_SKIP() << "making device nodes needs root";
  }

  Machine machine_;
};

TEST_F(DeviceNodes, AreKnownWithNumbersModeAndGroup) {
  machine_.driver.node("/dev/nvidia0", 195, 0);
  machine_.driver.node("/dev/dri/renderD128", 226, 128, 0660, 105);
  machine_.driver.file("/dev/nvidia1");  // not a node
  machine_.driver.link("/dev/nvidia2", "nvidia0");
  machine_.driver.node("/dev/null", 1, 3);
  const DriverFiles files = machine_.find(inventory_of(kVersion));
  EXPECT_THAT(files.nodes,
              ElementsAre(Pair("/dev/dri/renderD128",
                               DeviceNode{"/dev/dri/renderD128", 226, 128, 0660, 105}),
                          Pair("/dev/nvidia0", DeviceNode{"/dev/nvidia0", 195, 0, 0666, 0})));
}

TEST_F(DeviceNodes, AreFoundInEveryFolderOfTheirs) {
  for (const char* path :
       {"/dev/nvidiactl", "/dev/nvidia-fs0", "/dev/gdrdrv", "/dev/infiniband/uverbs0",
        "/dev/infiniband/rdma_cm", "/dev/nvidia-caps/nvidia-cap21",
        "/dev/nvidia-caps-imex-channels/channel0"}) {
    machine_.driver.node(path, 200, 1);
  }
  machine_.driver.node("/dev/infiniband/umad0", 231, 0);
  EXPECT_THAT(
      machine_.find(inventory_of(kVersion)).nodes,
      UnorderedElementsAre(Key("/dev/nvidiactl"), Key("/dev/nvidia-fs0"), Key("/dev/gdrdrv"),
                           Key("/dev/infiniband/uverbs0"), Key("/dev/infiniband/rdma_cm"),
                           Key("/dev/nvidia-caps/nvidia-cap21"),
                           Key("/dev/nvidia-caps-imex-channels/channel0")));
}

TEST_F(DeviceNodes, ComeFromTheHostsRootWhereTheDriverRootsDevIsEmpty) {
  machine_.driver.folder("/dev");
  machine_.host.node("/dev/nvidia0", 195, 0);
  EXPECT_THAT(machine_.find(inventory_of(kVersion)).nodes, ElementsAre(Key("/dev/nvidia0")));
}

TEST_F(DeviceNodes, ImexChannelsMayLieInOurOwnDev) {
  machine_.driver.node("/dev/nvidia0", 195, 0);
  machine_.host.node("/dev/nvidia1", 195, 1);
  machine_.host.node("/dev/nvidia-caps-imex-channels/channel0", 236, 0);
  EXPECT_THAT(
      machine_.find(inventory_of(kVersion)).nodes,
      UnorderedElementsAre(Key("/dev/nvidia0"), Key("/dev/nvidia-caps-imex-channels/channel0")));
}

TEST_F(DeviceNodes, GraphicsNodesBelongToTheGpuTheKernelSays) {
  const PciAddress pci = {.bus = 7};
  machine_.driver.node("/dev/nvidia0", 195, 0);
  machine_.driver.node("/dev/dri/card1", 226, 1);
  machine_.driver.node("/dev/dri/card2", 226, 2);
  machine_.driver.link("/dev/dri/by-path/pci-0000:07:00.0-card", "../card1");
  machine_.host.folder("/sys/bus/pci/devices/0000:07:00.0/drm/card1");
  machine_.host.folder("/sys/bus/pci/devices/0000:07:00.0/drm/renderD128");  // no such node
  const DriverFiles files = machine_.find(inventory_of(kVersion, {{.pci = pci}}));
  EXPECT_THAT(files.drm, ElementsAre(Pair(pci, ElementsAre("/dev/dri/card1"))));
  EXPECT_THAT(files.drm_links,
              ElementsAre(Pair("/dev/dri/by-path/pci-0000:07:00.0-card", "../card1")));
}

}  // namespace
}  // namespace tranche::node
