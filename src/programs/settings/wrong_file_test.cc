// SPDX-License-Identifier: Apache-2.0
//
// Typical mistakes in a first configuration file, and the complete answer to each.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "os/files.h"
#include "programs/settings/file_schema.h"
#include "programs/settings/testing/loading.h"

namespace tranche::programs {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;
using namespace tranche::programs::testing;

std::string answer(const std::string& content) { return problem_of(load_file(content)); }

// The answer to a policy with these fields on line 3.
std::string policy_answer(const std::string& fields) {
  return answer("tranche:\n  policies:\n    - {resource: a.b/x, " + fields + "}\n");
}

std::vector<std::string> warnings(const std::string& content) {
  const auto loaded = load_file(content);
  return loaded ? loaded->warnings : std::vector<std::string>{loaded.error().message};
}

TEST(WrongFile, IsAWholeConfigMap) {
  EXPECT_EQ(answer("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: gpus\ndata:\n"
                   "  config.yaml: |\n    version: v1\n    flags: {}\n"),
            "config.yaml:2: this is a whole ConfigMap, not the configuration file in it; give what "
            "is below data.config.yaml, without the indentation, or mount the ConfigMap and name "
            "the file in the mount");
}

TEST(WrongFile, IsTheDataOfAConfigMap) {
  EXPECT_EQ(answer("data:\n  gpus.yaml: |\n    version: v1\n    flags: {}\n"),
            "config.yaml:1: this is a whole ConfigMap, not the configuration file in it; give what "
            "is below data.gpus.yaml, without the indentation, or mount the ConfigMap and name "
            "the file in the mount");
}

TEST(WrongFile, IsAnotherKubernetesObject) {
  EXPECT_EQ(answer("apiVersion: apps/v1\nkind: DaemonSet\nspec: {}\n"),
            "config.yaml:2: this is a Kubernetes DaemonSet, not a configuration file; a "
            "configuration file begins with 'version: v1'");
}

TEST(WrongFile, IsTheValuesOfAChart) {
  EXPECT_EQ(answer("config:\n  map:\n    default: |-\n      version: v1\n      flags: {}\n"),
            "config.yaml:1: these are values of a Helm chart, not a configuration file; give them "
            "to helm with -f, or give here what is below config.map.default");
  EXPECT_EQ(answer("nodeSelector: {}\nimage: {tag: v1}\n"),
            "config.yaml:1: these are values of a Helm chart, not a configuration file; give them "
            "to helm with -f, or give here what is below config.map.<name>");
  // Both charts have keys that a configuration file has, too.
  const std::string map = "config:\n  map:\n    default: |-\n      version: v1\n";
  for (const char* own : {"version: v1\n", "resources: {limits: {cpu: 1}}\n", "imex: {}\n"}) {
    EXPECT_EQ(answer(own + map),
              "config.yaml:2: these are values of a Helm chart, not a configuration file; give "
              "them to helm with -f, or give here what is below config.map.default");
  }
  EXPECT_THAT(answer(*read_file(TRANCHE_DOCS "/../deploy/helm/values.yaml")),
              MatchesRegex("config.yaml:[0-9]+: these are values of a Helm chart, not a "
                           "configuration file; give them to helm with -f, or give here what is "
                           "below config.map.<name>"));
}

TEST(WrongFile, IsTheFileOfGooglesPlugin) {
  EXPECT_EQ(answer(R"({"GPUSharingConfig": {"GPUSharingStrategy": "mps"}})"),
            "config.yaml:1: this is Google's gpu_config.json, which is not read here; write what "
            "it says as tranche.policies (docs/migrating-from-gcp.md has the same settings side by "
            "side)");
}

TEST(WrongFile, HasATextOfSeveralLines) {
  EXPECT_EQ(answer("version: v1\nflags:\n  migStrategy: |\n    none\n    mixed\n"),
            "config.yaml:3: a text of several lines, or with control characters; write it on one "
            "line");
}

TEST(WrongFile, IsIndentedWithTabs) {
  const std::string tab = ": not YAML: the line is indented with a tab; use spaces";
  EXPECT_EQ(answer("version: v1\nsharing:\n\ttimeSlicing: {}\n"), "config.yaml:3" + tab);
  EXPECT_EQ(answer("sharing:\n  timeSlicing:\n    resources:\n    - name: gpu\n\treplicas: 3\n"),
            "config.yaml:5" + tab);
}

TEST(WrongFile, HasNoSpaceBehindAColon) {
  EXPECT_EQ(answer("version:v1\nflags:\n  migStrategy: none\n"),
            "config.yaml:1: not YAML: the space behind the colon is missing; write 'version: v1'");
  EXPECT_EQ(answer("version:v1\n"),
            "config.yaml:1: expected a map with keys such as version and flags, found the text "
            "\"version:v1\"; a space is missing: write 'version: v1'");
  EXPECT_EQ(answer("flags:\n  migStrategy:none\n"),
            "config.yaml:1: flags: expected a section with keys, found the text "
            "\"migStrategy:none\"; a space is missing: write 'migStrategy: none'");
}

TEST(WrongFile, HasKeysInDifferentColumns) {
  EXPECT_EQ(answer("flags:\n  migStrategy: mixed\n   failOnInitError: true\n"),
            "config.yaml:3: not YAML: a key where none can be: keys of one section begin in the "
            "same column, and a value with a colon and a space in it needs quotes");
}

TEST(WrongFile, HasAPatternWithoutQuotes) {
  const std::string quotes =
      "config.yaml:2: not YAML: a value that begins with * needs quotes, such as \"*T4*\"; without "
      "them it is an alias of an anchor, and there is none of that name";
  EXPECT_EQ(answer("tranche:\n  excludeDevices: [*T4*]\n"), quotes);
  EXPECT_EQ(answer("tranche:\n  excludeDevices: *T4*\n"), quotes);
}

TEST(WrongFile, LacksABracket) {
  EXPECT_EQ(answer("{\"version\": \"v1\"\n"), "config.yaml:1: not YAML: the closing } is missing");
  EXPECT_EQ(answer("tranche:\n  excludeDevices: [0\n"),
            "config.yaml:2: not YAML: the closing ] is missing");
}

TEST(WrongFile, HasABooleanOrANumberWhereAWordBelongs) {
  EXPECT_EQ(policy_answer("share: replicas, replicas: 2, enforcement: true"),
            "config.yaml:3: tranche.policies[0].enforcement: expected text (auto, none, mps, "
            "mps-exclusive or driver), found the boolean true; did you mean 'auto'?");
  EXPECT_EQ(policy_answer("share: replicas, replicas: 2, enforcement: off"),
            "config.yaml:3: tranche.policies[0].enforcement: expected text (auto, none, mps, "
            "mps-exclusive or driver), found the boolean off; did you mean 'none'?");
  EXPECT_EQ(answer("flags:\n  migStrategy: true\n"),
            "config.yaml:2: flags.migStrategy: expected text (none, single or mixed), found "
            "the boolean true");
  EXPECT_EQ(answer("version: 1\n"),
            "config.yaml:1: version: expected text (v1), found the number 1; did you mean 'v1'?");
  EXPECT_EQ(answer("version: v2\n"), "config.yaml:1: version: unknown version: v2 (allowed: v1)");
}

TEST(WrongFile, HasANumberWhereAListBelongs) {
  EXPECT_EQ(answer("tranche:\n  excludeDevices: 0\n"),
            "config.yaml:2: tranche.excludeDevices: expected text or a list of texts, found the "
            "number 0; write [0] for a list of it alone");
}

TEST(WrongFile, HasARowWithoutADash) {
  EXPECT_EQ(answer("tranche:\n  policies:\n    resource: a.b/x\n"),
            "config.yaml:2: tranche.policies: expected a list of sections, found a section with "
            "keys (begin each row with '- ')");
}

TEST(WrongFile, HasAListWhereASectionBelongs) {
  EXPECT_EQ(answer("resources:\n  - {pattern: \"*\", name: x}\n"),
            "config.yaml:1: resources: expected a section with keys, found a list (known here: "
            "gpus, mig)");
}

TEST(WrongFile, CallsAKeyAsAnotherSectionDoes) {
  EXPECT_EQ(answer("tranche:\n  policies:\n    - {name: a.b/x, share: whole}\n"),
            "config.yaml:3: tranche.policies[0]: unknown key 'name'; here it is 'resource'");
  EXPECT_EQ(policy_answer("share: whole, mps: true"),
            "config.yaml:3: tranche.policies[0]: unknown key 'mps'; here it is 'enforcement: mps'");
  EXPECT_EQ(
      answer("sharing:\n  timeSlicing:\n    resources:\n    - {resource: gpu, replicas: 2}\n"),
      "config.yaml:4: sharing.timeSlicing.resources[0]: unknown key 'resource'; here it is 'name'");
}

TEST(WrongFile, HasAWordThatIsCutShortOrOfAnotherPlugin) {
  EXPECT_EQ(policy_answer("share: mem"),
            "config.yaml:3: tranche.policies[0].share: unknown share: mem (allowed: whole, "
            "replicas, memory; did you mean 'memory'?)");
  EXPECT_EQ(policy_answer("share: timeSlicing, replicas: 4"),
            "config.yaml:3: tranche.policies[0].share: unknown share: timeSlicing (here that is "
            "share: replicas; allowed: whole, replicas, memory)");
}

TEST(WrongFile, HasAUnitThatIsNoneOfOurs) {
  const std::string begin =
      "config.yaml:3: tranche.policies[0].unit: expected a size with its unit, such as 4GiB";
  EXPECT_EQ(policy_answer("share: memory, unit: gib"),
            begin + " or 512MiB, found 'gib'; did you mean GiB? (or auto)");
  EXPECT_EQ(policy_answer("share: memory, unit: GB"),
            begin +
                " or 512MiB, found 'GB' (units are powers of 1024 here; did you mean GiB?) (or "
                "auto)");
  EXPECT_EQ(policy_answer("share: memory, unit: 1"),
            begin + ", found the number 1 (give its unit: 1MiB or 1GiB)");
}

TEST(WrongFile, HasADurationWithoutItsUnit) {
  EXPECT_EQ(answer("tranche:\n  healthCheckInterval: 5\n"),
            "config.yaml:2: tranche.healthCheckInterval: expected a duration with its unit, such "
            "as 5s, found the number 5; did you mean 5s?");
}

TEST(WrongFile, NamesAResourceOfKubernetes) {
  for (const std::string name : {"cpu", "hugepages-2Mi", "hugepages-1Gi"}) {
    EXPECT_EQ(answer("tranche:\n  policies:\n    - {resource: " + name + "}\n"),
              "config.yaml:3: tranche.policies[0].resource: " + name +
                  " is a resource of Kubernetes itself; name the devices otherwise, such as "
                  "nvidia.com/gpu or example.com/gpu-memory");
  }
}

TEST(WrongFile, NamesAResourceInCapitals) {
  EXPECT_EQ(answer("tranche:\n  policies:\n    - {resource: Example.com/GPU_slice}\n"),
            "config.yaml:3: tranche.policies[0].resource: incorrect format for resource name "
            "'Example.com/GPU_slice': before and behind the one slash are lower case letters, "
            "digits, '-' and '.', beginning and ending with a letter or digit; did you mean "
            "'example.com/gpu-slice'?");
}

TEST(WrongFile, SelectsDevicesByATextOrAnIndexWithoutAList) {
  const auto devices = [](const std::string& value) {
    return answer("tranche:\n  policies:\n    - {resource: a.b/x, devices: " + value + "}\n");
  };
  const std::string begin = "config.yaml:3: tranche.policies[0].devices: devices set as '";
  EXPECT_EQ(devices("\"0,1\""),
            begin + "0,1' but the only valid string input is 'all'; write a list: [0, 1]");
  EXPECT_EQ(devices("GPU-b1028956-cfa2-0990-bf4a-5da9abb51763"),
            begin +
                "GPU-b1028956-cfa2-0990-bf4a-5da9abb51763' but the only valid string input is "
                "'all'; write a list: [GPU-b1028956-cfa2-0990-bf4a-5da9abb51763]");
  EXPECT_EQ(devices("0"), begin +
                              "0' but a count of devices must be > 0; for the device of index 0 "
                              "write [0]");
}

TEST(WrongFile, HasTypographicQuotes) {
  EXPECT_EQ(answer("flags:\n  migStrategy: “mixed”\n"),
            "config.yaml:2: flags.migStrategy: unknown MIG strategy: “mixed” (allowed: none, "
            "single, mixed; the quotes are typographic ones, write plain ones or none)");
}

TEST(WrongFile, ReplicatesAResourceThatNoDeviceHas) {
  EXPECT_THAT(
      warnings("sharing:\n  timeSlicing:\n    resources:\n    - {name: nvidia.com/gpuu, replicas: "
               "2}\n    - {name: cpu, replicas: 2}\n    - {name: mig-1g.5gb, replicas: 2}\n"),
      ElementsAre("config.yaml:4: sharing.timeSlicing.resources[0].name: no device is called "
                  "nvidia.com/gpuu, so the row has no effect; did you mean nvidia.com/gpu?",
                  "config.yaml:5: sharing.timeSlicing.resources[1].name: no device is called "
                  "nvidia.com/cpu, so the row has no effect; did you mean nvidia.com/gpu?"));
  EXPECT_THAT(warnings("resources:\n  gpus: [{pattern: \"*T4*\", name: a.b/t4}]\nsharing:\n  "
                       "timeSlicing:\n    resources:\n    - {name: a.b/t4, replicas: 2}\n"),
              IsEmpty());
}

TEST(WrongFile, NamesAPartOfAModel) {
  EXPECT_THAT(warnings("tranche:\n  policies:\n    - {resource: a.b/x, model: A100}\n"),
              ElementsAre("config.yaml:3: tranche.policies[0].model: fits only GPUs whose whole "
                          "name is 'A100', and the driver's names have more words; did you mean "
                          "\"*A100*\"?"));
  EXPECT_THAT(warnings("resources:\n  gpus:\n    - {pattern: T4, name: a.b/t4}\n"),
              ElementsAre("config.yaml:3: resources.gpus[0].pattern: fits only GPUs whose whole "
                          "name is 'T4', and the driver's names have more words; did you mean "
                          "\"*T4*\"?"));
  EXPECT_THAT(warnings("resources:\n  gpus:\n    - {pattern: NVIDIA L4, name: a.b/l4}\n"),
              IsEmpty());
}

TEST(RightFile, MayHaveAnchorsBelowAnExtensionKey) {
  const auto loaded = load_file(
      "x-common: &common\n  replicas: 3\nsharing:\n  timeSlicing:\n    resources:\n"
      "      - {name: nvidia.com/gpu, <<: *common}\n");
  ASSERT_TRUE(loaded) << problem_of(loaded);
  EXPECT_EQ(loaded->settings.sharing.replications[0].replicas, 3U);
  EXPECT_EQ(answer("flags:\n  x-common: 1\n"),
            "config.yaml:2: flags: unknown key 'x-common'; known here: migStrategy, mpsRoot, "
            "gdrcopyEnabled, gdsEnabled, mofedEnabled, failOnInitError, deviceDiscoveryStrategy, "
            "nvidiaDriverRoot, nvidiaDevRoot, plugin, useNodeFeatureAPI, gfd")
      << "only at the top";
}

// The schema has the words that the readers accept.
TEST(SchemaWords, AreThoseOfTheReaders) {
  const Schema& schema = file_schema();
  const auto words = [&](const char* key) {
    return schema.find(std::string("tranche.policies[].") + key)->words();
  };
  EXPECT_EQ(words("share"), texts<kShareForms>());
  EXPECT_EQ(words("offer"), texts<kShownSizes>());
  EXPECT_EQ(words("placement"), texts<kPlacements>());
  EXPECT_EQ(words("dialect"), texts<kDialects>());
  EXPECT_EQ(words("exposure"), texts<kExposures>());
  EXPECT_EQ(words("enforcement"), texts<kDemands>());
}

}  // namespace
}  // namespace tranche::programs
