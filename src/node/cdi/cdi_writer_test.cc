// SPDX-License-Identifier: Apache-2.0
#include "node/cdi/cdi_writer.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "os/files.h"
#include "os/testing/temp_dir.h"

namespace tranche::node {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

CdiSpec gpu_spec(unsigned gpus, unsigned minor_offset = 0) {
  CdiSpec spec = {.device_class = "gpu"};
  for (unsigned i = 0; i < gpus; ++i) {
    const CdiDeviceNode node = {
        .path = fmt::format("/dev/nvidia{}", i), .major = 195, .minor = i + minor_offset};
    spec.devices.push_back({fmt::format("GPU-{}", i), {.nodes = {node}}});
  }
  return spec;
}

CdiPlan plan_of(std::vector<CdiSpec> specs) { return {.specs = std::move(specs)}; }

struct stat status_of(const std::string& path) {
  struct stat info = {};
  EXPECT_EQ(::stat(path.c_str(), &info), 0) << path;
  return info;
}

// Limits the size of files while it lives, like a full disk.
class FullDisk {
 public:
  FullDisk() : signal_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit tiny = {.rlim_cur = 16, .rlim_max = before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &tiny);
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;
  ~FullDisk() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, signal_);
  }

 private:
  rlimit before_ = {};
  void (*signal_)(int);
};

// Makes a folder read-only, for root too.
class ReadOnly {
 public:
  explicit ReadOnly(std::string folder) : folder_(std::move(folder)) {
    ::chmod(folder_.c_str(), 0555);
    if (::geteuid() == 0 && ::seteuid(65534) != 0) std::abort();
  }
  ReadOnly(const ReadOnly&) = delete;
  ReadOnly& operator=(const ReadOnly&) = delete;
  ~ReadOnly() {
    if (::getuid() == 0 && ::seteuid(0) != 0) std::abort();
    ::chmod(folder_.c_str(), 0755);
  }

 private:
  std::string folder_;
};

class CdiWriterTest : public testing::Test {
 protected:
  std::string file(const std::string& device_class) const {
    return fmt::format("{}/k8s.device-plugin.nvidia.com-{}.json", directory_, device_class);
  }
  std::string content() const {
    const Result<std::string> text = read_file(file("gpu"));
    return text ? *text : "";
  }

  TempDir temp_;
  std::string directory_ = temp_.path("run/cdi");
  CdiWriter writer_{directory_};
};

TEST_F(CdiWriterTest, MakesTheDirectoryAndAFileThatAllMayRead) {
  const CdiState state = writer_.refresh(plan_of({gpu_spec(2)}));
  EXPECT_THAT(state.devices, ElementsAre(Pair("gpu", ElementsAre("GPU-0", "GPU-1"))));
  EXPECT_EQ(state.problem, "");
  EXPECT_EQ(status_of(file("gpu")).st_mode & 07777, 0644U);
  EXPECT_THAT(content(), HasSubstr("\"name\": \"GPU-1\""));
}

TEST_F(CdiWriterTest, DoesNotWriteWhatIsThereAlready) {
  writer_.refresh(plan_of({gpu_spec(1)}));
  const ino_t before = status_of(file("gpu")).st_ino;
  const CdiState state = writer_.refresh(plan_of({gpu_spec(1)}));
  EXPECT_EQ(status_of(file("gpu")).st_ino, before);
  EXPECT_THAT(state.devices, ElementsAre(Pair("gpu", ElementsAre("GPU-0"))));

  CdiWriter restarted(directory_);
  EXPECT_EQ(restarted.refresh(plan_of({gpu_spec(1)})), state);
  EXPECT_EQ(status_of(file("gpu")).st_ino, before);
}

TEST_F(CdiWriterTest, WritesWhatChanged) {
  writer_.refresh(plan_of({gpu_spec(1)}));
  const CdiState state = writer_.refresh(plan_of({gpu_spec(2)}));
  EXPECT_THAT(state.devices, ElementsAre(Pair("gpu", ElementsAre("GPU-0", "GPU-1"))));
  EXPECT_THAT(content(), HasSubstr("GPU-1"));
}

