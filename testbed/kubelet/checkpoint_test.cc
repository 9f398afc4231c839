// SPDX-License-Identifier: Apache-2.0
#include "testbed/kubelet/checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "os/files.h"
#include "os/testing/temp_dir.h"

namespace tranche::testbed::standin {
namespace {

using testing::HasSubstr;

constexpr const char* kGpu = "nvidia.com/gpu";

// The texts below were written in Go, with the libraries that the kubelet uses
// (encoding/json, k8s.io/utils/dump, hash/fnv), and not by our code.
constexpr std::string_view kEmpty =
    R"({"Data":{"PodDeviceEntries":null,"RegisteredDevices":{}},"Checksum":3467439661})";
constexpr std::string_view kWithoutDevices =
    R"({"Data":{"PodDeviceEntries":null,"RegisteredDevices":{"nvidia.com/gpu":[]}},)"
    R"("Checksum":3186271078})";
constexpr std::string_view kWithEmptyList =
    R"({"Data":{"PodDeviceEntries":[],"RegisteredDevices":{"example.com/x":["z"],)"
    R"("nvidia.com/gpu":["a","b"]}},"Checksum":2845626190})";
constexpr std::string_view kFull =
    R"({"Data":{"PodDeviceEntries":[{"PodUID":"uid-1","ContainerName":"main","ResourceName":)"
    R"("nvidia.com/gpu","DeviceIDs":{"-1":["GPU-1","GPU-2"]},"AllocResp":"CgYKAUESAWI="},)"
    R"({"PodUID":"uid-2","ContainerName":"side\u003ccar\u003e","ResourceName":"example.com/x",)"
    R"("DeviceIDs":{"0":["a\"q\""],"10":["b"],"2":["c"]},"AllocResp":""}],)"
    R"("RegisteredDevices":{"nvidia.com/gpu":["GPU-1"]}},"Checksum":2433125625})";

Checkpoint full() {
  Checkpoint checkpoint;
  checkpoint.pods["uid-1"]["main"][kGpu] = {{{-1, {"GPU-1", "GPU-2"}}}, {.envs = {{"A", "b"}}}};
  checkpoint.pods["uid-2"]["side<car>"]["example.com/x"] = {
      {{0, {"a\"q\""}}, {2, {"c"}}, {10, {"b"}}}, {}};
  checkpoint.registered[kGpu] = {"GPU-1"};
  return checkpoint;
}

TEST(StandinCheckpoint, IsWrittenByteForByteAsByTheKubelet) {
  EXPECT_EQ(encode_checkpoint({}), kEmpty);
  EXPECT_EQ(encode_checkpoint({{}, {{kGpu, {}}}}), kWithoutDevices);
  EXPECT_EQ(encode_checkpoint(full()), kFull);
}

TEST(StandinCheckpoint, IsReadFromTheKubeletsText) {
  for (const auto& [text, expected] :
       {std::pair{kEmpty, Checkpoint{}},
        {kWithoutDevices, Checkpoint{{}, {{kGpu, {}}}}},
        {kWithEmptyList, Checkpoint{{}, {{kGpu, {"a", "b"}}, {"example.com/x", {"z"}}}}},
        {kFull, full()}}) {
    const auto read = decode_checkpoint(text);
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(*read, expected);
  }
}

TEST(StandinCheckpoint, IsRefusedWhereTheChecksumDoesNotFit) {
  std::string text(kFull);
  text.replace(text.find("GPU-2"), 5, "GPU-3");
  const auto read = decode_checkpoint(text);
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().message, HasSubstr("checkpoint is corrupted: the checksum is not"));
}

TEST(StandinCheckpoint, IsRefusedWhereItIsNotOne) {
  for (const std::string_view text :
       {"", "{", "[]", "{}", R"({"Data":{},"Checksum":1})", R"({"Data":{"PodDeviceEntries":1}})"}) {
    EXPECT_FALSE(decode_checkpoint(text)) << text;
  }
}

TEST(StandinCheckpoint, HoldsTheHealthyDevicesOfEachResource) {
  NodeState state;
  apply_list(state, kGpu, {{"a", "Healthy", {}}, {"b", "Unhealthy", {}}});
  EXPECT_EQ(checkpoint_of(state), (Checkpoint{{}, {{kGpu, {"a"}}}}));
}

TEST(StandinCheckpointFile, IsForTheKubeletsEyesOnly) {
  const TempDir dir;
  CheckpointFile file(dir.path());
  EXPECT_EQ(file.read().error().code, ErrorCode::kNotFound);
  ASSERT_TRUE(file.write([] { return full(); }));
  EXPECT_EQ(*file.read(), full());
  struct stat status{};
  ASSERT_EQ(::stat(dir.path("kubelet_internal_checkpoint").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
}

TEST(StandinCheckpointFile, IsNotWrittenByADeadProcess) {
  const TempDir dir;
  CheckpointFile file(dir.path());
  file.close();
  ASSERT_TRUE(file.write([] { return full(); }));
  EXPECT_FALSE(path_exists(dir.path("kubelet_internal_checkpoint")));
}

}  // namespace
}  // namespace tranche::testbed::standin
