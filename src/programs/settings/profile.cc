// SPDX-License-Identifier: Apache-2.0
#include "programs/settings/profile.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"
#include "os/settings/memory_size.h"
#include "programs/settings/row_keys.h"

namespace tranche::programs {
namespace {

struct Program {
  std::string_view name;
  std::string_view profile;
};
constexpr std::array kPrograms = {
    Program{"nvidia-device-plugin", "nvidia"},
    Program{"deepomatic-shared-gpu-gcp-k8s-device-plugin", "deepomatic"},
    Program{"nvidia-gpu-device-plugin", "gcp"},
    Program{"gpushare-device-plugin-v2", "gpushare"},
};

struct Default {
  std::string_view profile;
  std::string_view setting;
  std::string_view value;
  bool without_runtime;  // only without NVIDIA's runtime
};
// The original plugins wait for a missing driver, so we do the same.
constexpr std::array kDefaults = {
    Default{"deepomatic", "fail-on-init-error", "false", false},
    Default{"deepomatic", "host-path", "/home/kubernetes/bin/nvidia", true},
    Default{"deepomatic", "plugin-directory", "/device-plugin", true},
    Default{"deepomatic", "pass-device-specs", "true", true},
    Default{"gcp", "fail-on-init-error", "false", false},
    Default{"gcp", "host-path", "/home/kubernetes/bin/nvidia", false},
    Default{"gcp", "host-vulkan-icd-path", "/home/kubernetes/bin/nvidia/vulkan/icd.d", false},
    Default{"gcp", "plugin-directory", "/device-plugin", false},
    Default{"gcp", "pass-device-specs", "true", false},
    Default{"gpushare", "fail-on-init-error", "false", false},
    Default{"nested-guest", "fail-on-init-error", "false", false},
    Default{"nested-guest", "nested-guest", "true", false},
};

constexpr std::string_view kSharedGpu = "deepomatic.com/shared-gpu";
constexpr std::string_view kGpuMemory = "aliyun.com/gpu-mem";
constexpr std::string_view kGpu = "nvidia.com/gpu";

// Profiles that offer the same as NVIDIA's plugin.
constexpr std::array kLikeNvidia = {std::string_view("nvidia"), std::string_view("nested-host"),
                                    std::string_view("nested-guest")};

bool is_like_nvidia(std::string_view profile) {
  return std::ranges::find(kLikeNvidia, profile) != kLikeNvidia.end();
}

// Whether the factor comes from the variable of Deepomatic's second plugin.
bool is_of_second_plugin(const Setting& factor) {
  return factor.origin.kind == OriginKind::kEnvironment &&
         factor.origin.text == "DP_NUMBER_CONTAINERS_PER_GPU";
}

class Offerer {
 public:
  explicit Offerer(const Resolved& resolved)
      : from_(resolved),
        profile_(resolved.text("profile")),
        factor_(resolved.at("gpu-duplication-factor")) {
    made_.origin = {OriginKind::kDefault, fmt::format("default (profile {})", profile_)};
  }

  ProfileOffer offer(bool is_replaced) {
    make();
    note_idle(is_replaced);
    if (is_replaced) made_.policy.reset();
    return std::move(made_);
  }

 private:
  void make() {
    if (profile_ == "deepomatic" || (is_like_nvidia(profile_) && factor_.is_given())) {
      make_shared_gpus();
    }
    if (profile_ == "gcp") {
      made_.policy = ResourcePolicy{.resource = ResourceName(std::string(kGpu))};
      made_.policy->terms.dialect = Dialect::kGcp;
    }
    if (profile_ == "gpushare") make_gpu_memory();
    const bool shares = made_.policy && made_.policy->terms.form != ShareForm::kWhole;
    if (shares && wants_mps()) made_.policy->terms.demanded = Enforcement::kMps;
  }

  bool wants_mps() const { return from_.truth("mps") || !from_.text("mps-pipe").empty(); }

