// SPDX-License-Identifier: Apache-2.0
#include "testbed/tool/faults.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testbed/worlds/builtin.h"

namespace tranche::testbed::sim {
namespace {

using ::testing::HasSubstr;

World after(const std::string& builtin, const std::vector<std::string>& words) {
  const World world = *builtin_world(builtin);
  Arguments arguments(words);
  const std::string verb = arguments.word();
  const Result<Change> change = parse_fault(verb, arguments, world);
  EXPECT_TRUE(change) << change.error().message;
  if (!change) return {};
  Result<World> changed = (*change)(world);
  EXPECT_TRUE(changed) << changed.error().message;
  return changed ? *changed : World{};
}

std::string problem(const std::vector<std::string>& words) {
  Arguments arguments(words);
  const std::string verb = arguments.word();
  const Result<Change> change = parse_fault(verb, arguments, *builtin_world("hgx-h200"));
  return change ? "" : change.error().message;
}

TEST(FaultWords, NameEveryChange) {
  EXPECT_EQ(after("hgx-h200", {"xid", "--gpu", "3", "--xid", "48"}).events.back().data, 48U);
  EXPECT_TRUE(after("hgx-h200", {"xid", "--gpu=3", "--xid=79"}).events.empty());
  EXPECT_EQ(after("hgx-h200", {"lose", "--gpu", "0000:43:00.0"}).gpus[1].state, Gpu::State::kLost);
  EXPECT_EQ(after("hgx-h200", {"fall-off", "--gpu", "1"}).gpus[1].state, Gpu::State::kOffBus);
  EXPECT_EQ(after("hgx-h200", {"require-reset", "--gpu", "1"}).gpus[1].state,
            Gpu::State::kResetRequired);
  EXPECT_EQ(after("hgx-h200", {"come-back", "--gpu", "1"}).gpus[1].generation, 1U);
  EXPECT_EQ(after("hgx-h200", {"reset", "--gpu", "1"}).gpus[1].generation, 1U);
  EXPECT_EQ(after("hgx-h200", {"ecc", "--gpu", "1"}).gpus[1].vitals.ecc_volatile.uncorrected, 1U);
  EXPECT_EQ(after("hgx-h200", {"recovery", "--gpu", "1", "--action", "reboot"})
                .gpus[1]
                .vitals.recovery_action,
            2U);
  EXPECT_EQ(after("hgx-h200", {"event", "--gpu", "1", "--type", "0x4000"}).events.back().type,
            0x4000U);
  EXPECT_EQ(after("hgx-h200", {"mig", "--gpu", "0", "--layout", "3g.71gb,3g.71gb"})
                .gpus[0]
                .mig.instances.size(),
            2U);
  EXPECT_EQ(
      after("a30-mig", {"mig-remove", "--gpu", "0", "--index", "1"}).gpus[0].mig.instances.size(),
      2U);
  EXPECT_FALSE(after("a30-mig", {"mig-off", "--gpu", "0"}).gpus[0].mig.enabled);
  EXPECT_EQ(after("l40s", {"plug", "--model", "t4", "--numa", "1"}).gpus.size(), 5U);
  EXPECT_EQ(after("l40s", {"unplug", "--gpu", "1"}).gpus.size(), 3U);
  EXPECT_EQ(after("l40s", {"swap", "--gpu", "1", "--uuid", "GPU-b", "--model", "t4"}).gpus[1].uuid,
            GpuUuid("GPU-b"));
  EXPECT_NE(after("l40s", {"swap", "--gpu", "1"}).gpus[1].uuid,
            builtin_world("l40s")->gpus[1].uuid);
  EXPECT_EQ(
      after("l40s", {"memory", "--gpu", "1", "--memory-mib", "49140"}).gpus[1].model.memory_mib,
      49140U);
  EXPECT_FALSE(after("l40s", {"driver", "unload"}).driver.loaded);
  EXPECT_TRUE(after("l40s", {"driver", "load"}).driver.loaded);
  EXPECT_EQ(after("l40s", {"driver", "mismatch", "--version", "1.2"}).driver.module_version, "1.2");
  EXPECT_EQ(after("l40s", {"reboot", "--boot-id", "b"}).boot_id, "b");
  EXPECT_EQ(after("l40s", {"log", "--text", "hello"}).kernel_log.back().text, "hello");
  EXPECT_TRUE(after("l40s", {"block", "--call", "nvmlInit", "--gpu", "2"}).faults[0].blocks);
  EXPECT_EQ(after("l40s", {"fail", "--call", "nvmlInit", "--code", "gpu_is_lost", "--times", "2"})
                .faults[0]
                .code,
            15);
  EXPECT_EQ(after("l40s", {"clear"}).faults.size(), 0U);
  EXPECT_EQ(after("l40s", {"process", "--gpu", "0", "--pid", "7", "--memory-mib", "9"})
                .gpus[0]
                .processes[0]
                .memory_mib,
            9U);
  EXPECT_TRUE(after("l40s", {"process-end", "--gpu", "0", "--pid", "7"}).gpus[0].processes.empty());
  EXPECT_EQ(
      after("hgx-h200", {"fabric", "--gpu", "0", "--state", "in_progress"}).gpus[0].fabric.state,
      Fabric::State::kInProgress);
  EXPECT_FALSE(after("hgx-h200", {"link", "--gpu", "0", "--link", "2", "--state", "down"})
                   .gpus[0]
                   .links[2]
                   .active);
  EXPECT_EQ(after("hgx-h200", {"vitals", "--gpu", "0", "--temperature", "80"})
                .gpus[0]
                .vitals.temperature_c,
            80U);
}

TEST(FaultWords, AreExplainedWithTheOptionsOfTheTable) {
  const std::string help = fault_help();
  EXPECT_THAT(help, HasSubstr("  xid --gpu G --xid N [--gi N --ci N] [--route event|log|both] "
                              "[--pid N --process NAME]\n"));
  EXPECT_THAT(help, HasSubstr("  link --gpu G --link N --state up|down\n"));
  EXPECT_THAT(help, HasSubstr("  driver unload|load|mismatch [--version V]\n"));
  EXPECT_EQ(synopsis("world root [plain-files]"), "--world WORLD --root FOLDER [--plain-files]");
}

TEST(FaultWords, SayWhatIsWrongWithThem) {
  EXPECT_THAT(problem({"xdi"}), HasSubstr("did you mean 'xid'?"));
  EXPECT_THAT(problem({}), HasSubstr("needs a verb"));
  EXPECT_THAT(problem({"lose"}), HasSubstr("--gpu is missing"));
  EXPECT_THAT(problem({"lose", "--gpu", "x"}), HasSubstr("is no GPU"));
  EXPECT_THAT(problem({"lose", "--gpu"}), HasSubstr("needs a value"));
  EXPECT_THAT(problem({"lose", "--gpu", "1", "--gpu", "2"}), HasSubstr("given twice"));
  EXPECT_THAT(problem({"lose", "--gup", "1"}), HasSubstr("did you mean --gpu?"));
  EXPECT_THAT(problem({"xid", "--gpu", "1", "--xid", "9", "--rout", "log"}),
              HasSubstr("did you mean --route?"));
  EXPECT_THAT(problem({"lose", "--gpu", "1", "--index", "2"}), HasSubstr("unknown flag --index"));
  EXPECT_THAT(problem({"xid", "--gpu", "1", "--xid", "many"}), HasSubstr("'many' is no number"));
  EXPECT_THAT(problem({"lose", "--gpu", "1", "now"}), HasSubstr("one word too many"));
  EXPECT_THAT(problem({"fail", "--call", "nvmlInit", "--code", "0"}), HasSubstr("no error code"));
  EXPECT_THAT(problem({"driver", "kick"}), HasSubstr("none of unload, load"));
  EXPECT_THAT(problem({"swap", "--gpu", "1", "--model", "x"}), HasSubstr("'x' is none of"));
  EXPECT_THAT(problem({"memory", "--gpu", "1"}), HasSubstr("--memory-mib is missing"));
}

}  // namespace
}  // namespace tranche::testbed::sim
