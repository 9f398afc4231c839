// SPDX-License-Identifier: Apache-2.0
#include "node/nested/handed_off.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "base/path.h"
#include "formats/nested_grant_json.h"
#include "os/files.h"
#include "os/testing/temp_dir.h"
#include "os/unique_fd.h"

namespace tranche::node {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;
using testing::SizeIs;

NestedGrant two_gpus() {
  return {.resource = "nvidia.com/gpu",
          .devices = {{.uuid = "GPU-a", .gpu = "GPU-a"}, {.uuid = "GPU-b", .gpu = "GPU-b"}}};
}

class HandedOffTest : public testing::Test {
 protected:
  HandedOffPaths must_issue(HandedOff& store) const {
    const auto paths = store.issue(two_gpus(), now_);
    EXPECT_TRUE(paths) << (paths ? "" : paths.error().message);
    return paths ? *paths : HandedOffPaths{};
  }

  static NestedGrant document(const HandedOffPaths& paths) {
    const auto text = read_file(below(paths.folder, "grant.json"));
    const auto grant = text ? parse_nested_grant(*text) : Result<NestedGrant>(text.error());
    EXPECT_TRUE(grant) << (grant ? "" : grant.error().message);
    return grant ? *grant : NestedGrant{};
  }

  static std::string env(const HandedOffPaths& paths) {
    const auto text = read_file(paths.gpu_env);
    return text ? *text : text.error().message;
  }

  // As earlier agents left it, which mounted it writable.
  static void make_writable(const HandedOffPaths& paths) {
    EXPECT_EQ(::chmod(paths.gpu_env.c_str(), 0666), 0);
  }

  static struct stat status_of(const std::string& path) {
    struct stat status{};
    EXPECT_EQ(::stat(path.c_str(), &status), 0);
    return status;
  }

  static HandedOff::HealthOf lost(const std::string& uuid) {
    return [uuid](const std::string& /*resource*/, const NestedDevice& device) {
      return device.uuid == uuid ? Health{{"lost"}} : Health{};
    };
  }

