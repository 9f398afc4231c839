// SPDX-License-Identifier: Apache-2.0
#include "testbed/world/mig_layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "core/gpu/mig_profile.h"
#include "testbed/world/defaults.h"

namespace tranche::testbed::sim {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Gpu gpu_of(const std::string& model) {
  return default_gpu(model, find_model(model).value_or(Model{}), 0);
}

// "id:profile@start", one for each GPU instance.
std::vector<std::string> laid_out(const std::string& model, const std::string& layout) {
  const auto instances = lay_out(gpu_of(model), {}, *parse_layout(layout));
  if (!instances) return {instances.error().message};
  std::vector<std::string> texts;
  for (const GpuInstance& each : *instances) {
    texts.push_back(std::to_string(each.id) + ":" + each.profile + "@" +
                    std::to_string(each.placement.start));
  }
  return texts;
}

TEST(MigLayout, PutsInstancesWhereTheDriverDoes) {
  // As the vendor's guide prints them after `nvidia-smi mig -cgi`.
  EXPECT_THAT(laid_out("a100-sxm4-40gb", "3g.20gb,2g.10gb,1g.5gb,1g.5gb"),
              ElementsAre("2:3g.20gb@4", "3:2g.10gb@0", "9:1g.5gb@2", "10:1g.5gb@3"));
  EXPECT_THAT(laid_out("a100-sxm4-40gb", "4g.20gb,2g.10gb,1g.5gb"),
              ElementsAre("1:4g.20gb@0", "5:2g.10gb@4", "13:1g.5gb@6"));
  EXPECT_THAT(laid_out("a100-sxm4-40gb", "3g.20gb,3g.20gb"),
              ElementsAre("1:3g.20gb@0", "2:3g.20gb@4"));
  EXPECT_THAT(laid_out("h100-sxm", "7g.80gb"), ElementsAre("0:7g.80gb@0"));
}

TEST(MigLayout, FitsWhatCanFitInAnyOrder) {
  EXPECT_EQ(laid_out("a100-sxm4-40gb", "1g.5gb,1g.5gb,2g.10gb,3g.20gb"),
            laid_out("a100-sxm4-40gb", "3g.20gb,2g.10gb,1g.5gb,1g.5gb"));
  EXPECT_EQ(laid_out("h200-sxm", "1g.18gb,1g.18gb,1g.18gb,1g.18gb,1g.18gb,1g.18gb,1g.18gb").size(),
            7U);
  EXPECT_EQ(laid_out("rtx-pro-6000", "1g.24gb,1g.24gb,2g.48gb").size(), 3U);
}

TEST(MigLayout, RefusesWhatDoesNotFit) {
  EXPECT_THAT(laid_out("a100-sxm4-40gb", "4g.20gb,4g.20gb").front(), HasSubstr("no room"));
  EXPECT_THAT(laid_out("a100-sxm4-40gb", "1g.5gb+me,1g.5gb+me").front(), HasSubstr("no room"));
  EXPECT_THAT(laid_out("a30", "2g.12gb,2g.12gb,1g.6gb").front(), HasSubstr("no room"));
  EXPECT_THAT(laid_out("t4", "1g.5gb").front(), HasSubstr("has no MIG"));
  EXPECT_THAT(laid_out("a30", "2g.12gb:3c").front(), HasSubstr("no compute instance of 3"));
  EXPECT_THAT(parse_layout("2g.12gb:x").error().message, HasSubstr("write 1c, 2c"));
}

TEST(MigLayout, CutsInstancesIntoComputeInstances) {
  const auto instances = lay_out(gpu_of("a100-sxm4-40gb"), {}, *parse_layout("3g.20gb:1c:2c"));
  ASSERT_TRUE(instances) << instances.error().message;
  const auto& compute = instances->front().compute;
  ASSERT_EQ(compute.size(), 2U);
  EXPECT_EQ(compute[0].placement, (Placement{0, 2}));
  EXPECT_EQ(compute[1].placement, (Placement{2, 1}));
  EXPECT_EQ(compute[0].index, 0U);
  EXPECT_EQ(compute[1].index, 1U);
  EXPECT_TRUE(lay_out(gpu_of("a30"), {}, *parse_layout("4g.24gb:"))->front().compute.empty());
}

TEST(MigLayout, NamesDevicesAsTheDriverOfItsTimeDid) {
  const Gpu gpu = gpu_of("a100-sxm4-40gb");
  const auto uuid = [&](const std::string& version) {
    return lay_out(gpu, {.version = version}, *parse_layout("7g.40gb"))->front().compute[0].uuid;
  };
  EXPECT_EQ(uuid("460.91.03").text, "MIG-" + gpu.uuid.text + "/0/0");
  EXPECT_EQ(uuid("470.57.02").text.substr(0, 4), "MIG-");
  EXPECT_EQ(uuid("470.57.02").text.size(), 40U);
  EXPECT_EQ(uuid("470.57.02"), uuid("580.1"));
}

TEST(MigLayout, GivesADeviceTheUuidOfItsInstancesWhateverTheirProfile) {
  const Gpu gpu = gpu_of("a100-sxm4-40gb");
  const auto uuid = [&](const std::string& layout) {
    return lay_out(gpu, {}, *parse_layout(layout))->front().compute[0].uuid;
  };
  EXPECT_EQ(uuid("4g.20gb"), uuid("3g.20gb,3g.20gb")) << "both are GPU instance 1";
  EXPECT_EQ(uuid("1g.5gb"), uuid("1g.5gb+me"));
  EXPECT_NE(uuid("1g.5gb"), uuid("7g.40gb"));
}

TEST(MigTables, NameProfilesByTheirMemory) {
  for (const std::string& key : model_keys()) {
    const Model model = find_model(key).value_or(Model{});
    for (const GpuInstanceProfile& profile : model.mig.profiles) {
      const std::string wanted =
          std::to_string(profile.slices) + "g." +
          std::to_string(mig_memory_gb(profile.memory_mib, model.memory_mib << 20)) + "gb";
      EXPECT_EQ(profile.name.substr(0, wanted.size()), wanted) << key;
    }
  }
}

TEST(MigTables, HaveIdsArgumentsAndPlacesThatAreValid) {
  for (const std::string& key : model_keys()) {
    const MigTable table = find_model(key).value_or(Model{}).mig;
    std::set<unsigned> ids;
    std::set<unsigned> arguments;
    for (const GpuInstanceProfile& profile : table.profiles) {
      EXPECT_TRUE(ids.insert(profile.id).second) << key << profile.name;
      EXPECT_TRUE(arguments.insert(profile.argument).second) << key << profile.name;
      EXPECT_LE(profile.instances, profile.starts.size()) << key << profile.name;
      for (const unsigned start : profile.starts) EXPECT_LE(start + profile.size, table.units);
    }
  }
}

TEST(ComputeProfiles, AreThoseOfTheVendorsTable) {
  const auto counts = [](unsigned slices) {
    std::vector<std::pair<unsigned, unsigned>> all;
    for (const auto& each : compute_profiles({.slices = slices, .multiprocessors = 14 * slices})) {
      all.emplace_back(each.id, each.instances);
    }
    return all;
  };
  EXPECT_THAT(counts(1), ElementsAre(std::pair(0U, 1U)));
  EXPECT_THAT(counts(2), ElementsAre(std::pair(0U, 2U), std::pair(1U, 1U)));
  EXPECT_THAT(counts(3), ElementsAre(std::pair(0U, 3U), std::pair(1U, 1U), std::pair(2U, 1U)));
  EXPECT_THAT(counts(4), ElementsAre(std::pair(0U, 4U), std::pair(1U, 2U), std::pair(3U, 1U)));
  EXPECT_THAT(counts(7), ElementsAre(std::pair(0U, 7U), std::pair(1U, 3U), std::pair(2U, 2U),
                                     std::pair(3U, 1U), std::pair(4U, 1U)));
}

}  // namespace
}  // namespace tranche::testbed::sim
