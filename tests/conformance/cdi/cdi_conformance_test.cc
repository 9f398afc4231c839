// SPDX-License-Identifier: Apache-2.0
//
// Our CDI specifications against those of NVIDIA's own tool, on the same
// simulated node: equal thing by thing, but for differences that are explained.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "base/path.h"
#include "base/text.h"
#include "core/cdi/cdi_plan.h"
#include "core/grant/cdi_names.h"
#include "formats/cdi_json.h"
#include "formats/testing/ld_cache_bytes.h"
#include "node/cdi/cdi_writer.h"
#include "node/cdi/toolkit_reader.h"
#include "os/files.h"
#include "os/testing/temp_dir.h"
#include "testbed/worlds/builtin.h"
#include "tests/conformance/cdi/compared_node.h"
#include "tests/conformance/cdi/explained.h"
#include "tests/conformance/cdi/nvidia_ctk.h"

namespace tranche::tests {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

using Names = std::vector<std::string>;

sim::World world_named(const std::string& name) {
  const Result<sim::World> world = sim::builtin_world(name);
  if (!world) std::abort();
  return *world;
}

// What nvidia-ctk complains of on this node; empty when it is content.
std::string failure_of(const ComparedNode& node, const Names& flags) {
  const Result<std::string> theirs = nvidia_ctk_generate(node.root(), flags);
  return theirs ? "" : theirs.error().message;
}

void put_socket(const std::string& path) {
  ASSERT_TRUE(make_directories(parent_of(path)));
  std::filesystem::remove(path);
  ASSERT_EQ(::mknod(path.c_str(), S_IFSOCK | 0666, 0), 0);
}

class CdiConformance : public testing::Test {
 protected:
  void SetUp() override {
    const std::string missing = nvidia_ctk_missing();
    if (missing.empty()) return;
    // A comparison that was not made proves nothing: where it counts, that is
    // a failure.
    if (std::getenv("CI") != nullptr) FAIL() << "NOT COMPARED WITH nvidia-ctk: " << missing;
    GTEST_SKIP() << "NOT COMPARED WITH nvidia-ctk: " << missing;
  }
};

class EveryWorld : public CdiConformance, public testing::WithParamInterface<std::string> {};

TEST_P(EveryWorld, GetsTheSameGpuSpecification) {
  ComparedNode(world_named(GetParam())).compare_gpus();
}

Names world_names() {
  Names names;
  for (const sim::BuiltinText& world : sim::builtin_texts()) names.push_back(world.name);
  return names;
}
std::string test_name(const testing::TestParamInfo<std::string>& world) {
  std::string name = world.param;
  std::ranges::replace(name, '-', '_');
  return name;
}
INSTANTIATE_TEST_SUITE_P(Worlds, EveryWorld, testing::ValuesIn(world_names()), test_name);

TEST_F(CdiConformance, DevicesNamedByIndex) {
  const ComparedNode node(world_named("dgx-a100-mig-mixed"));
  node.compare_with(
      {"--device-name-strategy", "index", "--nvidia-cdi-hook-path", "/usr/bin/nvidia-ctk"},
      node.plan({}, {.ids = DeviceIdStrategy::kIndex}), "gpu");
}

TEST_F(CdiConformance, TheOtherHookProgram) {
  ComparedNode(world_named("t4-single")).compare_gpus({.hook_path = "/opt/bin/nvidia-cdi-hook"});
}

TEST_F(CdiConformance, DisabledHooks) {
  const ComparedNode node(world_named("t4-single"));
  node.compare_gpus(
      {.disabled_hooks = {"enable-cuda-compat", "apply-cuda-memory-limits"}},
      {"--disable-hook", "enable-cuda-compat", "--disable-hook", "apply-cuda-memory-limits"});
  node.compare_gpus({.disabled_hooks = {"all"}}, {"--disable-hook", "all"});
}

TEST_F(CdiConformance, FeatureFlags) {
  const ComparedNode node(world_named("l40s"));
  put_socket(node.path("/run/nvidia-persistenced/socket"));
  ASSERT_TRUE(write_atomically(node.path("/usr/lib/x86_64-linux-gnu/libOpenCL.so"), ""));
  node.compare_gpus();
  for (const char* flag : {"disable-ipc-discoverer", "enable-explicit-driver-libraries",
                           "no-additional-gids-for-device-nodes"}) {
    SCOPED_TRACE(flag);
    node.compare_gpus({.feature_flags = {flag}}, {"--feature-flag", flag});
  }
}

TEST_F(CdiConformance, NodesThatBelongToAGroup) {
  const ComparedNode node(world_named("l40s"));
  for (const auto& [pci, nodes] : node.files().drm) {
    for (const std::string& path : nodes) {
      ASSERT_EQ(::chown(node.path(path).c_str(), 0, 44), 0);
      ASSERT_EQ(::chmod(node.path(path).c_str(), 0660), 0);
    }
  }
  node.compare_gpus();
}

TEST_F(CdiConformance, LibrariesThatNameThemselves) {
  const ComparedNode node(world_named("t4-single"));
  const std::string version = node.inventory().driver_version;
  const std::string library = node.path("/usr/lib/x86_64-linux-gnu/libcuda.so." + version);
  std::filesystem::remove(library);
  std::filesystem::copy_file(TRANCHE_CDI_LIBRARY, library);
  node.compare_gpus();
  EXPECT_THAT(node.plan().specs.at(0).common.hooks.at(1).args,
              Contains("libcuda.so." + version + "::/usr/lib/x86_64-linux-gnu/libcuda.so.1"));
}

TEST_F(CdiConformance, FilesThatOnlySomeNodesHave) {
  const ComparedNode node(world_named("t4-single"));
  const std::string version = node.inventory().driver_version;
  const std::string lib = "/usr/lib/x86_64-linux-gnu/";
  const Names files = {lib + "libnvidia-nvvm70.so.4",
                       lib + "libnvidia-egl-xcb.so.1.0.1",
                       lib + "libnvidia-vulkan-producer.so." + version,
                       "/usr/bin/nvidia-xconfig",
                       "/lib/firmware/nvidia/" + version + "/ucodes_tu10x.bin",
                       "/etc/egl/egl_external_platform.d/20_nvidia_xcb.json",
                       "/usr/share/vulkan/icd.d/nvidia_icd.x86_64.json"};
  put_socket(node.path("/run/nvidia-fabricmanager/socket"));
  for (const std::string& file : files) {
    ASSERT_TRUE(make_directories(parent_of(node.path(file))));
    ASSERT_TRUE(write_atomically(node.path(file), "", 0755));
  }
  node.compare_gpus();
}

// A host's MPS folder is nobody's: neither hands it out.
TEST_F(CdiConformance, ExplainedAreFilesBehindLinks) {
  const ComparedNode node(world_named("t4-single"));
  const std::string program = node.path("/usr/bin/nvidia-smi");
  std::filesystem::create_directories(node.path("/opt/nvidia"));
  std::filesystem::rename(program, node.path("/opt/nvidia/nvidia-smi"));
  std::filesystem::create_symlink("../../opt/nvidia/nvidia-smi", program);
  std::filesystem::create_directories(node.path("/tmp/nvidia-mps"));
  EXPECT_THAT(node.compare_gpus(), Contains("linked driver files"));
}

TEST_F(CdiConformance, ExplainedAreSocketsThatAreNone) {
  const ComparedNode node(world_named("t4-single"));
  const std::string socket = node.path("/run/nvidia-persistenced/socket");
  put_socket(socket);
  EXPECT_THAT(node.compare_gpus(), Not(Contains("sockets of daemons")));
  std::filesystem::remove(socket);
  ASSERT_TRUE(write_atomically(socket, ""));
  EXPECT_THAT(node.compare_gpus(), Contains("sockets of daemons"));
}

TEST_F(CdiConformance, ExplainedAreWholeMigGpusAndLinksToGraphicsNodes) {
  const std::set<std::string> used = ComparedNode(world_named("dgx-a100-mig-mixed")).compare_gpus();
  EXPECT_THAT(used, Contains("whole MIG GPU"));
  EXPECT_THAT(ComparedNode(world_named("l40s")).compare_gpus(),
              Contains("links to graphics nodes"));
}

TEST_F(CdiConformance, OtherClasses) {
  sim::World world = world_named("t4-single");
  world.extras = {.nvidia_fs = 2, .gdrdrv = true, .infiniband = 2, .imex_channels = 1};
  const ComparedNode node(world);
  std::filesystem::create_directories(node.path("/run/udev"));
  ASSERT_TRUE(write_atomically(node.path("/etc/cufile.json"), "{}"));
  const GrantOptions grant = {.gds = true, .mofed = true, .gdrcopy = true, .imex_channels = {0}};
  for (const char* mode : {"gds", "mofed", "gdrcopy"}) {
    SCOPED_TRACE(mode);
    node.compare_class(mode, grant, {"--mode", mode});
  }
  EXPECT_THAT(node.compare_class("imex-channel", grant, {"--mode", "imex", "--no-all-device"}),
              Contains("IMEX channel numbers"));
}

TEST_F(CdiConformance, RuntimesFindEveryDeviceThatWeSayTheyDo) {
  sim::World world = world_named("dgx-a100-mig-mixed");
  world.extras = {.nvidia_fs = 1, .gdrdrv = true, .infiniband = 1, .imex_channels = 1};
  world.gpus.at(4).mig.instances.at(0).compute.at(0).uuid = MigUuid("MIG-GPU-old/1/0");
  const ComparedNode node(world);
  for (const DeviceIdStrategy ids : {DeviceIdStrategy::kUuid, DeviceIdStrategy::kIndex}) {
    const TempDir folder;
    CdiWriter writer(folder.path());
    const CdiState state = writer.refresh(node.plan(
        {}, {.ids = ids, .gds = true, .mofed = true, .gdrcopy = true, .imex_channels = {0}}));
    EXPECT_THAT(state.devices, testing::SizeIs(5));
    Names ours;
    for (const auto& [device_class, names] : state.devices) {
      for (const std::string& name : names) ours.push_back(cdi_qualified_name(device_class, name));
    }
    const Result<Names> found = nvidia_ctk_list(folder.path());
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_THAT(*found, testing::UnorderedElementsAreArray(ours));
  }
}

TEST_F(CdiConformance, TheToolsVersionIsReadFromTheTool) {
  const Result<std::string> tool = nvidia_ctk_path();
  ASSERT_TRUE(tool) << tool.error().message;
  EXPECT_EQ(to_string(ToolkitReader().look({.hook_path = *tool}, "/")), "1.20.1");
}

TEST_F(CdiConformance, ADriverInAFolderOfItsOwn) {
  const ComparedNode node(world_named("t4-single"));
  const std::string usual = "/usr/lib/x86_64-linux-gnu", own = "/opt/nvidia/lib";
  std::filesystem::create_directories(node.path("/opt/nvidia"));
  std::filesystem::rename(node.path(usual), node.path(own));
  std::vector<LdCacheEntry> entries;
  for (const char* name : {"libcuda.so.1", "libnvidia-ml.so.1", "libnvidia-ml.so",
                           "libnvidia-egl-gbm.so.1", "libnvidia-allocator.so.1"}) {
    entries.push_back({.path = below(own, name)});
  }
  ASSERT_TRUE(write_atomically(node.path("/etc/ld.so.cache"), ld_cache_bytes(entries)));
  node.compare_gpus();
  EXPECT_EQ(node.files().library_folders, Names{own});
}

TEST_F(CdiConformance, WithNothingToGiveTheyFailAndWeSayWhy) {
  const ComparedNode node(world_named("t4-single"));
  EXPECT_THAT(failure_of(node, {"--mode", "gds", "--class", "gds"}),
              HasSubstr("empty device edits"));
  const CdiPlan plan = node.plan({}, {.gds = true});
  EXPECT_THAT(plan.left_out.at("gds"), HasSubstr("/dev/nvidia-fs*"));
}

TEST_F(CdiConformance, OneGpuThatDoesNotAnswerCostsThemAllOfThem) {
  sim::World world = world_named("t4-quad");
  const std::size_t all = ComparedNode(world).plan().specs.at(0).devices.size();
  world.gpus.at(1).state = sim::Gpu::State::kLost;
  const ComparedNode node(world);
  EXPECT_THAT(failure_of(node, {"--mode", "nvml"}),
              HasSubstr("error getting device handle for index '1'"));
  EXPECT_EQ(node.plan().specs.at(0).devices.size(), all);
}

TEST_F(CdiConformance, OldMigIdsAreNoNamesToThem) {
  sim::World world = world_named("a30-mig");
  auto& device = world.gpus.at(0).mig.instances.at(0).compute.at(0);
  device.uuid = MigUuid("MIG-" + world.gpus.at(0).uuid.text + "/1/0");
  const ComparedNode node(world);
  EXPECT_THAT(failure_of(node, {"--mode", "nvml", "--device-name-strategy", "uuid"}),
              HasSubstr("invalid character '/' in device name"));
  const CdiPlan plan = node.plan();
  EXPECT_THAT(*cdi_json(plan.specs.at(0)), HasSubstr("MIG-" + world.gpus.at(0).uuid.text + "_1_0"));
}

TEST_F(CdiConformance, AbsoluteLinksLeadThemOutOfTheDriverRoot) {
  const ComparedNode node(world_named("t4-single"));
  const std::string program = node.path("/usr/bin/nvidia-smi");
  std::filesystem::create_directories(node.path("/opt/tranche-test"));
  std::filesystem::rename(program, node.path("/opt/tranche-test/nvidia-smi"));
  std::filesystem::create_symlink("/opt/tranche-test/nvidia-smi", program);
  const auto theirs = nvidia_ctk_generate(node.root(), {"--mode", "nvml"});
  ASSERT_TRUE(theirs);
  EXPECT_THAT(*theirs, Not(HasSubstr("nvidia-smi")));
  EXPECT_THAT(*cdi_json(node.plan().specs.at(0)),
              HasSubstr(node.path("/opt/tranche-test/nvidia-smi")));
}

// Needs no tool: always runs.
TEST(CdiDifferences, AreThoseOfTheDocument) {
  const Result<std::string> document = read_file(TRANCHE_CDI_DIFFERENCES);
  ASSERT_TRUE(document);
  std::set<std::string> documented;
  for (const std::string& line : split(*document, '\n')) {
    if (line.starts_with("## ")) break;  // other tables follow
    const Names cells = split(line, '|');
    if (cells.size() < 4) continue;
    const std::string_view first = trim(cells[1]);
    if (first != "difference" && !first.starts_with("-")) documented.emplace(first);
  }
  std::set<std::string> known;
  for (const Explained& difference : explained_differences("/", {}, {})) {
    known.insert(difference.name);
  }
  for (const std::string& name : differences_with_tests_of_their_own()) known.insert(name);
  EXPECT_EQ(documented, known);
}

}  // namespace
}  // namespace tranche::tests
