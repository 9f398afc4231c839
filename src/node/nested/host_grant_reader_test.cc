// SPDX-License-Identifier: Apache-2.0
#include "node/nested/host_grant_reader.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "base/path.h"
#include "formats/nested_grant_json.h"
#include "os/files.h"
#include "os/testing/temp_dir.h"

namespace tranche::node {
namespace {

using std::chrono_literals::operator""ms;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

class HostGrantReaderTest : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return dir_.path(name); }

  void write_env(const std::string& text) const {
    std::ofstream(options_.gpu_env, std::ios::binary) << text;
  }

  void write_json(const std::string& resource, const std::string& uuid, unsigned generation = 1) {
    ::mkdir(options_.host_grants.c_str(), 0755);
    const std::string in = below(options_.host_grants, resource);
    ::mkdir(in.c_str(), 0755);
    const NestedGrant grant{
        .resource = resource, .generation = generation, .devices = {{.uuid = uuid, .gpu = uuid}}};
    ASSERT_TRUE(write_atomically(below(in, "grant.json"), to_json(grant)));
  }

  // Waits for news of the reader and lets it look until the new list counts.
  bool looks_when_told(HostGrantReader& reader) {
    pollfd fd{reader.fd(), POLLIN, 0};
    if (::poll(&fd, 1, 10'000) != 1) return false;
    const bool is_news = reader.look(now_);
    return settles(reader) || is_news;
  }

  // Looks whenever due, until nothing is due.
  bool settles(HostGrantReader& reader) {
    bool is_news = false;
    while (const auto due = reader.due(now_)) {
      now_ += *due;
      is_news |= reader.look(now_);
    }
    return is_news;
  }

  static std::vector<std::string> names(const HostGrantReader& reader) {
    return reader.grant() && reader.grant()->env ? reader.grant()->env->names
                                                 : std::vector<std::string>{"?"};
  }

  const TempDir dir_;
  const NestedOptions options_{
      .guest = true, .host_grants = path("grants"), .gpu_env = path("gpu.env")};
  // While this clock stands still, nothing settles, however slow the machine is.
  HostGrantReader::Clock::time_point now_;
};

TEST_F(HostGrantReaderTest, WaitsForAMissingFileAndSaysForWhich) {
  HostGrantReader reader(options_, now_);
  EXPECT_FALSE(reader.grant());
  EXPECT_THAT(reader.problem(),
              testing::AllOf(HasSubstr(options_.gpu_env), HasSubstr(options_.host_grants)));
  write_env("GPU-a\n");
  EXPECT_TRUE(looks_when_told(reader));
  EXPECT_THAT(names(reader), ElementsAre("GPU-a"));
  EXPECT_EQ(reader.problem(), "");
}

TEST_F(HostGrantReaderTest, FollowsAFileThatIsWrittenInPlace) {
  write_env("GPU-a\n");
  HostGrantReader reader(options_, now_);
  write_env("GPU-b,GPU-c\n");
  EXPECT_TRUE(looks_when_told(reader));
  EXPECT_THAT(names(reader), ElementsAre("GPU-b", "GPU-c"));
}

TEST_F(HostGrantReaderTest, FollowsAFileThatIsReplaced) {
  write_env("GPU-a\n");
  HostGrantReader reader(options_, now_);
  ASSERT_TRUE(write_atomically(options_.gpu_env, "GPU-b\n"));
  EXPECT_TRUE(looks_when_told(reader));
  EXPECT_THAT(names(reader), ElementsAre("GPU-b"));
}

TEST_F(HostGrantReaderTest, PrefersTheJsonAndFollowsIt) {
  write_env("GPU-a\n");
  HostGrantReader reader(options_, now_);
  write_json("nvidia.com_gpu", "GPU-b");
  // The folders appear one after the other.
  while (!reader.grant() || reader.grant()->grants.empty()) looks_when_told(reader);
  EXPECT_EQ(reader.grant()->grants[0].devices[0].uuid, "GPU-b");
  write_json("nvidia.com_gpu", "GPU-b", 2);
  EXPECT_TRUE(looks_when_told(reader));
  EXPECT_EQ(reader.grant()->grants[0].generation, 2U);
}

TEST_F(HostGrantReaderTest, ReadsTheGrantsOfSeveralResources) {
  write_json("a_x", "GPU-a");
  write_json("b_y", "GPU-b");
  const auto grant = read_host_grant(options_);
  ASSERT_TRUE(grant);
  EXPECT_EQ(grant->grants.size(), 2U);
}

TEST_F(HostGrantReaderTest, LetsTheLastGrantStandWhenTheNextIsGarbage) {
  write_env("GPU-a\n");
  HostGrantReader reader(options_, now_);
  write_env(std::string("\0\1\2\xff", 4));
  EXPECT_TRUE(looks_when_told(reader));
  EXPECT_THAT(names(reader), ElementsAre("GPU-a"));
  EXPECT_THAT(reader.problem(), HasSubstr("byte 1 is 0"));
  write_env("GPU-b\n");
  EXPECT_TRUE(looks_when_told(reader));
  EXPECT_THAT(names(reader), ElementsAre("GPU-b"));
  EXPECT_EQ(reader.problem(), "");
}

TEST_F(HostGrantReaderTest, DoesNotTurnToGpuEnvWhenTheJsonIsGarbage) {
  write_env("GPU-a,GPU-b\n");
  write_json("nvidia.com_gpu", "GPU-a");
  ASSERT_TRUE(write_atomically(path("grants/nvidia.com_gpu/grant.json"), "{\"version\": 9}"));
  HostGrantReader reader(options_, now_);
  EXPECT_FALSE(reader.grant());
  EXPECT_THAT(reader.problem(), HasSubstr("version is 9"));
}

TEST_F(HostGrantReaderTest, DoesNotTurnToGpuEnvWhenTheJsonIsGone) {
  write_env("GPU-a,GPU-b\n");
  write_json("nvidia.com_gpu", "GPU-a");
  HostGrantReader reader(options_, now_);
  ASSERT_EQ(::unlink(path("grants/nvidia.com_gpu/grant.json").c_str()), 0);
  EXPECT_TRUE(looks_when_told(reader));
  EXPECT_EQ(reader.grant()->grants.size(), 1U);
  EXPECT_THAT(reader.problem(), HasSubstr("any more"));
}

TEST_F(HostGrantReaderTest, RefusesTenMegabytesOfIds) {
  std::string ids;
  while (ids.size() < 10'000'000) ids += "GPU-00000000-0000-0000-0000-000000000000,";
  write_env(ids);
  HostGrantReader reader(options_, now_);
  EXPECT_FALSE(reader.grant());
  EXPECT_THAT(reader.problem(), HasSubstr("larger than 1048576 bytes"));
}

TEST_F(HostGrantReaderTest, DoesNotWaitForAPipe) {
  ASSERT_EQ(::mkfifo(options_.gpu_env.c_str(), 0644), 0);
  const HostGrantReader reader(options_, now_);
  EXPECT_THAT(reader.problem(), HasSubstr("is no plain file"));
}

TEST_F(HostGrantReaderTest, TakesAnEmptyFileForNothingGranted) {
  write_env("");
  const HostGrantReader reader(options_, now_);
  EXPECT_THAT(names(reader), ElementsAre());
}

// A shell's ">" empties the file before it writes.
TEST_F(HostGrantReaderTest, DoesNotTakeAnEmptiedFileAtItsWordAtOnce) {
  write_env("GPU-a\n");
  HostGrantReader reader(options_, now_);
  write_env("");
  EXPECT_FALSE(reader.look(now_));
  EXPECT_THAT(names(reader), ElementsAre("GPU-a"));
  // It stays empty: that counts after a while.
  EXPECT_TRUE(settles(reader));
  EXPECT_THAT(names(reader), ElementsAre());
}

TEST_F(HostGrantReaderTest, DoesNotTakeAHalfWrittenListAtItsWord) {
  write_env("GPU-a,GPU-b\n");
  HostGrantReader reader(options_, now_);
  write_env("GPU-a");
  EXPECT_FALSE(reader.look(now_));
  write_env("GPU-a,GPU-b,GPU-c\n");
  EXPECT_FALSE(reader.look(now_));
  EXPECT_THAT(names(reader), ElementsAre("GPU-a", "GPU-b"));
  EXPECT_TRUE(settles(reader));
  EXPECT_THAT(names(reader), ElementsAre("GPU-a", "GPU-b", "GPU-c"));
}

TEST_F(HostGrantReaderTest, TakesAListThatHasStoodForFiftyMilliseconds) {
  write_env("GPU-a\n");
  HostGrantReader reader(options_, now_);
  write_env("GPU-a,GPU-b\n");
  EXPECT_FALSE(reader.look(now_));
  now_ += 49ms;
  EXPECT_EQ(reader.due(now_), 1ms);
  EXPECT_FALSE(reader.look(now_));
  now_ += 1ms;
  EXPECT_TRUE(reader.look(now_));
  EXPECT_THAT(names(reader), ElementsAre("GPU-a", "GPU-b"));
  EXPECT_FALSE(reader.due(now_));
}

TEST_F(HostGrantReaderTest, RestartsTheWaitWithEachHalf) {
  write_env("GPU-a,GPU-b\n");
  HostGrantReader reader(options_, now_);
  for (const char* half : {"GPU-", "GPU-a", "GPU-a,GPU-c", "GPU-a,GPU-c,GPU-d"}) {
    write_env(half);
    EXPECT_FALSE(reader.look(now_)) << half;
    now_ += 49ms;
    EXPECT_FALSE(reader.look(now_)) << half;
  }
  EXPECT_THAT(names(reader), ElementsAre("GPU-a", "GPU-b"));
  now_ += 1ms;
  EXPECT_TRUE(reader.look(now_));
  EXPECT_THAT(names(reader), ElementsAre("GPU-a", "GPU-c", "GPU-d"));
}

TEST_F(HostGrantReaderTest, IsNotInAHurryWhenAnEmptiedFileIsGarbageThen) {
  write_env("GPU-a\n");
  HostGrantReader reader(options_, now_);
  write_env("");
  EXPECT_FALSE(reader.look(now_));
  ASSERT_TRUE(reader.due(now_));
  write_env("?");
  EXPECT_TRUE(reader.look(now_));
  EXPECT_NE(reader.problem(), "");
  EXPECT_FALSE(reader.due(now_));
}

TEST_F(HostGrantReaderTest, TakesNoHalfOfAFileThatIsBeingWritten) {
  // Long enough for a slow write; of equal size, so that only the time differs.
  const auto list = [](char letter) {
    std::string text;
    for (int i = 0; i < 5'000; ++i) {
      text += fmt::format("GPU-{}{},", letter, 10'000 + i);
    }
    return text + "\n";
  };
  const std::string texts[] = {list('a'), list('b')};
  write_env(texts[0]);
  HostGrantReader reader(options_, now_);
  const std::vector<std::string> first = names(reader);
  ASSERT_EQ(first.size(), 5'000U);
  std::atomic<bool> done = false;
  const std::jthread writer([&] {
    for (int i = 0; i < 200; ++i) write_env(texts[i % 2]);
    done = true;
  });
  unsigned others = 0;
  while (!done) {
    reader.look(now_);
    if (names(reader) != first) ++others;
  }
  EXPECT_EQ(others, 0U);
  reader.look(now_);
  EXPECT_TRUE(settles(reader));
  const std::vector<std::string> last = names(reader);
  EXPECT_EQ(last.size(), 5'000U);
  EXPECT_THAT(last, Each(StartsWith("GPU-b")));
}

}  // namespace
}  // namespace tranche::node