  // Without NVIDIA's runtime a container gets device nodes and a mount of the driver's files, as in
  // the first plugin; with it NVIDIA's variables, as in the second.
  void make_shared_gpus() {
    const auto* factor = std::get_if<unsigned>(&factor_.value);
    const unsigned replicas = factor == nullptr ? 0 : *factor;
    if (replicas < 1 || replicas > kMostReplicas) {
      made_.problems.push_back(where(factor_) + ": number of replicas must be from 1 to 1000000");
      return;
    }
    const bool by_runtime =
        profile_ == "deepomatic" ? is_of_second_plugin(factor_) : from_.text("host-path").empty();
    made_.policy =
        ResourcePolicy{.resource = ResourceName(std::string(kSharedGpu)),
                       .terms = {.form = ShareForm::kReplicas,
                                 .placement = SharePlacement::kSpread,
                                 .dialect = by_runtime ? Dialect::kNvidia : Dialect::kDeepomatic},
                       .replicas = replicas};
    if (profile_ == "nested-host") {
      made_.policy->terms.dialect = Dialect::kNestedHost;
      made_.policy->terms.exposure = profile_exposure(from_);
    }
    if (factor_.is_given()) made_.origin = factor_.origin;
  }

  void make_gpu_memory() {
    made_.policy = ResourcePolicy{.resource = ResourceName(std::string(kGpuMemory)),
                                  .terms = {.form = ShareForm::kMemory,
                                            .placement = SharePlacement::kPack,
                                            .dialect = Dialect::kGpushare}};
    const std::string& text = from_.text("memory-unit");
    if (text == "auto") return;
    const Result<std::uint64_t> unit = parse_memory_unit(text);
    if (!unit) return;  // reported below
    made_.policy->unit = *unit;
  }

  void note_idle(bool is_replaced) {
    const std::string& unit = from_.text("memory-unit");
    if (const auto read = parse_memory_unit(unit); unit != "auto" && !read) {
      made_.problems.push_back(
          fmt::format("{}: {} (or auto)", where(from_.at("memory-unit")), read.error().message));
    }
    const std::string why = is_replaced ? "tranche.policies in the file replaces it"
                                        : fmt::format("the profile {} does not use it", profile_);
    const auto note = [&](const Setting& setting, bool has_effect) {
      if (!setting.is_given() || (has_effect && !is_replaced)) return;
      made_.notices.push_back(fmt::format("{}: without effect: {}", where(setting), why));
    };
    note(factor_, profile_ == "deepomatic" || is_like_nvidia(profile_));
    if (profile_ != "nested-host") note(from_.at("nested-exposure"), false);
    note(from_.at("memory-unit"), profile_ == "gpushare");
    const bool shares = made_.policy && made_.policy->terms.form != ShareForm::kWhole;
    if (from_.truth("mps")) note(from_.at("mps"), shares);
  }

  const Resolved& from_;
  const std::string profile_;
  const Setting& factor_;
  ProfileOffer made_;
};

}  // namespace

std::optional<std::string_view> profile_of_program(std::string_view program) {
  const std::size_t slash = program.rfind('/');
  if (slash != program.npos) program.remove_prefix(slash + 1);
  const auto* found = std::ranges::find(kPrograms, program, &Program::name);
  if (found == kPrograms.end()) return std::nullopt;
  return found->profile;
}

void apply_profile(std::string_view program, Resolved& resolved) {
  const auto called = profile_of_program(program);
  if (called && !resolved.at("profile").is_given()) {
    resolved.replace("profile", std::string(*called), "the program's name");
  }
  const std::string profile = resolved.text("profile");
  const bool by_runtime = is_of_second_plugin(resolved.at("gpu-duplication-factor"));
  for (const Default& row : kDefaults) {
    if (row.profile != profile || (row.without_runtime && by_runtime)) continue;
    const Setting& setting = resolved.at(row.setting);
    if (setting.is_given()) continue;
    resolved.replace(row.setting, *read_value(*setting.flag, words_in(*setting.flag, row.value)),
                     "profile " + profile);
  }
}

Exposure profile_exposure(const Resolved& resolved) {
  return meaning_of(kExposures, resolved.text("nested-exposure")).value_or(Exposure::kEnvvar);
}

ProfileOffer profile_offer(const Resolved& resolved, bool is_replaced) {
  return Offerer(resolved).offer(is_replaced);
}

}  // namespace tranche::programs