TEST_F(CdiWriterTest, RestoresADeletedAndAnEditedFile) {
  writer_.refresh(plan_of({gpu_spec(1)}));
  const std::string wanted = content();
  std::filesystem::remove_all(temp_.path("run"));  // as after a reboot
  writer_.refresh(plan_of({gpu_spec(1)}));
  EXPECT_EQ(content(), wanted);
  std::ofstream(file("gpu")) << "{}";
  writer_.refresh(plan_of({gpu_spec(1)}));
  EXPECT_EQ(content(), wanted);
}

TEST_F(CdiWriterTest, RemovesAClassThatBecameEmpty) {
  writer_.refresh(plan_of({gpu_spec(1)}));
  const CdiState state = writer_.refresh(plan_of({}));
  EXPECT_FALSE(path_exists(file("gpu")));
  EXPECT_THAT(state.devices, IsEmpty());
  EXPECT_EQ(state.problem, "");
}

TEST_F(CdiWriterTest, TouchesNothingOfAnybodyElse) {
  std::filesystem::create_directories(directory_);
  const std::string foreign[] = {directory_ + "/nvidia.yaml", directory_ + "/.hidden",
                                 file("gpu") + ".bak", file("something-else")};
  for (const std::string& path : foreign) std::ofstream(path) << "mine";
  writer_.refresh(plan_of({gpu_spec(1)}));
  writer_.refresh(plan_of({}));
  for (const std::string& path : foreign) EXPECT_EQ(*read_file(path), "mine");
  EXPECT_THAT(*list_directory(directory_), testing::SizeIs(4));
}

TEST_F(CdiWriterTest, AFullDiskLeavesTheOldFileAndSaysSo) {
  writer_.refresh(plan_of({gpu_spec(1)}));
  const std::string before = content();
  CdiState state;
  {
    const FullDisk full;
    state = writer_.refresh(plan_of({gpu_spec(2)}));
  }
  EXPECT_EQ(content(), before);
  EXPECT_THAT(*list_directory(directory_), testing::SizeIs(1));  // no half-written rest
  EXPECT_THAT(state.problem, HasSubstr(file("gpu")));
  // Unchanged devices can still be resolved.
  EXPECT_THAT(state.devices, ElementsAre(Pair("gpu", ElementsAre("GPU-0"))));
  const Status refused = check_resolvable(state, "gpu", "GPU-1");
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, AllOf(HasSubstr("GPU-1"), HasSubstr(file("gpu"))));

  EXPECT_EQ(writer_.refresh(plan_of({gpu_spec(2)})).problem, "");
}

TEST_F(CdiWriterTest, AfterAFailedWriteADeviceThatMeansAnotherNodeNowIsNotCurrent) {
  writer_.refresh(plan_of({gpu_spec(1)}));
  const FullDisk full;
  EXPECT_THAT(writer_.refresh(plan_of({gpu_spec(1, 5)})).devices, IsEmpty());
  CdiSpec other_driver = gpu_spec(1);
  other_driver.common.env = {"A=b"};
  EXPECT_THAT(writer_.refresh(plan_of({other_driver})).devices, IsEmpty());
}

TEST_F(CdiWriterTest, AfterAFailedWriteAFileThatSomebodyEditedGivesNoDevices) {
  writer_.refresh(plan_of({gpu_spec(1)}));
  std::ofstream(file("gpu")) << "{}";
  const FullDisk full;
  const CdiState state = writer_.refresh(plan_of({gpu_spec(1)}));
  EXPECT_THAT(state.devices, IsEmpty());
  EXPECT_THAT(state.problem, HasSubstr(file("gpu")));
}

TEST_F(CdiWriterTest, AReadOnlyDirectoryIsReported) {
  ASSERT_EQ(::chmod(temp_.path().c_str(), 0755), 0);
  std::filesystem::create_directories(directory_);
  const ReadOnly read_only(directory_);
  const CdiState state = writer_.refresh(plan_of({gpu_spec(1)}));
  EXPECT_THAT(state.devices, IsEmpty());
  EXPECT_THAT(state.problem, AllOf(HasSubstr(directory_), HasSubstr("Permission denied")));
}