  const TempDir dir_;
  Log quiet_{[](std::string_view) {}};
  std::string logged_;
  Log heard_{[this](std::string_view line) { logged_ += line; }};
  const HandedOff::Clock::time_point now_ = HandedOff::Clock::now();
};

TEST_F(HandedOffTest, IsOnDiskBeforeTheContainerIs) {
  HandedOff store(dir_.path("nested"), quiet_);
  const HandedOffPaths paths = must_issue(store);
  EXPECT_EQ(env(paths), "GPU-a,GPU-b\n");
  EXPECT_THAT(document(paths).devices, SizeIs(2));
  EXPECT_EQ(document(paths).id, paths.id);
}

TEST_F(HandedOffTest, IsTheContainersAlone) {
  HandedOff store(dir_.path(), quiet_);
  const HandedOffPaths one = must_issue(store);
  const HandedOffPaths other = must_issue(store);
  EXPECT_NE(one.gpu_env, other.gpu_env);
  std::ofstream(one.gpu_env) << "mine";
  EXPECT_EQ(env(other), "GPU-a,GPU-b\n");
}

TEST_F(HandedOffTest, IsForItsOwnerAloneToWrite) {
  HandedOff store(dir_.path(), quiet_);
  const HandedOffPaths paths = must_issue(store);
  EXPECT_EQ(status_of(paths.gpu_env).st_mode & 0777U, 0644U);
  store.refresh(lost("GPU-a"));
  EXPECT_EQ(status_of(paths.gpu_env).st_mode & 0777U, 0644U);
  EXPECT_FALSE(store.has_writable());
}

TEST_F(HandedOffTest, HasNoGpuEnvWhereThePodWritesItsOwn) {
  HandedOffPaths paths;
  {
    HandedOff store(dir_.path(), quiet_, [] {}, GpuEnvMount::kPod);
    paths = must_issue(store);
  }
  EXPECT_EQ(paths.gpu_env, "");
  // Also for an agent that would mount one.
  HandedOff next(dir_.path(), quiet_);
  next.recall(now_);
  next.refresh(lost("GPU-a"));
  EXPECT_FALSE(document(paths).devices[0].health.ok());
  EXPECT_EQ(*list_directory(dir_.path(paths.id)), std::vector<std::string>{"shown"});
}

TEST_F(HandedOffTest, OverwritesWhatIsNotItsOwnInAFileThatNoPodMayWrite) {
  HandedOff store(dir_.path(), quiet_);
  const HandedOffPaths paths = must_issue(store);
  std::ofstream(paths.gpu_env) << "GPU-b";
  store.refresh(lost("none"));
  EXPECT_EQ(env(paths), "GPU-a,GPU-b\n");
}

TEST_F(HandedOffTest, TruncatesAFileThatAPodOfAnEarlierAgentGrew) {
  HandedOff store(dir_.path(), heard_);
  const HandedOffPaths paths = must_issue(store);
  make_writable(paths);
  EXPECT_TRUE(store.has_writable());
  store.truncate_writable();
  EXPECT_EQ(logged_.find("truncated the writable /gpu.env"), std::string::npos);
  std::ofstream(paths.gpu_env) << std::string(100'000, 'x');
  store.truncate_writable();
  EXPECT_EQ(env(paths), "GPU-a,GPU-b\n");
  EXPECT_THAT(logged_, HasSubstr("truncated the writable /gpu.env"));
  EXPECT_THAT(logged_, HasSubstr(paths.id));
}

TEST_F(HandedOffTest, TruncatesBlocksThatAPodReservedBehindTheEnd) {
  HandedOff store(dir_.path(), quiet_);
  const HandedOffPaths paths = must_issue(store);
  make_writable(paths);
  {
    const UniqueFd pod(::open(paths.gpu_env.c_str(), O_RDWR | O_CLOEXEC));
    if (::fallocate(pod.get(), FALLOC_FL_KEEP_SIZE, 0, 8 << 20) != 0) {
      GTEST_SKIP() << "this file system reserves nothing";
    }
  }
  ASSERT_GT(status_of(paths.gpu_env).st_blocks, 1000);
  store.truncate_writable();
  EXPECT_LT(status_of(paths.gpu_env).st_blocks, 1000);
  EXPECT_EQ(env(paths), "GPU-a,GPU-b\n");
}

TEST_F(HandedOffTest, SaysWhatToDoWhereItMayNotBeTruncated) {
  HandedOff store(dir_.path(), heard_);
  const HandedOffPaths paths = must_issue(store);
  make_writable(paths);
  std::ofstream(paths.gpu_env) << std::string(100'000, 'x');
  // A pod can do this by changing owner and mode, for an agent without capabilities.
  const UniqueFd pod(::open(paths.gpu_env.c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_EQ(::fcntl(pod.get(), F_SETLEASE, F_WRLCK), 0) << errno;
  ::signal(SIGIO, SIG_IGN);
  store.truncate_writable();
  EXPECT_THAT(logged_, HasSubstr("bytes of the node's disk"));
  EXPECT_THAT(logged_, HasSubstr("delete the pod"));
  ASSERT_EQ(::fcntl(pod.get(), F_SETLEASE, F_UNLCK), 0);
  store.truncate_writable();
  EXPECT_EQ(env(paths), "GPU-a,GPU-b\n");
}

TEST_F(HandedOffTest, IsRefusedWhereItCannotBeWritten) {
  std::ofstream(dir_.path("file")) << "in the way";
  HandedOff store(dir_.path("file"), quiet_);
  const auto refused = store.issue(two_gpus(), now_);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr(dir_.path("file")));
  EXPECT_TRUE(store.empty());
}

TEST_F(HandedOffTest, SaysWhenAGpuIsLostAndWhenItIsBack) {
  HandedOff store(dir_.path(), quiet_);
  const HandedOffPaths paths = must_issue(store);
  // Like a mount: by the file, not by its name.
  const UniqueFd mounted(::open(paths.gpu_env.c_str(), O_RDONLY | O_CLOEXEC));
  store.refresh(lost("GPU-a"));
  EXPECT_EQ(document(paths).devices[0].health.reason(), "lost");
  EXPECT_EQ(document(paths).generation, 2U);
  std::string seen(100, '\0');
  seen.resize(static_cast<std::size_t>(::pread(mounted.get(), seen.data(), seen.size(), 0)));
  EXPECT_EQ(seen, "GPU-b\n");
  store.refresh(lost("none"));
  EXPECT_EQ(env(paths), "GPU-a,GPU-b\n");
  EXPECT_EQ(document(paths).generation, 3U);
  store.refresh(lost("none"));
  EXPECT_EQ(document(paths).generation, 3U);
}

TEST_F(HandedOffTest, LeavesAGpuEnvAloneThatItsPodWroteOtherwise) {
  HandedOff store(dir_.path(), quiet_);
  const HandedOffPaths paths = must_issue(store);
  make_writable(paths);
  std::ofstream(paths.gpu_env) << "GPU-b";
  store.refresh(lost("GPU-b"));
  EXPECT_EQ(env(paths), "GPU-b");
  EXPECT_FALSE(document(paths).devices[1].health.ok());
}

TEST_F(HandedOffTest, KeepsAGpuEnvCurrentThatItsPodWroteAsGranted) {
  HandedOff store(dir_.path(), quiet_);
  const HandedOffPaths paths = must_issue(store);
  make_writable(paths);
  std::ofstream(paths.gpu_env) << "GPU-a,GPU-b\r\n";
  store.refresh(lost("GPU-b"));
  EXPECT_EQ(env(paths), "GPU-a\n");
}

TEST_F(HandedOffTest, OutlivesTheAgent) {
  HandedOffPaths paths;
  {
    HandedOff store(dir_.path(), quiet_);
    paths = must_issue(store);
    store.refresh(lost("GPU-a"));
  }
  HandedOff next(dir_.path(), quiet_);
  next.recall(now_);
  ASSERT_THAT(next.grants(), SizeIs(1));
  next.refresh(lost("none"));
  EXPECT_EQ(document(paths).generation, 3U);
  EXPECT_EQ(env(paths), "GPU-a,GPU-b\n");
}

TEST_F(HandedOffTest, LeavesWhatItCannotReadAsItIsWhileItIsMounted) {
  HandedOffPaths paths;
  {
    HandedOff store(dir_.path(), quiet_);
    paths = must_issue(store);
  }
  ASSERT_TRUE(write_atomically(below(paths.folder, "grant.json"), "torn"));
  HandedOff next(dir_.path(), quiet_);
  next.recall(now_);
  next.refresh(lost("GPU-a"));
  EXPECT_EQ(env(paths), "GPU-a,GPU-b\n");
  next.tidy({paths.folder}, now_ + seconds(1000));
  EXPECT_TRUE(path_exists(paths.gpu_env));
  next.tidy({}, now_ + seconds(2000));
  next.tidy({}, now_ + seconds(2010));
  EXPECT_FALSE(path_exists(paths.gpu_env));
}

TEST_F(HandedOffTest, IsRemovedWhenTheKubeletHasNoSuchMountForAWhile) {
  HandedOff store(dir_.path(), quiet_);
  const HandedOffPaths paths = must_issue(store);
  EXPECT_FALSE(store.tidy({paths.gpu_env, paths.folder}, now_));
  EXPECT_TRUE(store.tidy({}, now_ + seconds(1)));
  EXPECT_TRUE(path_exists(paths.gpu_env));
  EXPECT_FALSE(store.tidy({}, now_ + seconds(11)));
  EXPECT_FALSE(path_exists(dir_.path(paths.id)));
  EXPECT_TRUE(store.empty());
}

TEST_F(HandedOffTest, StaysWhenTheKubeletHasForgottenItForAMomentOnly) {
  HandedOff store(dir_.path(), quiet_);
  const HandedOffPaths paths = must_issue(store);
  store.tidy({paths.folder}, now_);
  store.tidy({}, now_ + seconds(1));
  store.tidy({paths.folder}, now_ + seconds(9));
  store.tidy({}, now_ + seconds(15));
  store.tidy({}, now_ + seconds(20));
  EXPECT_TRUE(path_exists(paths.gpu_env));
}

TEST_F(HandedOffTest, WaitsForAContainerThatIsJustBeingMade) {
  HandedOff store(dir_.path(), quiet_);
  const HandedOffPaths paths = must_issue(store);
  EXPECT_TRUE(store.tidy({}, now_ + seconds(299)));
  EXPECT_TRUE(path_exists(paths.gpu_env));
  store.tidy({}, now_ + seconds(300));
  store.tidy({}, now_ + seconds(310));
  EXPECT_FALSE(path_exists(paths.gpu_env));
}

TEST_F(HandedOffTest, IsGoneAtOnceWhenTheGrantIsWithdrawn) {
  HandedOff store(dir_.path(), quiet_);
  const HandedOffPaths paths = must_issue(store);
  store.withdraw(paths.id);
  EXPECT_FALSE(path_exists(dir_.path(paths.id)));
  store.withdraw("");
  EXPECT_TRUE(path_exists(dir_.path()));
}

TEST_F(HandedOffTest, TouchesNothingElseInItsFolder) {
  ASSERT_TRUE(make_directories(dir_.path("important/data")));
  ASSERT_TRUE(make_directories(dir_.path("0123456789abcdeg")));
  std::ofstream(dir_.path("0123456789abcdef")) << "a file";
  HandedOff store(dir_.path(), quiet_);
  store.recall(now_);
  EXPECT_TRUE(store.empty());
  store.tidy({}, now_ + seconds(1000));
  store.tidy({}, now_ + seconds(2000));
  for (const char* name : {"important/data", "0123456789abcdeg", "0123456789abcdef"}) {
    EXPECT_TRUE(path_exists(dir_.path(name))) << name;
  }
}

TEST_F(HandedOffTest, KnowsItsFolderWithASlashBehindIt) {
  HandedOff store(dir_.path() + "/", quiet_);
  EXPECT_EQ(store.directory(), dir_.path());
  EXPECT_EQ(must_issue(store).gpu_env.find("//"), std::string::npos);
}

TEST_F(HandedOffTest, RemovesALostGpuAgainThatAScriptHasAdded) {
  HandedOff store(dir_.path(), quiet_);
  const HandedOffPaths paths = must_issue(store);
  make_writable(paths);
  store.refresh(lost("GPU-b"));
  std::ofstream(paths.gpu_env) << "GPU-a,GPU-b\n";
  store.refresh(lost("GPU-b"));
  EXPECT_EQ(env(paths), "GPU-a\n");
}

TEST_F(HandedOffTest, IsRepairedOnceItCanBeWritten) {
  HandedOff store(dir_.path(), quiet_);
  const HandedOffPaths paths = must_issue(store);
  std::filesystem::remove(paths.gpu_env);
  std::filesystem::create_directory(paths.gpu_env);  // so that no file can be written there
  store.refresh(lost("GPU-a"));
  EXPECT_FALSE(document(paths).devices[0].health.ok());
  store.refresh(lost("none"));
  EXPECT_TRUE(document(paths).devices[0].health.ok());
  std::filesystem::remove(paths.gpu_env);
  store.refresh(lost("GPU-a"));
  EXPECT_FALSE(document(paths).devices[0].health.ok());
  EXPECT_EQ(env(paths), "GPU-b\n");
}

TEST_F(HandedOffTest, IsRepairedWhenAPodMadeItTooLargeToBeRead) {
  HandedOff store(dir_.path(), quiet_);
  const HandedOffPaths paths = must_issue(store);
  make_writable(paths);
  std::ofstream(paths.gpu_env) << std::string(2'000'000, 'x');
  store.refresh(lost("none"));
  EXPECT_EQ(env(paths), "GPU-a,GPU-b\n");
}

// For example our own write, torn by a power loss.
TEST_F(HandedOffTest, IsRepairedWhenNoGuestCouldReadIt) {
  HandedOff store(dir_.path(), quiet_);
  const HandedOffPaths paths = must_issue(store);
  make_writable(paths);
  std::ofstream(paths.gpu_env) << "\nPU-a,GPU-b\n";
  store.refresh(lost("none"));
  EXPECT_EQ(env(paths), "GPU-a,GPU-b\n");
}

// With a lease, an open waits for 45 seconds.
TEST_F(HandedOffTest, DoesNotWaitForAPodThatHoldsALease) {
  HandedOff store(dir_.path(), quiet_);
  const HandedOffPaths paths = must_issue(store);
  const UniqueFd pod(::open(paths.gpu_env.c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_EQ(::fcntl(pod.get(), F_SETLEASE, F_WRLCK), 0) << errno;
  ::signal(SIGIO, SIG_IGN);
  store.refresh(lost("GPU-a"));
  EXPECT_NE(::fcntl(pod.get(), F_GETLEASE), F_WRLCK) << "it was asked to end, and not waited for";
  EXPECT_FALSE(document(paths).devices[0].health.ok());
  ASSERT_EQ(::fcntl(pod.get(), F_SETLEASE, F_UNLCK), 0);
  store.refresh(lost("GPU-a"));
  EXPECT_EQ(env(paths), "GPU-b\n");
}

TEST_F(HandedOffTest, DoesNotWaitForAPipeThatAPodPutInTheDocumentsPlace) {
  HandedOffPaths paths;
  {
    HandedOff store(dir_.path(), quiet_);
    paths = must_issue(store);
  }
  const std::string file = below(paths.folder, "grant.json");
  std::filesystem::remove(file);
  ASSERT_EQ(::mkfifo(file.c_str(), 0644), 0);
  HandedOff next(dir_.path(), quiet_);
  next.recall(now_);
  next.refresh(lost("none"));
  ASSERT_THAT(next.grants(), SizeIs(1));
  EXPECT_THAT(next.grants()[0].devices, SizeIs(0));
}

}  // namespace
}  // namespace tranche::node
