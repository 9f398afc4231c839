// SPDX-License-Identifier: Apache-2.0
#include "core/cdi/cdi_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "core/cdi/testing/cdi_fixtures.h"

namespace tranche::core {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;

using Names = std::vector<std::string>;

const CdiSpec& spec_of(const CdiPlan& plan, const std::string& device_class) {
  static const CdiSpec none;
  const auto found = std::ranges::find(plan.specs, device_class, &CdiSpec::device_class);
  return found == plan.specs.end() ? none : *found;
}

const CdiEdits& edits_of(const CdiPlan& plan, const std::string& device) {
  static const CdiEdits none;
  const CdiSpec& spec = spec_of(plan, "gpu");
  const auto found = std::ranges::find(spec.devices, device, &CdiDevice::name);
  return found == spec.devices.end() ? none : found->edits;
}

Names device_names(const CdiPlan& plan) {
  Names names;
  for (const CdiDevice& device : spec_of(plan, "gpu").devices) names.push_back(device.name);
  return names;
}

Names node_paths(const CdiEdits& edits) {
  Names paths;
  for (const CdiDeviceNode& node : edits.nodes) paths.push_back(node.path);
  return paths;
}

Names hook_names(const CdiEdits& edits) {
  Names names;
  for (const CdiHook& hook : edits.hooks) names.push_back(hook.args.at(2));
  return names;
}

Gpu a_cut_gpu(unsigned index) {
  Gpu gpu = a_gpu(index);
  gpu.mig_enabled = true;
  gpu.mig = {a_mig_device(0, 21), a_mig_device(1, 30)};
  return gpu;
}

DriverFiles a_driver_with_caps() {
  DriverFiles files = a_driver();
  for (const unsigned cap : {21U, 22U, 30U, 31U}) {
    add_node(files, "/dev/nvidia-caps/nvidia-cap" + std::to_string(cap), 235, cap);
  }
  return files;
}

TEST(CdiPlan, HasADeviceForEachGpuAndOneForAll) {
  const CdiPlan plan =
      cdi_plan(an_inventory({a_gpu(0), a_gpu(1)}), a_driver(), {.limits_memory = true}, {});
  EXPECT_THAT(device_names(plan), ElementsAre("GPU-0", "GPU-1", "all"));
  EXPECT_THAT(node_paths(edits_of(plan, "GPU-1")), ElementsAre("/dev/nvidia1"));
  EXPECT_THAT(node_paths(edits_of(plan, "all")), ElementsAre("/dev/nvidia0", "/dev/nvidia1"));
  EXPECT_EQ(edits_of(plan, "all").hooks.size(), 2U);
}

TEST(CdiPlan, NamesDevicesByIndexWhenAsked) {
  Inventory inventory = an_inventory({a_gpu(0), a_cut_gpu(1)});
  const CdiPlan plan =
      cdi_plan(inventory, a_driver_with_caps(), {}, {.ids = DeviceIdStrategy::kIndex});
  EXPECT_THAT(device_names(plan), ElementsAre("0", "1", "1:0", "1:1", "all"));
}

TEST(CdiPlan, GivesAnIndexToTheGpuThatTheDriverCountsSo) {
  Inventory inventory = an_inventory({a_gpu(0), a_gpu(1)});
  inventory.gpus[0].lost = true;  // and the driver counts GPU 1 as 0 now
  inventory.gpus[1].driver_index = 0;
  const CdiPlan plan =
      cdi_plan(inventory, a_driver_with_caps(), {}, {.ids = DeviceIdStrategy::kIndex});
  EXPECT_THAT(device_names(plan), ElementsAre("0", "all"));
  EXPECT_THAT(node_paths(edits_of(plan, "0")), testing::Contains("/dev/nvidia1"));
}

TEST(CdiPlan, AMigDeviceGetsItsGpuAndTheTwoNodesThatOpenIt) {
  const CdiPlan plan = cdi_plan(an_inventory({a_cut_gpu(0)}), a_driver_with_caps(), {}, {});
  EXPECT_THAT(device_names(plan), ElementsAre("GPU-0", "MIG-0", "MIG-1", "all"));
  EXPECT_THAT(node_paths(edits_of(plan, "MIG-1")),
              ElementsAre("/dev/nvidia0", "/dev/nvidia-caps/nvidia-cap30",
                          "/dev/nvidia-caps/nvidia-cap31"));
  EXPECT_THAT(edits_of(plan, "MIG-1").hooks, IsEmpty());
}

TEST(CdiPlan, TheWholeOfACutGpuIsADeviceWithEverySliceOfIt) {
  const CdiPlan plan = cdi_plan(an_inventory({a_cut_gpu(0)}), a_driver_with_caps(), {}, {});
  EXPECT_THAT(
      node_paths(edits_of(plan, "GPU-0")),
      ElementsAre("/dev/nvidia0", "/dev/nvidia-caps/nvidia-cap21", "/dev/nvidia-caps/nvidia-cap22",
                  "/dev/nvidia-caps/nvidia-cap30", "/dev/nvidia-caps/nvidia-cap31"));
  // The driver takes no memory limit for it.
  EXPECT_THAT(edits_of(plan, "GPU-0").hooks, IsEmpty());
}

TEST(CdiPlan, HasTheHookForMemoryLimitsOnlyWhereTheyAreUsedAndTheToolkitKnowsThem) {
  DriverFiles files = a_driver();
  const auto hooks = [&](bool limits_memory) {
    const CdiPlan plan =
        cdi_plan(an_inventory({a_gpu(0)}), files, {.limits_memory = limits_memory}, {});
    return hook_names(edits_of(plan, "GPU-0"));
  };
  EXPECT_THAT(hooks(true), ElementsAre("apply-cuda-memory-limits"));
  EXPECT_THAT(hooks(false), IsEmpty());
  files.toolkit.version = ToolkitVersion{1, 20, 0};
  EXPECT_THAT(hooks(true), IsEmpty());
}

TEST(CdiPlan, AnOldMigIdIsNamedWithoutItsSlashes) {
  Gpu gpu = a_cut_gpu(0);
  gpu.mig[0].uuid = MigUuid("MIG-GPU-0/7/0");
  const CdiPlan plan = cdi_plan(an_inventory({gpu}), a_driver_with_caps(), {}, {});
  EXPECT_THAT(device_names(plan), Contains("MIG-GPU-0_7_0"));
}

TEST(CdiPlan, ADeviceWithoutItsNodesIsLeftOutWithTheReason) {
  Gpu unknown = a_gpu(1);
  unknown.minor.reset();
  Gpu cut = a_cut_gpu(0);
  cut.mig[1].compute_instance_cap.reset();
  DriverFiles files = a_driver_with_caps();
  files.nodes.erase("/dev/nvidia-caps/nvidia-cap22");
  const CdiPlan plan = cdi_plan(an_inventory({cut, unknown, a_gpu(2)}), files, {}, {});
  EXPECT_THAT(device_names(plan), ElementsAre("GPU-0", "all"));
  EXPECT_THAT(plan.left_out,
              ElementsAre(Pair("gpu=GPU-1", HasSubstr("does not report")),
                          Pair("gpu=GPU-2", "there is no device node /dev/nvidia2"),
                          Pair("gpu=MIG-0", HasSubstr("/dev/nvidia-caps/nvidia-cap22")),
                          Pair("gpu=MIG-1", HasSubstr("does not report"))));
}

TEST(CdiPlan, NamelessAndRepeatedDevicesDoNotSpoilTheFile) {
  Gpu nameless = a_gpu(1);
  nameless.uuid = GpuUuid("");
  const CdiPlan plan = cdi_plan(an_inventory({a_gpu(0), a_gpu(0), nameless}), a_driver(), {}, {});
  EXPECT_THAT(device_names(plan), ElementsAre("GPU-0", "all"));
}

TEST(CdiPlan, GraphicsNodesComeWithTheirGroupsAndLinks) {
  DriverFiles files = a_driver();
  files.nodes["/dev/dri/card1"] = {"/dev/dri/card1", 226, 1, 0660, 44};
  files.nodes["/dev/dri/renderD128"] = {"/dev/dri/renderD128", 226, 128, 0666, 105};
  files.drm[pci_of(0)] = {"/dev/dri/card1", "/dev/dri/renderD128"};
  files.drm_links = {{"/dev/dri/by-path/pci-0000:07:00.0-card", "../card1"},
                     {"/dev/dri/by-path/pci-0000:07:00.0-render", "../renderD129"}};
  const CdiPlan plan =
      cdi_plan(an_inventory({a_gpu(0), a_gpu(1)}), files, {.limits_memory = true}, {});
  const CdiEdits& edits = edits_of(plan, "GPU-0");
  EXPECT_THAT(node_paths(edits),
              ElementsAre("/dev/nvidia0", "/dev/dri/card1", "/dev/dri/renderD128"));
  EXPECT_THAT(edits.additional_gids, ElementsAre(44U));
  EXPECT_THAT(hook_names(edits), ElementsAre("create-symlinks", "apply-cuda-memory-limits"));
  // The other link leads to a node the container does not get.
  EXPECT_THAT(edits.hooks[0].args,
              AllOf(Contains("../card1::/dev/dri/by-path/pci-0000:07:00.0-card"),
                    Not(Contains(HasSubstr("-render")))));
  EXPECT_THAT(node_paths(edits_of(plan, "GPU-1")), ElementsAre("/dev/nvidia1"));

  const CdiPlan without = cdi_plan(an_inventory({a_gpu(0)}), files,
                                   {.feature_flags = {"no-additional-gids-for-device-nodes"}}, {});
  EXPECT_THAT(edits_of(without, "GPU-0").additional_gids, IsEmpty());
}

TEST(CdiPlan, OnlyMigDevicesForGraphicsGetGraphicsNodes) {
  DriverFiles files = a_driver_with_caps();
  add_node(files, "/dev/dri/card1", 226, 1);
  files.drm[pci_of(0)] = {"/dev/dri/card1"};
  Gpu gpu = a_cut_gpu(0);
  gpu.mig[1].profile.attribute = "+gfx";
  const CdiPlan plan = cdi_plan(an_inventory({gpu}), files, {}, {});
  EXPECT_THAT(node_paths(edits_of(plan, "MIG-0")), Not(Contains("/dev/dri/card1")));
  EXPECT_THAT(node_paths(edits_of(plan, "MIG-1")), Contains("/dev/dri/card1"));
}

TEST(CdiPlan, PathsAreTheHostsOnes) {
  DriverFiles files = a_driver();
  files.programs = {{.path = "/usr/bin/nvidia-smi",
                     .real_path = "/opt/nvidia-smi",
                     .container_path = "/usr/bin/nvidia-smi"}};
  const CdiPlan plan =
      cdi_plan(an_inventory({a_gpu(0)}), files,
               {.driver_root = "/run/nvidia/driver/", .dev_root = "/run/nvidia/dev-root"}, {});
  const CdiEdits& common = spec_of(plan, "gpu").common;
  EXPECT_THAT(
      common.nodes,
      Contains(AllOf(Field(&CdiDeviceNode::path, "/dev/nvidiactl"),
                     Field(&CdiDeviceNode::host_path, "/run/nvidia/dev-root/dev/nvidiactl"))));
  EXPECT_THAT(common.mounts,
              ElementsAre(AllOf(Field(&CdiMount::container_path, "/usr/bin/nvidia-smi"),
                                Field(&CdiMount::host_path, "/run/nvidia/driver/opt/nvidia-smi")),
                          AllOf(Field(&CdiMount::container_path, "/usr/lib64/libcuda.so.580.95.05"),
                                Field(&CdiMount::host_path,
                                      "/run/nvidia/driver/usr/lib64/libcuda.so.580.95.05"))));
  EXPECT_EQ(cdi_version(spec_of(plan, "gpu")), "0.5.0");
}

TEST(CdiPlan, AtTheHostsOwnRootLinksAreLeftToTheHost) {
  DriverFiles files = a_driver();
  files.programs = {{"/usr/bin/nvidia-smi", "/opt/nvidia-smi", "/usr/bin/nvidia-smi"}};
  const CdiPlan plan = cdi_plan(an_inventory({a_gpu(0)}), files, {.driver_root = "/"}, {});
  EXPECT_THAT(spec_of(plan, "gpu").common.mounts,
              Contains(Field(&CdiMount::host_path, "/usr/bin/nvidia-smi")));
}

TEST(CdiPlan, TheDeviceRootMayBeGivenWithItsDev) {
  const auto host_path = [](const std::string& dev_root) {
    const CdiPlan plan = cdi_plan(an_inventory({a_gpu(0)}), a_driver(), {.dev_root = dev_root}, {});
    return edits_of(plan, "GPU-0").nodes.at(0).host_path;
  };
  EXPECT_EQ(host_path("/run/nvidia/driver/dev"), "/run/nvidia/driver/dev/nvidia0");
  EXPECT_EQ(host_path("/run/nvidia/driver/dev/"), "/run/nvidia/driver/dev/nvidia0");
  EXPECT_EQ(host_path("/dev"), "");
  EXPECT_EQ(host_path("/"), "");
}

TEST(CdiPlan, SocketsAreMountedWritableUnlessTurnedOff) {
  DriverFiles files = a_driver();
  const std::string socket = "/run/nvidia-persistenced/socket";
  files.sockets = {{socket, socket, socket}};
  const auto mounts = [&](const CdiOptions& options) {
    return spec_of(cdi_plan(an_inventory({a_gpu(0)}), files, options, {}), "gpu").common.mounts;
  };
  EXPECT_THAT(mounts({}), Contains(CdiMount{
                              socket, socket, {"nosuid", "nodev", "rbind", "rprivate", "noexec"}}));
  EXPECT_THAT(mounts({.feature_flags = {"disable-ipc-discoverer"}}),
              Each(Field(&CdiMount::container_path, Not(socket))));
}

TEST(CdiPlan, LibrariesOfGlAndOpenClAreMountedWhenAsked) {
  DriverFiles files = a_driver();
  files.explicit_libraries = {{.path = "/usr/lib64/libOpenCL.so.1.0.0",
                               .soname = "libOpenCL.so.1",
                               .links = {"libOpenCL.so.1"}}};
  const auto common = [&](const CdiOptions& options) {
    return spec_of(cdi_plan(an_inventory({a_gpu(0)}), files, options, {}), "gpu").common;
  };
  const auto opencl = Field(&CdiMount::container_path, "/usr/lib64/libOpenCL.so.1.0.0");
  EXPECT_THAT(common({}).mounts, Not(Contains(opencl)));
  const CdiEdits asked = common({.feature_flags = {"enable-explicit-driver-libraries"}});
  EXPECT_THAT(asked.mounts, Contains(opencl));
  EXPECT_THAT(asked.hooks[0].args, Contains("libOpenCL.so.1.0.0::/usr/lib64/libOpenCL.so.1"));
}

TEST(CdiPlan, GpusKnownOnlyFromTheirNodesGetThoseNodes) {
  Inventory inventory = an_inventory({{.uuid = GpuUuid("nvidia0"), .minor = 0}});
  inventory.driver = DriverKind::kDeviceNodes;
  DriverFiles files;
  add_node(files, "/dev/nvidia0", 195, 0);
  add_node(files, "/dev/nvidiactl", 195, 255);
  const CdiPlan plan = cdi_plan(inventory, files, {}, {});
  EXPECT_THAT(device_names(plan), ElementsAre("all", "nvidia0"));
  EXPECT_THAT(node_paths(edits_of(plan, "nvidia0")), ElementsAre("/dev/nvidia0"));
  EXPECT_THAT(edits_of(plan, "nvidia0").hooks, IsEmpty());
  const CdiEdits& common = spec_of(plan, "gpu").common;
  EXPECT_THAT(common.env, ElementsAre("NVIDIA_VISIBLE_DEVICES=void"));
  EXPECT_THAT(node_paths(common), ElementsAre("/dev/nvidiactl"));
  EXPECT_THAT(common.hooks, IsEmpty());
}

TEST(CdiPlan, ContainersAreNotGivenAGpuWithoutADriver) {
  DriverFiles files = a_driver();
  files.libraries.clear();
  files.trouble = "no libcuda.so.580.95.05 below /driver-root or /";
  const CdiPlan plan = cdi_plan(an_inventory({a_gpu(0)}), files, {}, {});
  EXPECT_THAT(plan.specs, IsEmpty());
  EXPECT_THAT(plan.left_out, ElementsAre(Pair("gpu", HasSubstr("no libcuda.so.580.95.05"))));
}

TEST(CdiPlan, WithoutAnAnswerFromTheDriverWhatWasWrittenStays) {
  Inventory inventory = an_inventory({});
  inventory.driver = DriverKind::kNone;
  const CdiPlan plan = cdi_plan(inventory, a_driver(), {}, {});
  EXPECT_THAT(plan.kept, ElementsAre("gpu"));
  EXPECT_THAT(plan.specs, IsEmpty());
  EXPECT_THAT(plan.left_out, IsEmpty());
}

TEST(CdiPlan, ANodeWithoutGpusHasNoGpuFile) {
  const CdiPlan plan = cdi_plan(an_inventory({}), a_driver(), {}, {});
  EXPECT_THAT(plan.specs, IsEmpty());
  EXPECT_THAT(plan.left_out, ElementsAre(Pair("gpu", "there is no GPU")));
}

TEST(CdiPlan, OtherClassesAreWrittenWhenAsked) {
  DriverFiles files = a_driver();
  add_node(files, "/dev/gdrdrv", 240, 0);
  add_node(files, "/dev/nvidia-fs0", 241, 0);
  add_node(files, "/dev/nvidia-fs1", 241, 1);
  add_node(files, "/dev/infiniband/uverbs0", 231, 192);
  add_node(files, "/dev/infiniband/rdma_cm", 10, 58);
  add_node(files, "/dev/nvidia-caps-imex-channels/channel0", 236, 0);
  files.gds = {{"/run/udev", "/run/udev", "/run/udev"}};
  const Inventory inventory = an_inventory({a_gpu(0)});
  EXPECT_EQ(cdi_plan(inventory, files, {}, {}).specs.size(), 1U);

  const CdiPlan plan = cdi_plan(
      inventory, files, {}, {.gds = true, .mofed = true, .gdrcopy = true, .imex_channels = {0}});
  Names classes;
  for (const CdiSpec& spec : plan.specs) {
    classes.push_back(spec.device_class);
    EXPECT_THAT(spec.common.env, Contains("NVIDIA_VISIBLE_DEVICES=void"));
  }
  EXPECT_THAT(classes, ElementsAre("gdrcopy", "gds", "gpu", "imex-channel", "mofed"));
  const auto only_device = [&](const std::string& device_class) {
    return spec_of(plan, device_class).devices.at(0);
  };
  EXPECT_EQ(only_device("gdrcopy").name, "all");
  EXPECT_THAT(node_paths(only_device("gdrcopy").edits), ElementsAre("/dev/gdrdrv"));
  EXPECT_THAT(node_paths(only_device("gds").edits),
              ElementsAre("/dev/nvidia-fs0", "/dev/nvidia-fs1"));
  EXPECT_THAT(only_device("gds").edits.mounts,
              ElementsAre(Field(&CdiMount::container_path, "/run/udev")));
  EXPECT_THAT(node_paths(only_device("mofed").edits),
              ElementsAre("/dev/infiniband/rdma_cm", "/dev/infiniband/uverbs0"));
  EXPECT_EQ(only_device("imex-channel").name, "0");
  EXPECT_THAT(node_paths(only_device("imex-channel").edits),
              ElementsAre("/dev/nvidia-caps-imex-channels/channel0"));
}

TEST(CdiPlan, AClassWithNothingIsLeftOutAndSaysWhy) {
  DriverFiles files = a_driver();
  files.gds = {{"/run/udev", "/run/udev", "/run/udev"}};  // files alone are no storage device
  const CdiPlan plan =
      cdi_plan(an_inventory({a_gpu(0)}), files, {},
               {.gds = true, .mofed = true, .gdrcopy = true, .imex_channels = {0}});
  EXPECT_EQ(plan.specs.size(), 1U);
  EXPECT_THAT(plan.left_out, ElementsAre(Pair("gdrcopy", HasSubstr("/dev/gdrdrv")),
                                         Pair("gds", HasSubstr("/dev/nvidia-fs*")),
                                         Pair("imex-channel=0", HasSubstr("channel0")),
                                         Pair("mofed", HasSubstr("/dev/infiniband/uverbs*"))));
}

}  // namespace
}  // namespace tranche::core
