// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>

#include "node/cdi/testing/fake_root.h"
#include "node/cdi/toolkit_reader.h"
#include "os/files.h"

namespace tranche::node {
namespace {

using ::testing::HasSubstr;

constexpr const char* kHooks[] = {"create-symlinks",
                                  "update-ldcache",
                                  "chmod",
                                  "enable-cuda-compat",
                                  "disable-device-node-modification",
                                  "update-application-profile",
                                  "apply-cuda-memory-limits"};

// The number of kHooks that it has, in the order of their releases.
std::size_t hooks_of(const Toolkit& toolkit) {
  std::size_t count = 0;
  for (const char* hook : kHooks) count += has_hook(toolkit, hook) ? 1 : 0;
  return count;
}

struct Row {
  const char* version;
  std::size_t hooks;  // the first so many of kHooks
};

class ToolkitVersions : public testing::TestWithParam<Row> {};

TEST_P(ToolkitVersions, HaveTheHooksThatCameWithThem) {
  const Toolkit toolkit{.version = parse_toolkit_version(GetParam().version)};
  ASSERT_TRUE(toolkit.version);
  for (std::size_t i = 0; i < std::size(kHooks); ++i) {
    EXPECT_EQ(has_hook(toolkit, kHooks[i]), i < GetParam().hooks) << kHooks[i];
  }
}

INSTANTIATE_TEST_SUITE_P(Releases, ToolkitVersions,
                         testing::Values(Row{"1.14.0", 3}, Row{"1.16.2", 3}, Row{"1.17.0", 3},
                                         Row{"1.17.4", 3}, Row{"1.17.5", 4}, Row{"1.17.8", 4},
                                         Row{"1.18.0", 5}, Row{"1.18.2", 5}, Row{"1.19.0", 5},
                                         Row{"1.20.0", 6}, Row{"1.20.1", 7}, Row{"1.21.0", 7},
                                         Row{"2.0.0", 7}),
                         [](const testing::TestParamInfo<Row>& row) {
                           std::string name = row.param.version;
                           std::ranges::replace(name, '.', '_');
                           return name;
                         });

TEST(Toolkit, ThatIsNotKnownHasWhatAllHave) {
  const Toolkit unknown{.problem = "it is not there"};
  EXPECT_EQ(hooks_of(unknown), 3U);
  EXPECT_EQ(to_string(unknown), "not known: it is not there");
}

TEST(Toolkit, IsCalledByItsVersion) {
  EXPECT_EQ(to_string(Toolkit{.version = ToolkitVersion{1, 18, 2}, .is_exact = true}), "1.18.2");
  EXPECT_EQ(to_string(Toolkit{.version = ToolkitVersion{1, 18, 0}}), "1.18.0 or newer");
  EXPECT_EQ(to_string(Toolkit{.version = ToolkitVersion{}}), "older than 1.17.5");
}

TEST(ToolkitVersion, IsReadAsPeopleAndProgramsWriteIt) {
  EXPECT_EQ(parse_toolkit_version("1.17.8"), (ToolkitVersion{1, 17, 8}));
  EXPECT_EQ(parse_toolkit_version("v1.20.1"), (ToolkitVersion{1, 20, 1}));
  EXPECT_EQ(parse_toolkit_version("1.18.0-rc.3"), (ToolkitVersion{1, 18, 0}));
  EXPECT_EQ(parse_toolkit_version("1.18.0~rc.3-1"), (ToolkitVersion{1, 18, 0}));
  EXPECT_EQ(parse_toolkit_version("1.18"), (ToolkitVersion{1, 18, 0}));
  for (const char* text :
       {"", "unknown", "1", "1.", "1.x", "-1.2.3", "1.18.0.1", "99999999999.1"}) {
    EXPECT_EQ(parse_toolkit_version(text), std::nullopt) << text;
  }
}

std::string program_with(const std::vector<std::string>& words) {
  std::string bytes =
      "\x7f"
      "ELF";
  for (const std::string& word : words) bytes += std::string(100, '\0') + word;
  return bytes + std::string(100, '\0');
}

Toolkit concluded(const std::vector<std::string>& words) {
  ToolkitEvidence evidence;
  evidence.add(program_with(words));
  return evidence.conclusion("/usr/bin/nvidia-ctk");
}

TEST(ToolkitEvidence, NewestHookTellsTheVersionAtLeast) {
  EXPECT_EQ(concluded({"create-symlinks", "update-ldcache"}).version, ToolkitVersion{});
  EXPECT_EQ(concluded({"create-symlinks", "update-ldcache", "enable-cuda-compat"}).version,
            (ToolkitVersion{1, 17, 5}));
  EXPECT_EQ(concluded({"disable-device-node-modification", "create-symlinks", "update-ldcache",
                       "enable-cuda-compat"}),
            (Toolkit{.version = ToolkitVersion{1, 18, 0}}));
}

TEST(ToolkitEvidence, BuildInformationTellsTheVersionItself) {
  const std::vector<std::string> hooks = {"create-symlinks", "update-ldcache",
                                          "enable-cuda-compat"};
  for (const std::string& words :
       {std::string("build\t-ldflags=\"-X github.com/NVIDIA/nvidia-container-toolkit/internal/"
                    "info.version=1.17.8\"\n"),
        std::string("mod\tgithub.com/NVIDIA/nvidia-container-toolkit\tv1.17.8\th1:x=\n")}) {
    std::vector<std::string> all = hooks;
    all.push_back(words);
    EXPECT_EQ(concluded(all), (Toolkit{.version = ToolkitVersion{1, 17, 8}, .is_exact = true}));
  }
}

// A private build may have any version.
TEST(ToolkitEvidence, HooksCountForMoreThanAVersionThatContradictsThem) {
  EXPECT_EQ(concluded({"create-symlinks", "update-ldcache", "info.version=1.20.1"}).version,
            ToolkitVersion{});
  EXPECT_EQ(concluded({"create-symlinks", "update-ldcache", "enable-cuda-compat",
                       "disable-device-node-modification", "info.version=0.1.0"}),
            (Toolkit{.version = ToolkitVersion{1, 18, 0}}));
}

TEST(ToolkitEvidence, WordsMayBeCutAnywhere) {
  const std::string program = program_with(
      {"create-symlinks", "update-ldcache", "enable-cuda-compat", "info.version=1.17.8\""});
  for (std::size_t size = 1; size < 40; ++size) {
    ToolkitEvidence evidence;
    for (std::size_t at = 0; at < program.size(); at += size) {
      evidence.add(std::string_view(program).substr(at, size));
    }
    EXPECT_EQ(to_string(evidence.conclusion("x")), "1.17.8") << size;
  }
}

TEST(ToolkitEvidence, OtherProgramsAreNotTheToolkit) {
  const Toolkit other = concluded({"info.version=1.20.1"});
  EXPECT_EQ(other.version, std::nullopt);
  EXPECT_EQ(other.problem, "/usr/bin/nvidia-ctk is not NVIDIA's container toolkit");
}

class AToolkitOnTheHost : public testing::Test {
 protected:
  Toolkit look() { return reader_.look(options_, host_.path()); }

