// SPDX-License-Identifier: Apache-2.0
#include "core/cdi/cdi_hooks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/cdi/testing/cdi_fixtures.h"

namespace tranche::core {
namespace {

using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::IsEmpty;
using ::testing::Optional;

using Names = std::vector<std::string>;

// The hooks' own names, in order.
Names names_of(const std::vector<CdiHook>& hooks) {
  Names names;
  for (const CdiHook& hook : hooks) names.push_back(hook.args.at(2));
  return names;
}

Names arguments_of(const std::vector<CdiHook>& hooks, const std::string& name) {
  for (const CdiHook& hook : hooks) {
    if (hook.args.at(2) == name) return {hook.args.begin() + 3, hook.args.end()};
  }
  return {"no such hook"};
}

DriverLibrary library(const std::string& path, const std::string& soname = "", Names links = {}) {
  return {.path = path, .soname = soname, .links = std::move(links)};
}

TEST(CdiHooks, AreCalledAsTheProgramWantsIt) {
  const auto by_ctk = cdi_hook({.hook_path = "/usr/bin/nvidia-ctk"}, "update-ldcache", {"-x"});
  EXPECT_EQ(by_ctk, (CdiHook{.stage = "createContainer",
                             .path = "/usr/bin/nvidia-ctk",
                             .args = {"nvidia-ctk", "hook", "update-ldcache", "-x"},
                             .env = {"NVIDIA_CTK_DEBUG=false"}}));
  const auto by_hook = cdi_hook({.hook_path = "/opt/bin/nvidia-cdi-hook"}, "update-ldcache", {});
  EXPECT_THAT(by_hook,
              Optional(Field(&CdiHook::args, ElementsAre("nvidia-cdi-hook", "update-ldcache"))));
}

TEST(CdiHooks, CanBeDisabledOneByOneOrAllAtOnce) {
  EXPECT_THAT(names_of(common_hooks(a_driver(), {})),
              ElementsAre("create-symlinks", "enable-cuda-compat", "update-ldcache",
                          "disable-device-node-modification", "update-application-profile"));
  EXPECT_THAT(names_of(common_hooks(a_driver(),
                                    {.disabled_hooks = {"enable-cuda-compat", "create-symlinks"}})),
              ElementsAre("update-ldcache", "disable-device-node-modification",
                          "update-application-profile"));
  EXPECT_THAT(common_hooks(a_driver(), {.disabled_hooks = {"all"}}), IsEmpty());
  EXPECT_THAT(common_hooks(a_driver(), {.hook_path = ""}), IsEmpty());
}

// A toolkit before 1.18.0 fails the container for an unknown hook.
TEST(CdiHooks, AreThoseThatTheHostsToolkitHas) {
  DriverFiles files = a_driver();
  const auto names = [&](std::optional<ToolkitVersion> version) {
    files.toolkit = {.version = version};
    return names_of(common_hooks(files, {}));
  };
  EXPECT_THAT(names(std::nullopt), ElementsAre("create-symlinks", "update-ldcache"));
  EXPECT_THAT(names(ToolkitVersion{1, 17, 4}), ElementsAre("create-symlinks", "update-ldcache"));
  EXPECT_THAT(names(ToolkitVersion{1, 17, 8}),
              ElementsAre("create-symlinks", "enable-cuda-compat", "update-ldcache"));
  EXPECT_THAT(names(ToolkitVersion{1, 19, 0}),
              ElementsAre("create-symlinks", "enable-cuda-compat", "update-ldcache",
                          "disable-device-node-modification"));
}

TEST(CdiHooks, TheOneForMemoryLimitsIsThereWhereLimitsAre) {
  EXPECT_EQ(memory_limit_hook({}, "GPU-1"), std::nullopt);
  EXPECT_TRUE(memory_limit_hook({.limits_memory = true}, "GPU-1"));
}

TEST(CdiHooks, ItIsSaidWhyLimitsCannotBeSet) {
  const auto toolkit = [](unsigned minor, unsigned patch) {
    return Toolkit{.version = ToolkitVersion{1, minor, patch}, .is_exact = true};
  };
  EXPECT_EQ(no_limit_hook({}, toolkit(20, 1)), "");
  EXPECT_EQ(no_limit_hook({}, toolkit(19, 0)),
            "NVIDIA's container toolkit is 1.19.0 here, and apply-cuda-memory-limits, which sets "
            "the limit, came with 1.20.1");
  EXPECT_EQ(no_limit_hook({}, {.problem = "it is not there"}),
            "it is not known whether NVIDIA's container toolkit here has apply-cuda-memory-limits, "
            "which sets the limit and came with 1.20.1 (it is not there); set "
            "--cdi-toolkit-version");
  EXPECT_EQ(no_limit_hook({.disabled_hooks = {"all"}}, toolkit(20, 1)),
            "--cdi-disable-hooks leaves out apply-cuda-memory-limits, which sets the limit");
  EXPECT_EQ(no_limit_hook({.hook_path = ""}, toolkit(20, 1)),
            "there is no program for hooks: --nvidia-cdi-hook-path");
}

TEST(CdiHooks, ThereAreNoneWithoutDriverLibraries) {
  EXPECT_THAT(common_hooks(DriverFiles{}, {}), IsEmpty());
}

TEST(CdiHooks, ForwardCompatibilityIsToldTheHostsVersion) {
  EXPECT_THAT(arguments_of(common_hooks(a_driver(), {}), "enable-cuda-compat"),
              ElementsAre("--host-driver-version=580.95.05"));
}

TEST(CdiHooks, TheLoadersCacheCoversEveryFolderWithALibraryOnce) {
  DriverFiles files = a_driver();
  files.libraries.push_back(library("/usr/lib64/vdpau/libvdpau_nvidia.so.580.95.05"));
  files.libraries.push_back(library("/usr/lib64/libnvidia-ml.so.580.95.05"));
  EXPECT_THAT(arguments_of(common_hooks(files, {}), "update-ldcache"),
              ElementsAre("--folder", "/usr/lib64", "--folder", "/usr/lib64/vdpau"));
}

TEST(CdiHooks, LinksAreThoseOfTheHostAndThoseThatProgramsExpect) {
  DriverFiles files;
  files.version = "580.95.05";
  files.libraries = {
      library("/l/libcuda.so.580.95.05", "libcuda.so.1", {"libcuda.so", "libcuda.so.1"}),
      // The loader's name is not linked on the host, the linker's is.
      library("/l/libnvcuvid.so.580.95.05", "libnvcuvid.so.1", {"libnvcuvid.so"}),
      library("/l/libGLX_nvidia.so.580.95.05", "libGLX_nvidia.so.0", {}),
      library("/l/libnvidia-opticalflow.so.580.95.05", "", {"libnvidia-opticalflow.so.1"}),
      library("/l/libnvidia-tls.so.580.95.05", "libnvidia-tls.so.580.95.05", {}),
  };
  EXPECT_THAT(arguments_of(common_hooks(files, {}), "create-symlinks"),
              ElementsAre("--link", "libcuda.so.1::/l/libcuda.so",                          //
                          "--link", "libcuda.so.580.95.05::/l/libcuda.so.1",                //
                          "--link", "libnvcuvid.so.1::/l/libnvcuvid.so",                    //
                          "--link", "libGLX_nvidia.so.580.95.05::/l/libGLX_indirect.so.0",  //
                          "--link", "libnvidia-opticalflow.so.1::/l/libnvidia-opticalflow.so"));
}

TEST(CdiHooks, DrawingProgramsGetTheirLinksInAHookOfTheirOwn) {
  DriverFiles files;
  files.version = "580.95.05";
  files.libraries = {library("/l/libnvidia-vulkan-producer.so.580.95.05"),
                     library("/l/libnvidia-allocator.so.580.95.05")};
  files.graphics = {{.path = "/x/libglxserver_nvidia.so.580.95.05",
                     .real_path = "/y/libglxserver_nvidia.so.580.95.05",
                     .container_path = "/x/libglxserver_nvidia.so.580.95.05"}};
  EXPECT_THAT(arguments_of(common_hooks(files, {}), "create-symlinks"),
              ElementsAre("--link", "../libnvidia-allocator.so.1::/l/gbm/nvidia-drm_gbm.so",  //
                          "--link",
                          "libnvidia-vulkan-producer.so.580.95.05::/l/libnvidia-vulkan-producer.so",
                          "--link", "libglxserver_nvidia.so.580.95.05::/x/libglxserver_nvidia.so"));
}

TEST(CdiHooks, MemoryLimitsAreSetOutsideOfTheContainer) {
  const auto hook =
      memory_limit_hook({.driver_root = "/run/nvidia/driver", .limits_memory = true}, "GPU-1");
  EXPECT_THAT(hook, Optional(Field(&CdiHook::stage, "createRuntime")));
  EXPECT_THAT(hook, Optional(Field(
                        &CdiHook::args,
                        ElementsAre("nvidia-ctk", "hook", "apply-cuda-memory-limits",
                                    "--driver-root", "/run/nvidia/driver", "--gpu-id", "GPU-1"))));
}

}  // namespace
}  // namespace tranche::core
