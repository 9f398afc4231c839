// SPDX-License-Identifier: Apache-2.0
//
// Files in the folder of the daemons that are not ours.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <atomic>
#include <filesystem>
#include <fstream>

#include "fixture.h"
#include "node/mps/folder_mark.h"
#include "os/files.h"

namespace tranche::tests {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::IsEmpty;

void write(const std::string& path, const std::string& text = "theirs") {
  fs::create_directories(fs::path(path).parent_path());
  std::ofstream(path) << text;
}

// As with `--mps-dir=/usr/local`: programs of the node, and folders that resemble a daemon's.
class ForeignFolders : public testing::Test {
 protected:
  ForeignFolders() {
    write(node_.directory() + "/bin/program");
    fs::create_symlink("program", node_.directory() + "/bin/nvidia-cuda-mps-server");
    write(node_.directory() + "/project/pipe/data");
    write(fmt::format("{}/{}/pipe/data", node_.directory(), kGpuB));
    write(elsewhere_.path("kept/pipe/data"));
    fs::create_directory_symlink(elsewhere_.path("kept"), node_.directory() + "/link");
    fs::create_directory(node_.directory() + "/GPU-empty");
  }

  void expect_untouched() const {
    EXPECT_EQ(*read_file(node_.directory() + "/bin/program"), "theirs");
    EXPECT_EQ(fs::read_symlink(node_.directory() + "/bin/nvidia-cuda-mps-server"), "program");
    EXPECT_EQ(*read_file(node_.directory() + "/project/pipe/data"), "theirs");
    EXPECT_EQ(*read_file(node_.folder(kGpuB) + "/pipe/data"), "theirs");
    EXPECT_EQ(*read_file(node_.directory() + "/link/pipe/data"), "theirs");
    EXPECT_TRUE(fs::is_symlink(node_.directory() + "/link"));
    EXPECT_TRUE(path_exists(node_.directory() + "/GPU-empty"));
  }

  MpsNode node_;
  TempDir elsewhere_;
};

TEST_F(ForeignFolders, StayAsTheyAreWithoutAPolicy) {
  node_.start_agent().set_plan({.directory = node_.directory()});
  await_condition(
      [&] { return node_.log_text().find("because they are not ours") != std::string::npos; },
      "the look at what is there");
  node_.supervisor().stop();
  expect_untouched();
  EXPECT_THAT(node_.log_text(), HasSubstr("project"));
}

TEST(MpsFolders, OfSomebodyElseKeepTheirDaemonAndTheirFiles) {
  MpsNode node;
  const std::string pipe = node.folder(kGpuA) + "/pipe";
  write(node.folder(kGpuA) + "/notes");
  write(node.folder(kGpuA) + "/exclusive", kGpuA);
  fs::create_directories(pipe);
  std::atomic<int> modes_set = 0;
  node.compute_mode.set = [&](const std::string&, bool) -> Status {
    ++modes_set;
    return Done{};
  };
  Result<Process> theirs =
      Process::spawn({.words = {node.root() + "/usr/bin/nvidia-cuda-mps-control", "-f"},
                      .environment = {"CUDA_MPS_PIPE_DIRECTORY=" + pipe,
                                      "CUDA_VISIBLE_DEVICES=" + std::string(kGpuA)}},
                     {});
  ASSERT_TRUE(theirs);
  await_condition([&] { return path_exists(pipe + "/control"); }, "their daemon's socket");
  node.start_agent().set_plan(node.plan({kGpuA}));
  node.await_state(kGpuA, MpsState::kTrouble);
  EXPECT_THAT(
      node.wiring(kGpuA).problem,
      HasSubstr(node.folder(kGpuA) + " has data in it that is not ours, such as exclusive"));
  node.supervisor().stop();
  EXPECT_EQ(*read_file(node.folder(kGpuA) + "/notes"), "theirs");
  EXPECT_FALSE(theirs->has_ended());
  EXPECT_THAT(node.ask(kGpuA, "get_default_active_thread_percentage"), HasSubstr("100"));
  EXPECT_EQ(modes_set, 0);
  theirs->kill();
  theirs->wait(std::chrono::seconds(10));
}

// A foreign program in the daemons' PATH would run as root.
TEST_F(ForeignFolders, AreNoPathForServers) {
  node_.start_agent().set_plan(node_.plan({kGpuA}));
  node_.await_state(kGpuA, MpsState::kTrouble);
  EXPECT_THAT(node_.wiring(kGpuA).problem, HasSubstr("/bin has data in it that is not ours"));
  node_.supervisor().stop();
  expect_untouched();
  EXPECT_FALSE(path_exists(node_.folder(kGpuA)));
}

TEST(MpsFolders, OfAnAgentBeforeMarksAreTakenOver) {
  MpsNode node;
  node.start_agent().set_plan(node.plan({kGpuA, kGpuB}));
  node.await_state(kGpuA, MpsState::kReady);
  node.await_state(kGpuB, MpsState::kReady);
  const int daemon = node.status(kGpuA).pid;
  node.end_agent();
  for (const std::string& folder :
       {node.folder(kGpuA), node.folder(kGpuB), node.directory() + "/bin"}) {
    ASSERT_TRUE(fs::remove(folder + "/" + kMpsMark)) << folder;
  }
  node.start_agent().set_plan(node.plan({kGpuA}));
  node.await_state(kGpuA, MpsState::kReady);
  EXPECT_EQ(node.status(kGpuA).pid, daemon);
  EXPECT_TRUE(path_exists(node.folder(kGpuA) + "/" + kMpsMark));
  await_condition([&] { return !path_exists(node.folder(kGpuB)); }, "the folder's end");
  EXPECT_THAT(node.processes(kGpuB), IsEmpty());
  node.supervisor().stop();
  EXPECT_THAT(*list_directory(node.directory()), IsEmpty());
}

TEST(MpsFolders, ThatWereHalfMadeAreFinished) {
  MpsNode node;
  fs::create_directories(node.folder(kGpuA));
  fs::create_directories(node.directory() + "/bin");
  write(fmt::format("{}/{}.new", node.folder(kGpuA), kMpsMark), "");
  node.start_agent().set_plan(node.plan({kGpuA}));
  node.await_state(kGpuA, MpsState::kReady);
  node.supervisor().stop();
  EXPECT_THAT(*list_directory(node.directory()), IsEmpty());
}

TEST(MpsFolders, InADirectoryThatOthersMayWriteAreNotMade) {
  MpsNode node;
  fs::create_directories(node.directory());
  for (const mode_t mode : {0777U, 01777U}) {
    ASSERT_EQ(::chmod(node.directory().c_str(), mode), 0);
    node.start_agent().set_plan(node.plan({kGpuA}));
    node.await_state(kGpuA, MpsState::kTrouble);
    EXPECT_THAT(node.wiring(kGpuA).problem,
                HasSubstr(node.directory() + " is writable for others"));
    node.end_agent();
  }
  EXPECT_THAT(*list_directory(node.directory()), IsEmpty());
}

TEST(MpsFolders, InADirectoryThatIsALinkAreNotMade) {
  MpsNode node;
  const TempDir elsewhere;
  fs::create_directory_symlink(elsewhere.path(), node.directory());
  node.start_agent().set_plan(node.plan({kGpuA}));
  node.await_state(kGpuA, MpsState::kTrouble);
  EXPECT_THAT(node.wiring(kGpuA).problem, HasSubstr(node.directory() + " is a link"));
  node.end_agent();
  EXPECT_THAT(*list_directory(elsewhere.path()), IsEmpty());
}

}  // namespace
}  // namespace tranche::tests