  FakeRoot driver_;
  FakeRoot host_;
  CdiOptions options_{.container_driver_root = driver_.path()};
  ToolkitReader reader_;
  const std::string new_ = program_with({"create-symlinks", "update-ldcache", "enable-cuda-compat",
                                         "disable-device-node-modification"});
  const std::string old_ = program_with({"create-symlinks", "update-ldcache"});
};

TEST_F(AToolkitOnTheHost, IsReadBelowTheDriverRootThatIsMountedForUs) {
  driver_.file("/opt/nvidia/nvidia-ctk", new_, 0755);
  driver_.link("/usr/bin/nvidia-ctk", "/opt/nvidia/nvidia-ctk");
  EXPECT_EQ(to_string(look()), "1.18.0 or newer");
}

TEST_F(AToolkitOnTheHost, IsReadBelowOurOwnRootWhereTheDriverRootIsAnother) {
  options_.driver_root = "/run/nvidia/driver";
  driver_.file("/usr/bin/nvidia-ctk", new_, 0755);  // the driver container's, not the host's
  host_.file("/usr/bin/nvidia-ctk", old_, 0755);
  EXPECT_EQ(to_string(look()), "older than 1.17.5");
  options_.hook_path = "/run/nvidia/driver/usr/bin/nvidia-ctk";
  EXPECT_EQ(to_string(look()), "1.18.0 or newer");
}

TEST_F(AToolkitOnTheHost, MayLieBehindAScriptOfTheOperators) {
  options_.hook_path = "/usr/local/nvidia/toolkit/nvidia-cdi-hook";
  driver_.file("/usr/local/nvidia/toolkit/nvidia-cdi-hook", "#! /bin/sh\nexec x.real\n", 0755);
  driver_.file("/usr/local/nvidia/toolkit/nvidia-cdi-hook.real", new_, 0755);
  EXPECT_EQ(to_string(look()), "1.18.0 or newer");
}

TEST_F(AToolkitOnTheHost, IsNotKnownWhereItCannotBeSeen) {
  const Toolkit toolkit = look();
  EXPECT_EQ(toolkit.version, std::nullopt);
  EXPECT_THAT(toolkit.problem, HasSubstr("/usr/bin/nvidia-ctk"));
  EXPECT_THAT(toolkit.problem, HasSubstr(driver_.path()));
}

TEST_F(AToolkitOnTheHost, IsNoPipe) {
  driver_.folder("/usr/bin");
  ASSERT_EQ(::mkfifo(driver_.path("/usr/bin/nvidia-ctk").c_str(), 0755), 0);
  EXPECT_EQ(look().version, std::nullopt);
}

TEST_F(AToolkitOnTheHost, IsReadAgainWhenItIsAnother) {
  driver_.file("/usr/bin/nvidia-ctk", old_, 0755);
  EXPECT_EQ(to_string(look()), "older than 1.17.5");
  EXPECT_EQ(to_string(look()), "older than 1.17.5");
  ASSERT_TRUE(write_atomically(driver_.path("/usr/bin/nvidia-ctk"), new_));
  EXPECT_EQ(to_string(look()), "1.18.0 or newer");
  std::filesystem::remove(driver_.path("/usr/bin/nvidia-ctk"));
  EXPECT_EQ(look().version, std::nullopt);
}

TEST_F(AToolkitOnTheHost, IsWhatSomebodySaysItIs) {
  driver_.file("/usr/bin/nvidia-ctk", old_, 0755);
  options_.toolkit = ToolkitVersion{1, 20, 1};
  EXPECT_EQ(look(), (Toolkit{.version = ToolkitVersion{1, 20, 1}, .is_exact = true}));
}

}  // namespace
}  // namespace tranche::node
