// SPDX-License-Identifier: Apache-2.0
#include "programs/settings/policy_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "programs/settings/testing/loading.h"
#include "programs/settings/testing/round_trip.h"

namespace tranche::programs {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;
using namespace tranche::programs::testing;

constexpr std::uint64_t kMiB = 1U << 20U;
constexpr std::uint64_t kGiB = 1U << 30U;

Result<Loaded> load_rows(const std::vector<std::string>& rows) {
  std::string file = "tranche:\n  policies:\n";
  for (const std::string& row : rows) file += "  - {" + row + "}\n";
  return load_file(file);
}

// The policy of a file with this row alone.
ResourcePolicy policy_of(const std::string& row) {
  const auto loaded = load_rows({row});
  EXPECT_TRUE(loaded) << problem_of(loaded);
  if (!loaded || loaded->settings.sharing.policies.size() != 1) return {};
  return loaded->settings.sharing.policies.front();
}

std::string problem_with(const std::string& row) { return problem_of(load_rows({row})); }

TEST(Policies, OfferWholeDevicesByDefault) {
  EXPECT_EQ(policy_of("resource: gpu"), ResourcePolicy{.resource = ResourceName("nvidia.com/gpu")});
  EXPECT_EQ(policy_of("resource: example.com/big, share: whole, distinctGpus: true").resource.text,
            "example.com/big");
}

TEST(Policies, ChooseDevicesByListModelAndProfile) {
  const ResourcePolicy policy =
      policy_of("resource: a, devices: [0, '1:2'], model: '*A100*', migProfile: '1g.*'");
  EXPECT_EQ(policy.devices, DeviceSelection(std::vector<DeviceRef>{GpuIndex{0}, MigIndex{1, 2}}));
  EXPECT_EQ(policy.model, "*A100*");
  EXPECT_EQ(policy.mig_profile, "1g.*");
  EXPECT_EQ(policy_of("resource: a, devices: 2").devices, DeviceSelection(FirstDevices{2}));
}

TEST(Policies, CutDevicesIntoReplicas) {
  const ResourcePolicy usual = policy_of("resource: a, share: replicas, replicas: 10");
  EXPECT_EQ(usual.replicas, 10U);
  EXPECT_EQ(usual.replica_memory, std::nullopt);
  EXPECT_EQ(usual.terms,
            (Terms{.form = ShareForm::kReplicas, .placement = SharePlacement::kSpread}));
  const ResourcePolicy full = policy_of(
      "resource: a, share: replicas, replicas: 4, memory: 1.5GiB, placement: packed, distinctGpus: "
      "true, failRequestsGreaterThanOne: yes, dialect: deepomatic, enforcement: mps-exclusive");
  EXPECT_EQ(full.replica_memory, 1536 * kMiB);
  EXPECT_EQ(full.terms, (Terms{.form = ShareForm::kReplicas,
                               .placement = SharePlacement::kPacked,
                               .distinct_gpus = true,
                               .one_share_only = true,
                               .dialect = Dialect::kDeepomatic,
                               .demanded = Enforcement::kMpsExclusive}));
}

TEST(Policies, CountMemoryInUnits) {
  const ResourcePolicy usual = policy_of("resource: a, share: memory");
  EXPECT_EQ(usual.unit, kGiB);
  EXPECT_EQ(usual.terms, (Terms{.form = ShareForm::kMemory, .placement = SharePlacement::kPack}));
  EXPECT_EQ(policy_of("resource: a, share: memory, unit: MiB").unit, kMiB);
  EXPECT_EQ(policy_of("resource: a, share: memory, unit: 256Mi").unit, 256 * kMiB);
  EXPECT_EQ(policy_of("resource: a, share: memory, unit: auto").unit, std::nullopt);
  const ResourcePolicy full = policy_of(
      "resource: a, share: memory, offer: largest-block, placement: spread, dialect: gpushare, "
      "enforcement: driver");
  EXPECT_EQ(full.terms, (Terms{.form = ShareForm::kMemory,
                               .placement = SharePlacement::kSpread,
                               .shown = ShownSize::kLargestBlock,
                               .dialect = Dialect::kGpushare,
                               .demanded = Enforcement::kDriver}));
}

TEST(Policies, DemandARungOrTakeWhatThereIs) {
  const std::string row = "resource: a, share: replicas, replicas: 2, enforcement: ";
  EXPECT_EQ(policy_of(row + "auto").terms.demanded, std::nullopt);
  EXPECT_EQ(policy_of(row + "none").terms.demanded, Enforcement::kNone);
  EXPECT_EQ(policy_of(row + "mps").terms.demanded, Enforcement::kMps);
}

TEST(Policies, NameWhatARowLacks) {
  EXPECT_THAT(problem_with("devices: all"),
              StartsWith("config.yaml:3: tranche.policies[0]: no resource specified"));
  EXPECT_THAT(problem_with("resource: a, share: replicas"),
              StartsWith("config.yaml:3: tranche.policies[0]: no replicas specified"));
  EXPECT_THAT(problem_of(load_file("tranche: {policies: []}\n")),
              StartsWith("config.yaml:1: tranche.policies: an empty list"));
}

TEST(Policies, RefuseKeysOfAnotherForm) {
  const std::string whole = "resource: a, ";
  const std::string replicas = "resource: a, share: replicas, replicas: 2, ";
  const std::string memory = "resource: a, share: memory, ";
  for (const auto& [row, key] : std::vector<std::pair<std::string, std::string>>{
           {whole + "replicas: 2", "replicas"},
           {whole + "memory: 4GiB", "memory"},
           {whole + "unit: GiB", "unit"},
           {whole + "offer: sum", "offer"},
           {whole + "placement: spread", "placement"},
           {replicas + "unit: GiB", "unit"},
           {replicas + "offer: sum", "offer"},
           {memory + "replicas: 2", "replicas"},
           {memory + "memory: 4GiB", "memory"},
           {memory + "distinctGpus: false", "distinctGpus"},
           {memory + "failRequestsGreaterThanOne: true", "failRequestsGreaterThanOne"}}) {
    EXPECT_THAT(problem_with(row), AllOf(StartsWith("config.yaml:3: tranche.policies[0]." + key +
                                                    ": belongs to share"),
                                         HasSubstr("leave it out, or change share")))
        << row;
  }
}

TEST(Policies, RefuseWhatMakesNoSense) {
  EXPECT_THAT(problem_with("resource: a, share: memory, placement: packed"),
              HasSubstr("policies[0].placement: packed is for replicas"));
  EXPECT_THAT(problem_with("resource: a, dialect: gpushare"), HasSubstr("needs share: memory"));
  EXPECT_THAT(problem_with("resource: a, exposure: all"), HasSubstr("needs dialect: nested-host"));
  EXPECT_THAT(problem_with("resource: a, dialect: nested-host, exposure: some"),
              HasSubstr("unknown exposure: some"));
  EXPECT_THAT(problem_with("resource: a, enforcement: mps"),
              HasSubstr("policies[0].enforcement: mps limits containers that share a device"));
  EXPECT_THAT(problem_with("resource: a, devices: ['0:1']"),
              HasSubstr("policies[0].devices: 0:1 is a MIG device, and a row without migProfile"));
  EXPECT_THAT(problem_with("resource: a, model: ''"), HasSubstr("is empty and fits nothing"));
}

TEST(Policies, NameTheNearestWord) {
  EXPECT_THAT(problem_with("resource: a, share: replica"),
              HasSubstr("policies[0].share: unknown share: replica (allowed: whole, replicas, "
                        "memory; did you mean 'replicas'?)"));
  EXPECT_THAT(problem_with("resource: a, dialect: google"), HasSubstr("unknown dialect: google"));
  EXPECT_THAT(problem_with("resource: a, share: memory, offer: all"),
              HasSubstr("unknown offer: all (allowed: sum, largest-block"));
  EXPECT_THAT(problem_with("resource: a, share: memory, unt: GiB"),
              HasSubstr("unknown key 'unt'; did you mean 'unit'?"));
}

TEST(Policies, HaveEveryValueCheckedAlsoWhereTheShareIsNotKnown) {
  EXPECT_THAT(problem_with("resource: a, share: replcas, replicas: 0, memory: 4GB, unit: gib, "
                           "offer: all"),
              AllOf(HasSubstr("policies[0].share: unknown share: replcas"),
                    HasSubstr("policies[0].replicas: number of replicas must be >= 1"),
                    HasSubstr("policies[0].memory: expected a size with its unit"),
                    HasSubstr("policies[0].unit: "), HasSubstr("unknown offer: all"),
                    Not(HasSubstr("belongs to share"))));
  EXPECT_THAT(problem_with("resource: a, share: replcas"), Not(HasSubstr("no replicas")));
}

TEST(Policies, RefuseNumbersOutOfBounds) {
  EXPECT_THAT(problem_with("resource: a, share: replicas, replicas: 0"),
              HasSubstr("policies[0].replicas: number of replicas must be >= 1"));
  EXPECT_THAT(problem_with("resource: a, share: replicas, replicas: 1000001"),
              HasSubstr("at most 1000000"));
  EXPECT_THAT(problem_with("resource: a, share: replicas, replicas: 2, memory: 4GB"),
              HasSubstr("policies[0].memory: expected a size with its unit"));
  EXPECT_THAT(problem_with("resource: a, share: replicas, replicas: 2, memory: 4096"),
              HasSubstr("expected a size with its unit, such as 4GiB, found the number 4096"));
  EXPECT_THAT(problem_with("resource: a, share: memory, unit: 0MiB"),
              HasSubstr("policies[0].unit: must be a whole number of MiB"));
}

TEST(Policies, RefuseValuesOfTheWrongType) {
  for (const char* row : {"resource: [a]", "resource: a, share: [whole]", "resource: a, model: 5",
                          "resource: a, share: replicas, replicas: many",
                          "resource: a, distinctGpus: 1", "resource: a, share: memory, unit: [GiB]",
                          "resource: a, devices: {}", "resource: a, enforcement: {}"}) {
    EXPECT_THAT(problem_with(row), StartsWith("config.yaml:3: tranche.policies[0].")) << row;
    EXPECT_THAT(problem_with(row), Not(HasSubstr("\n"))) << row;
  }
  EXPECT_THAT(problem_of(load_file("tranche: {policies: {}}\n")), HasSubstr("a list of sections"));
}

TEST(Policies, OfOneNameHaveTheSameTerms) {
  const auto same = load_rows({"resource: a, devices: [0], share: replicas, replicas: 2",
                               "resource: a, devices: [1], share: replicas, replicas: 9"});
  EXPECT_TRUE(same) << problem_of(same);
  const std::string first = "resource: a, devices: [0], share: memory";
  for (const char* key : {"unit: MiB", "offer: largest-block", "placement: spread",
                          "dialect: gpushare", "enforcement: mps"}) {
    const std::string name = std::string(key).substr(0, std::string(key).find(':'));
    EXPECT_THAT(
        problem_of(
            load_rows({first, "resource: a, devices: [1], share: memory, " + std::string(key)})),
        AllOf(StartsWith("config.yaml:4: tranche.policies[1]: nvidia.com/a has another " + name),
              HasSubstr("in the row on line 3")))
        << key;
  }
  EXPECT_THAT(problem_of(load_rows({first, "resource: nvidia.com/a, devices: [1]"})),
              HasSubstr("has another share"));
}

TEST(Policies, OfOneNameSelectNoDeviceTwice) {
  EXPECT_THAT(problem_of(load_rows({"resource: a, devices: [0]", "resource: a"})),
              HasSubstr("policies[1]: selects devices for nvidia.com/a that the row on line 3"));
  const auto by_model = load_rows({"resource: a, model: '*T4*'", "resource: a, model: '*L4*'"});
  EXPECT_TRUE(by_model) << problem_of(by_model);
  const auto two_names = load_rows({"resource: a", "resource: b, share: memory"});
  EXPECT_TRUE(two_names) << problem_of(two_names);
}

TEST(Policies, DoNotShareANameWithReplicas) {
  const std::string policies = "tranche: {policies: [{resource: example.com/a}]}\n";
  EXPECT_THAT(problem_of(load_file("sharing: {timeSlicing: {resources: [{name: gpu, rename: "
                                   "example.com/a, replicas: 2}]}}\n" +
                                   policies)),
              AllOf(StartsWith("config.yaml:2: tranche.policies[0]: offers example.com/a"),
                    HasSubstr("the row of sharing.timeSlicing on line 1")));
  EXPECT_THAT(
      problem_of(load_file("sharing: {mps: {resources: [{name: example.com/a, replicas: 2}]}}\n" +
                           policies)),
      HasSubstr("the row of sharing.mps on line 1"));
  const auto renamed = load_file(
      "sharing: {mps: {resources: [{name: example.com/a, rename: b, replicas: 2}]}}\n" + policies);
  EXPECT_TRUE(renamed) << problem_of(renamed);
}

TEST(Policies, HaveNoRemarksAboutNvidiasPlugin) {
  const auto loaded = load_rows({"resource: a, devices: [0], model: '*'"});
  ASSERT_TRUE(loaded) << problem_of(loaded);
  EXPECT_THAT(loaded->notices, IsEmpty());
}

TEST(Policies, LoadAgainAsTheSame) {
  const std::string file =
      "tranche:\n"
      "  policies:\n"
      "  - {resource: whole, devices: [0], failRequestsGreaterThanOne: true}\n"
      "  - {resource: x.com/ten, devices: [GPU-b1028956-cfa2-0990-bf4a-5da9abb51763], share: "
      "replicas, replicas: 10, memory: 1.5GiB, placement: distributed, enforcement: mps}\n"
      "  - {resource: mem, devices: 2, model: '*H\"200*', share: memory, unit: 256MiB, offer: "
      "largest-block, enforcement: none}\n"
      "  - {resource: aliyun.com/gpu-mem, share: memory, unit: auto, dialect: gpushare}\n"
      "  - {resource: slices, devices: [3], migProfile: '*', share: replicas, replicas: 3, "
      "distinctGpus: true, dialect: gcp}\n"
      "  - {resource: nested, dialect: nested-host, exposure: granted}\n"
      "  mps: {daemons: per-node, directory: /run/m, sharedMemory: on}\n"
      "sharing: {mps: {resources: [{name: gpu, replicas: 2}]}}\n";
  const auto loaded = load_file(file);
  ASSERT_TRUE(loaded) << problem_of(loaded);
  EXPECT_EQ(loaded->settings.sharing.policies.size(), 6U);
  EXPECT_EQ(round_trip_problem({{}, {"c.yaml", file}}), std::nullopt);
  EXPECT_THAT(effective_yaml(*loaded),
              ::testing::ContainsRegex("- resource: x.com/ten +# config.yaml:4\n"));
}

}  // namespace
}  // namespace tranche::programs
