// SPDX-License-Identifier: Apache-2.0
#include "programs/settings/sharing_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "programs/settings/testing/loading.h"

namespace tranche::programs {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;
using namespace tranche::programs::testing;

const std::string kGpuUuid = "GPU-b1028956-cfa2-0990-bf4a-5da9abb51763";
const std::string kMigUuid = "MIG-b1028956-cfa2-0990-bf4a-5da9abb51763";

Result<Loaded> load_slicing(const std::string& section) {
  return load_file("sharing: {timeSlicing: " + section + "}\n");
}
Result<Loaded> load_rows(const std::string& rows) {
  return load_slicing("{resources: [" + rows + "]}");
}
Result<Loaded> load_devices(const std::string& devices) {
  return load_rows("{name: gpu, replicas: 2, devices: " + devices + "}");
}

ResourceName nvidia(const std::string& name) { return ResourceName("nvidia.com/" + name); }

TEST(TimeSlicing, NeedsResources) {
  for (const char* section :
       {"", "null", "{}", "{resources: []}", "{resources: null}", "{renameByDefault: true}"}) {
    EXPECT_THAT(problem_of(load_slicing(section)),
                StartsWith("config.yaml:1: sharing.timeSlicing: no resources specified"))
        << section;
  }
  EXPECT_TRUE(load_file("sharing: {}\n"));
  EXPECT_TRUE(load_file("sharing:\n"));
}

TEST(TimeSlicing, ReadsARowWithItsDefaults) {
  const auto loaded = load_rows("{name: valid, replicas: 2}");
  ASSERT_TRUE(loaded) << problem_of(loaded);
  EXPECT_THAT(loaded->settings.sharing.replications,
              ElementsAre(Replication{.resource = nvidia("valid"), .replicas = 2}));
  EXPECT_FALSE(loaded->settings.sharing.fail_requests_greater_than_one);
  EXPECT_THAT(loaded->notices, IsEmpty());
}

TEST(TimeSlicing, ReadsAllThatARowCanHave) {
  const auto loaded = load_slicing(
      "{failRequestsGreaterThanOne: true, resources: [{name: nvidia.com/gpu, rename: "
      "example.com/slice, devices: [0, '0:1'], replicas: 1}]}");
  ASSERT_TRUE(loaded) << problem_of(loaded);
  const std::vector<DeviceRef> devices{GpuIndex{0}, MigIndex{0, 1}};
  EXPECT_THAT(loaded->settings.sharing.replications,
              ElementsAre(Replication{.resource = nvidia("gpu"),
                                      .rename = ResourceName("example.com/slice"),
                                      .devices = devices,
                                      .replicas = 1}));
  EXPECT_TRUE(loaded->settings.sharing.fail_requests_greater_than_one);
}

TEST(TimeSlicing, NamesWhatARowLacks) {
  EXPECT_THAT(problem_of(load_rows("{}")),
              AllOf(HasSubstr("resources[0]: no resource name specified"),
                    HasSubstr("resources[0]: no replicas specified")));
  EXPECT_THAT(problem_of(load_rows("{name: valid}")), HasSubstr("no replicas specified"));
  EXPECT_THAT(problem_of(load_rows("{name: valid, devices: all}")),
              HasSubstr("no replicas specified"));
  EXPECT_THAT(problem_of(load_rows("{name: valid, rename: valid-shared, devices: all}")),
              HasSubstr("no replicas specified"));
  EXPECT_THAT(problem_of(load_rows("{replicas: 2}")), HasSubstr("no resource name specified"));
}

TEST(TimeSlicing, BoundsTheReplicas) {
  for (const char* count : {"1", "2", "16384", "1000000"}) {
    EXPECT_TRUE(load_rows(std::string("{name: gpu, replicas: ") + count + "}")) << count;
  }
  for (const char* count : {"0", "-1", "-99999999999999"}) {
    EXPECT_THAT(problem_of(load_rows(std::string("{name: gpu, replicas: ") + count + "}")),
                HasSubstr("resources[0].replicas: number of replicas must be >= 1"))
        << count;
  }
  for (const char* count : {"1000001", "99999999999999999999"}) {
    EXPECT_THAT(problem_of(load_rows(std::string("{name: gpu, replicas: ") + count + "}")),
                HasSubstr("must be at most 1000000"))
        << count;
  }
  for (const char* count : {"2.0", "'2'", "1e3", "0x10", "[2]", "two"}) {
    EXPECT_THAT(problem_of(load_rows(std::string("{name: gpu, replicas: ") + count + "}")),
                HasSubstr("expected a whole number"))
        << count;
  }
}

TEST(TimeSlicing, ChecksNames) {
  EXPECT_THAT(
      problem_of(load_rows("{name: $invalid$, replicas: 2, rename: valid-shared}")),
      HasSubstr("resources[0].name: incorrect format for resource name 'nvidia.com/$invalid$'"));
  EXPECT_THAT(problem_of(load_rows("{name: valid, replicas: 2, rename: $invalid$}")),
              HasSubstr("resources[0].rename: incorrect format"));
  EXPECT_THAT(problem_of(load_rows("{name: valid, replicas: 2, rename: ''}")),
              HasSubstr("incorrect"));
  EXPECT_THAT(problem_of(load_rows("{name: " + std::string(60, 'a') + ", replicas: 2}")),
              HasSubstr("must be 63 characters or less"));
}

TEST(TimeSlicing, KeepsARenameToTheSameName) {
  const auto loaded = load_rows("{name: valid, replicas: 2, rename: valid}");
  EXPECT_EQ(loaded->settings.sharing.replications[0].rename, nvidia("valid"));
}

TEST(RenameByDefault, FillsInWhatIsNotGiven) {
  const auto loaded = load_slicing(
      "{renameByDefault: true, resources: [{name: gpu, replicas: 2}, {name: mig-1g.5gb, replicas: "
      "2, "
      "rename: small}]}");
  ASSERT_TRUE(loaded) << problem_of(loaded);
  EXPECT_EQ(loaded->settings.sharing.replications[0].rename, nvidia("gpu.shared"));
  EXPECT_EQ(loaded->settings.sharing.replications[1].rename, nvidia("small"));
}

TEST(RenameByDefault, RefusesNamesThatBecomeTooLong) {
  const std::string name(50, 'a');
  EXPECT_TRUE(load_rows("{name: " + name + ", replicas: 2}"));
  EXPECT_THAT(problem_of(load_slicing("{renameByDefault: true, resources: [{name: " + name +
                                      ", replicas: 2}]}")),
              AllOf(HasSubstr("renameByDefault"), HasSubstr("63 characters or less")));
}

TEST(Devices, AreAllACountOrAList) {
  const auto selection = [](const std::string& devices) {
    const auto loaded = load_devices(devices);
    EXPECT_TRUE(loaded) << devices << ": " << problem_of(loaded);
    return loaded ? loaded->settings.sharing.replications[0].devices
                  : DeviceSelection(AllDevices{});
  };
  using List = std::vector<DeviceRef>;
  EXPECT_EQ(selection("all"), DeviceSelection(AllDevices{}));
  EXPECT_EQ(selection("'all'"), DeviceSelection(AllDevices{}));
  EXPECT_EQ(selection("2"), DeviceSelection(FirstDevices{2}));
  EXPECT_EQ(selection("[0]"), DeviceSelection(List{GpuIndex{0}}));
  EXPECT_EQ(selection("['0']"), DeviceSelection(List{GpuIndex{0}}));
  EXPECT_EQ(selection("['0:0']"), DeviceSelection(List{MigIndex{0, 0}}));
  EXPECT_EQ(selection("[0:0]"), DeviceSelection(List{MigIndex{0, 0}}));
  EXPECT_EQ(selection("[" + kGpuUuid + "]"), DeviceSelection(List{AnyUuid{kGpuUuid}}));
  EXPECT_EQ(selection("[" + kMigUuid + "]"), DeviceSelection(List{AnyUuid{kMigUuid}}));
  EXPECT_EQ(selection("[MIG-" + kGpuUuid + "/0/0]"),
            DeviceSelection(List{AnyUuid{"MIG-" + kGpuUuid + "/0/0"}}));
  EXPECT_EQ(selection("[0, '0:0', " + kGpuUuid + "]"),
            DeviceSelection(List{GpuIndex{0}, MigIndex{0, 0}, AnyUuid{kGpuUuid}}));
}

TEST(Devices, KeepNvidiasWordsWhenTheyAreWrong) {
  EXPECT_THAT(problem_of(load_devices("not-all")),
              HasSubstr("devices set as 'not-all' but the only valid string input is 'all'"));
  EXPECT_THAT(problem_of(load_devices("'2'")), HasSubstr("the only valid string input is 'all'"));
  EXPECT_THAT(problem_of(load_devices("0")),
              HasSubstr("devices set as '0' but a count of devices must be > 0"));
  EXPECT_THAT(problem_of(load_devices("-2")), HasSubstr("a count of devices must be > 0"));
  for (const char* spec : {"2.0", "true", "{a: b}", "1e3"}) {
    EXPECT_THAT(problem_of(load_devices(spec)), HasSubstr("unrecognized type for devices spec"))
        << spec;
  }
  for (const char* list :
       {"[-1]", "['-1']", "[invalid-UUID]", "[GPU-UUID]", "[MIG-UUID]", "[[0]]", "[true]", "[1.5]",
        "[null]", "['']", "[MIG-GPU-b1028956-cfa2-0990-bf4a-5da9abb51763]"}) {
    EXPECT_THAT(problem_of(load_devices(list)),
                HasSubstr("resources[0].devices: unsupported type for device in devices list"))
        << list;
  }
  EXPECT_THAT(problem_of(load_devices("[]")), HasSubstr("selects no device"));
  EXPECT_THAT(problem_of(load_devices("[0, '0']")), HasSubstr("lists 0 twice"));
}

struct Overlap {
  std::string first;
  std::string second;
};

Result<Loaded> load_two(const Overlap& rows) {
  return load_file(
      "sharing:\n timeSlicing:\n  resources:\n  - {name: gpu, replicas: 2, devices: " + rows.first +
      "}\n  - {name: nvidia.com/gpu, replicas: 3, devices: " + rows.second + "}\n");
}

TEST(Rows, MustNotSelectTheSameDevice) {
  for (const Overlap& rows : std::vector<Overlap>{{"all", "all"},
                                                  {"all", "[3]"},
                                                  {"[3]", "all"},
                                                  {"2", "all"},
                                                  {"2", "1"},
                                                  {"2", "[1]"},
                                                  {"[5, 1]", "2"},
                                                  {"[0, 1]", "[1, 2]"},
                                                  {"['0:1']", "['0:1']"},
                                                  {"[" + kGpuUuid + "]", "[" + kGpuUuid + "]"}}) {
    EXPECT_THAT(problem_of(load_two(rows)),
                StartsWith("config.yaml:5: sharing.timeSlicing.resources[1]: selects devices of "
                           "nvidia.com/gpu that the row on line 4 selects too"))
        << rows.first << " and " << rows.second;
  }
}

TEST(Rows, MaySelectDifferentDevicesOfOneResource) {
  for (const Overlap& rows : std::vector<Overlap>{{"[0]", "[1]"},
                                                  {"[0]", "[" + kGpuUuid + "]"},
                                                  {"[0]", "['0:1']"},
                                                  {"2", "[2]"},
                                                  {"[2]", "2"}}) {
    const auto loaded = load_two(rows);
    EXPECT_TRUE(loaded) << rows.first << " and " << rows.second << ": " << problem_of(loaded);
  }
  EXPECT_TRUE(load_rows("{name: valid1, replicas: 2}, {name: valid2, replicas: 2}"));
}

TEST(Resources, GiveNamesByPattern) {
  const auto loaded = load_file(
      "resources:\n"
      "  gpus:\n"
      "  - {pattern: '*A100*', name: gpu-a100}\n"
      "  - {pattern: '*', name: example.com/gpu}\n"
      "  mig:\n"
      "  - {pattern: 1g.5gb, name: small}\n");
  ASSERT_TRUE(loaded) << problem_of(loaded);
  EXPECT_THAT(loaded->settings.sharing.gpu_names,
              ElementsAre(NameRule{"*A100*", nvidia("gpu-a100")},
                          NameRule{"*", ResourceName("example.com/gpu")}));
  EXPECT_THAT(loaded->settings.sharing.mig_names, ElementsAre(NameRule{"1g.5gb", nvidia("small")}));
  EXPECT_TRUE(load_file("resources: {gpus: []}\n"));
}

TEST(Resources, NeedPatternAndName) {
  for (const char* section : {"gpus", "mig"}) {
    const std::string start = std::string("resources: {") + section + ": [";
    EXPECT_THAT(problem_of(load_file(start + "{name: a}]}\n")),
                HasSubstr("resources must have a 'pattern' field set"));
    EXPECT_THAT(problem_of(load_file(start + "{pattern: '', name: a}]}\n")),
                HasSubstr("resources must have a 'pattern' field set"));
    EXPECT_THAT(problem_of(load_file(start + "{pattern: a}]}\n")),
                HasSubstr("resources must have a 'name' field set"));
    EXPECT_THAT(problem_of(load_file(start + "{pattern: a, name: A_B}]}\n")),
                HasSubstr("[0].name: incorrect format"));
  }
}

TEST(Notices, TellWhatNvidiasPluginIgnores) {
  const auto loaded = load_file(
      "resources:\n"
      "  gpus: [{pattern: '*', name: a}]\n"
      "sharing:\n"
      "  timeSlicing:\n"
      "    resources:\n"
      "    - name: a\n"
      "      rename: b\n"
      "      devices: 2\n"
      "      replicas: 2\n"
      "    - {name: c, rename: c.shared, devices: all, replicas: 2}\n");
  ASSERT_TRUE(loaded) << problem_of(loaded);
  EXPECT_THAT(
      loaded->notices,
      ElementsAre(StartsWith("config.yaml:2: resources.gpus: honoured here"),
                  StartsWith("config.yaml:8: sharing.timeSlicing.resources[0].devices: honoured"),
                  StartsWith("config.yaml:7: sharing.timeSlicing.resources[0].rename: honoured")));
}

TEST(DeviceListStrategy, IsOneTextOrAList) {
  const auto strategy = [](const std::string& value) {
    return load_file("flags: {plugin: {deviceListStrategy: " + value + "}}\n");
  };
  EXPECT_EQ(strategy("envvar")->settings.grant.list, (DeviceListStrategy{.envvar = true}));
  EXPECT_EQ(strategy("[envvar, cdi-annotations]")->settings.grant.list,
            (DeviceListStrategy{.envvar = true, .cdi_annotations = true}));
  EXPECT_THAT(problem_of(strategy("'envvar,cdi-cri'")),
              HasSubstr("invalid strategy: envvar,cdi-cri"));
  EXPECT_THAT(problem_of(strategy("[]")), HasSubstr("at least one of envvar"));
  EXPECT_THAT(problem_of(strategy("5")), HasSubstr("expected text or a list of texts"));
  EXPECT_THAT(problem_of(strategy("[envvar, true]")),
              HasSubstr("found the boolean true in the list"));
}

}  // namespace
}  // namespace tranche::programs
