// SPDX-License-Identifier: Apache-2.0
#include "node/holders/checkpoint_file.h"

#include <absl/strings/escaping.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "deviceplugin_v1beta1.pb.h"
#include "os/testing/temp_dir.h"

namespace tranche::node {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string with_entries(const std::string& entries) {
  return R"({"Data":{"PodDeviceEntries":)" + entries + R"(,"RegisteredDevices":{}},"Checksum":1})";
}

std::string entry(const std::string& ids, const std::string& resource = "a.b/gpu") {
  return R"({"PodUID":"u","ContainerName":"c","ResourceName":")" + resource + R"(","DeviceIDs":)" +
         ids + R"(,"AllocResp":"eA=="})";
}

const Holding kHolding{"a.b/gpu", {"", "", "u", "c"}, {"x", "y"}};

std::vector<Holding> parsed(const std::string& text, const std::set<std::string>& names = {}) {
  const auto holdings = parse_checkpoint(text, names);
  EXPECT_TRUE(holdings) << holdings.error().message;
  return holdings ? *holdings : std::vector<Holding>{};
}

void expect_error(const std::string& text, const std::string& words) {
  const auto holdings = parse_checkpoint(text, {});
  ASSERT_FALSE(holdings) << text;
  EXPECT_THAT(holdings.error().message, HasSubstr(words)) << text;
}

TEST(Checkpoint, IsReadAsKubeletsWroteIt) {
  const std::string a = "GPU-e1f1a7b9-1c65-4415-bb7b-5078b75ef51a";
  const std::string b = "GPU-15ad090c-bba8-4eae-bb58-574c99cd2b90";
  const std::string c = "GPU-749de1b4-7f97-4a06-a3b7-f7f542e6182b";
  const std::map<std::string, std::string> uids = {
      {"1.36", "5b80b9c6-e0de-488e-8b4f-435e67968df0"},
      {"1.33", "0a59ef52-87e3-4127-86bf-79d19d61ab75"}};
  for (const auto& [version, uid] : uids) {
    const auto holdings =
        read_checkpoint(TRANCHE_TESTDATA "/kubelet-" + version + "/kubelet_internal_checkpoint",
                        {"nvidia.com/gpu"});
    ASSERT_TRUE(holdings) << holdings.error().message;
    EXPECT_THAT(*holdings, ElementsAre(Holding{"nvidia.com/gpu", {"", "", uid, "main"}, {a}},
                                       Holding{"nvidia.com/gpu", {"", "", uid, "prepare"}, {b, a}},
                                       Holding{"nvidia.com/gpu", {"", "", uid, "side"}, {b, c}}));
  }
}

TEST(Checkpoint, JoinsTheIdsOfAllNumaNodesOnce) {
  EXPECT_THAT(parsed(with_entries("[" + entry(R"({"1":["y","x"],"-1":[],"0":["x"]})") + "]")),
              ElementsAre(kHolding));
}

TEST(Checkpoint, IsReadInItsOldForm) {
  EXPECT_THAT(parsed(with_entries("[" + entry(R"(["y","x"])") + "]")), ElementsAre(kHolding));
}

TEST(Checkpoint, KeepsOnlyTheResourcesThatAreNamed) {
  const std::string text =
      with_entries("[" + entry(R"({"0":["z"]})", "a.b/nic") + "," + entry(R"(["x","y"])") + "]");
  EXPECT_THAT(parsed(text, {"a.b/gpu"}), ElementsAre(kHolding));
  EXPECT_THAT(parsed(text, {"a.b/other"}), IsEmpty());
  EXPECT_THAT(parsed(text), testing::SizeIs(2));
}

TEST(Checkpoint, WithoutEntriesIsAnEmptyList) {
  EXPECT_THAT(parsed(with_entries("null")), IsEmpty());
  EXPECT_THAT(parsed(with_entries("[]")), IsEmpty());
  EXPECT_THAT(parsed(with_entries("[" + entry("{}") + "]")), IsEmpty());
}

TEST(Checkpoint, ToleratesWhatItDoesNotKnow) {
  EXPECT_THAT(parsed(R"({"New":[{"a":1.5,"b":true}],"Data":{"PodDeviceEntries":[{"More":{"k":[1]},)"
                     R"("PodUID":"u","ContainerName":"c","ResourceName":"a.b/gpu",)"
                     R"("DeviceIDs":["x","y"]}],"Also":-1}})"),
              ElementsAre(kHolding));
}

TEST(Checkpoint, ThatIsTornIsAnErrorAtEveryLength) {
  const std::string whole = with_entries("[" + entry(R"({"0":["x","y"]})") + "]");
  ASSERT_THAT(parsed(whole), ElementsAre(kHolding));
  for (std::size_t length = 0; length < whole.size(); ++length) {
    EXPECT_FALSE(parse_checkpoint(whole.substr(0, length), {})) << length;
  }
}

TEST(Checkpoint, ThatIsSomethingElseIsAnError) {
  expect_error("", "not JSON");
  expect_error("[]", "no list Data.PodDeviceEntries");
  expect_error(R"({"Data":{}})", "no list Data.PodDeviceEntries");
  expect_error(R"({"Data":null})", "no list Data.PodDeviceEntries");
  expect_error(with_entries("{}"), "not a list");
  expect_error(with_entries("7"), "not a list");
  expect_error(with_entries("\"x\""), "not a list");
  expect_error(with_entries("[7]"), "not an object");
  expect_error(with_entries("[\"x\"]"), "not an object");
  expect_error(with_entries("[[]]"), "not an object");
  expect_error(with_entries("[{}]"), "lacks PodUID");
  expect_error(with_entries("[" + entry("\"x\"") + "]"), "DeviceIDs");
  expect_error(with_entries("[" + entry("{\"0\":[7]}") + "]"), "DeviceIDs");
  expect_error(with_entries("null") + "x", "not JSON");
}

TEST(Checkpoint, ThatIsNestedTooDeeplyIsAnError) {
  expect_error(std::string(100'000, '['), "nested too deeply");
}

TEST(Checkpoint, ThatIsMissingIsNotFound) {
  const TempDir dir;
  const auto holdings = read_checkpoint(dir.path("none"), {});
  ASSERT_FALSE(holdings);
  EXPECT_EQ(holdings.error().code, ErrorCode::kNotFound);
}

TEST(Checkpoint, ThatCannotBeReadNamesItsFile) {
  const TempDir dir;
  std::ofstream(dir.path("file")) << "{";
  const auto holdings = read_checkpoint(dir.path("file"), {});
  ASSERT_FALSE(holdings);
  EXPECT_THAT(holdings.error().message, HasSubstr(dir.path("file")));
}

std::string with_mounts(const std::vector<std::string>& paths) {
  v1beta1::ContainerAllocateResponse response;
  for (const std::string& path : paths) response.add_mounts()->set_host_path(path);
  return with_entries(R"([{"PodUID":"u","ContainerName":"c","ResourceName":"a.b/gpu","DeviceIDs":)"
                      R"({"-1":["x"]},"AllocResp":")" +
                      absl::Base64Escape(response.SerializeAsString()) + R"("}])");
}

TEST(CheckpointMounts, AreThoseOfPluginsAnswersBelowAFolder) {
  const auto mounts = parse_checkpoint_mounts(
      with_mounts({"/s/1/gpu.env", "/s/1/shown", "/dev/null", "/s2/x"}), "/s");
  ASSERT_TRUE(mounts) << mounts.error().message;
  EXPECT_THAT(*mounts, ElementsAre("/s/1/gpu.env", "/s/1/shown"));
}

TEST(CheckpointMounts, AreFoundBelowAFolderWithASlashBehindIt) {
  EXPECT_THAT(*parse_checkpoint_mounts(with_mounts({"/s/1/gpu.env"}), "/s/"),
              ElementsAre("/s/1/gpu.env"));
}

TEST(CheckpointMounts, AreNoneWhereNoContainerHasAny) {
  for (const std::string& text : {with_entries("null"), with_entries("[]"), with_mounts({})}) {
    const auto mounts = parse_checkpoint_mounts(text, "/s");
    ASSERT_TRUE(mounts) << mounts.error().message;
    EXPECT_THAT(*mounts, IsEmpty());
  }
}

TEST(CheckpointMounts, OfKubeletsAreRead) {
  for (const std::string version : {"1.33", "1.36"}) {
    const auto mounts = read_checkpoint_mounts(
        TRANCHE_TESTDATA "/kubelet-" + version + "/kubelet_internal_checkpoint", "/s");
    EXPECT_TRUE(mounts) << mounts.error().message;
  }
}

// Otherwise the agent would remove files that a container uses.
TEST(CheckpointMounts, AreUnknownWhereAnAnswerIsNotUnderstood) {
  const std::string other =
      R"([{"PodUID":"u","ContainerName":"c","ResourceName":"a","DeviceIDs":[],"AllocResp":")";
  EXPECT_FALSE(parse_checkpoint_mounts(with_entries(other + "!!\"}]"), "/s"));
  EXPECT_FALSE(parse_checkpoint_mounts(with_entries(other + "/////w==\"}]"), "/s"));
  EXPECT_FALSE(parse_checkpoint_mounts("{}", "/s"));
}

}  // namespace
}  // namespace tranche::node