TEST_F(CdiWriterTest, ADirectoryThatCannotBeIsReported) {
  std::ofstream(temp_.path("run")) << "a file";
  const CdiState state = writer_.refresh(plan_of({gpu_spec(1)}));
  EXPECT_THAT(state.devices, IsEmpty());
  EXPECT_THAT(state.problem, HasSubstr(directory_));
}

TEST_F(CdiWriterTest, KeepsAndRestoresWhatIsNotKnownNow) {
  writer_.refresh(plan_of({gpu_spec(1)}));
  const std::string before = content();
  const CdiPlan unknown = {.kept = {"gpu"}};
  EXPECT_THAT(writer_.refresh(unknown).devices, ElementsAre(Pair("gpu", ElementsAre("GPU-0"))));
  std::filesystem::remove(file("gpu"));
  EXPECT_THAT(writer_.refresh(unknown).devices, ElementsAre(Pair("gpu", ElementsAre("GPU-0"))));
  EXPECT_EQ(content(), before);

  CdiWriter restarted(directory_);
  EXPECT_THAT(restarted.refresh(unknown).devices, IsEmpty());
  EXPECT_EQ(content(), before);
}

TEST_F(CdiWriterTest, AnInvalidSpecificationIsAProblemAndNotWritten) {
  CdiSpec spec = gpu_spec(1);
  spec.common.mounts = {{"/\xff", "/\xff", {}}};
  const CdiState state = writer_.refresh(plan_of({spec}));
  EXPECT_THAT(state.devices, IsEmpty());
  EXPECT_THAT(state.problem, HasSubstr("class gpu"));
  EXPECT_FALSE(path_exists(file("gpu")));
}

TEST(CdiState, SaysWhyADeviceCannotBeHad) {
  const CdiState state = {
      .devices = {{"gpu", {"GPU-0"}}},
      .left_out = {{"gds", "no nvidia-fs"}, {"gpu=GPU-2", "there is no device node /dev/nvidia2"}}};
  EXPECT_TRUE(check_resolvable(state, "gpu", "GPU-0"));
  const auto reason = [&](const std::string& device_class, const std::string& name) {
    const Status status = check_resolvable(state, device_class, name);
    return status ? std::string() : status.error().message;
  };
  EXPECT_EQ(reason("gpu", "GPU-1"),
            "CDI device k8s.device-plugin.nvidia.com/gpu=GPU-1: it is in no CDI specification");
  EXPECT_THAT(reason("gpu", "GPU-2"), HasSubstr("/dev/nvidia2"));
  EXPECT_THAT(reason("gds", "all"), HasSubstr("no nvidia-fs"));
}

TEST(CdiWriter, ReplacesALinkAlsoWhereItLeadsToTheSameWords) {
  const TempDir dir;
  const CdiPlan plan = plan_of({gpu_spec(1)});
  const std::string file = dir.path("k8s.device-plugin.nvidia.com-gpu.json");
  CdiWriter(dir.path()).refresh(plan);
  std::filesystem::rename(file, dir.path("elsewhere"));
  std::filesystem::create_symlink("elsewhere", file);
  CdiWriter(dir.path()).refresh(plan);
  EXPECT_FALSE(std::filesystem::is_symlink(file));
}

TEST(CdiWriter, DoesNotWaitForAPipeInPlaceOfAFile) {
  const TempDir dir;
  const std::string file = dir.path("k8s.device-plugin.nvidia.com-gpu.json");
  ASSERT_EQ(::mkfifo(file.c_str(), 0644), 0);
  CdiWriter writer(dir.path());
  EXPECT_THAT(writer.refresh(plan_of({gpu_spec(1)})).devices,
              ElementsAre(Pair("gpu", ElementsAre("GPU-0"))));
  EXPECT_TRUE(std::filesystem::is_regular_file(file));
}

}  // namespace
}  // namespace tranche::node
