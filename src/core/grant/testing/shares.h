// SPDX-License-Identifier: Apache-2.0
//
// Short ways to write offers and grants of them down in tests.
#pragma once

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "core/grant/grant.h"

namespace tranche::core {

inline constexpr std::uint64_t kGiB = 1ULL << 30;

// GPU `index` with uuid "GPU-<index>" and shares "GPU-<index>::0" and so on, each of
// `share_bytes`; 0: not counted.
inline OfferedDevice a_shared_gpu(unsigned index, unsigned shares, std::uint64_t share_bytes = 0) {
  const std::string uuid = fmt::format("GPU-{}", index);
  return {.uuid = uuid,
          .gpu = GpuUuid(uuid),
          .gpu_index = index,
          .model = "NVIDIA H200",
          .minor = index,
          .memory_bytes = shares * share_bytes,
          .replicas = shares,
          .share_bytes = share_bytes};
}

inline Offer an_offer(const char* name, std::vector<OfferedDevice> devices, Terms terms) {
  return {.name = ResourceName(name), .devices = std::move(devices), .terms = terms};
}

// 140 and 80 units of 1 GiB, in GPUShare's convention.
inline Offer gib_units(Enforcement enforcement = Enforcement::kNone) {
  return an_offer("aliyun.com/gpu-mem", {a_shared_gpu(0, 140, kGiB), a_shared_gpu(1, 80, kGiB)},
                  {.form = ShareForm::kMemory,
                   .unit_bytes = kGiB,
                   .dialect = Dialect::kGpushare,
                   .enforcement = enforcement});
}

// How containers reach a daemon of their own GPU.
inline MpsWiring a_daemon(unsigned gpu) {
  const std::string folder = fmt::format("/run/tranche/mps/{}/pipe", gpu);
  return {.pipe_directory = "/run/mps", .mounts = {{"/run/mps/control", folder + "/control"}}};
}

// `count` shares of a GPU, from number 0 on.
inline std::vector<std::string> shares_of(unsigned gpu, unsigned count) {
  std::vector<std::string> ids;
  for (unsigned i = 0; i < count; ++i) {
    ids.push_back(fmt::format("GPU-{}::{}", gpu, i));
  }
  return ids;
}

inline Result<ContainerGrant> grant_of(const Offer& offer, const std::vector<std::string>& ids,
                                       const NodeFacts& facts, const GrantOptions& options = {}) {
  return grant(offer, options, facts, {ids.begin(), ids.end()});
}

inline ContainerGrant must_grant(const Offer& offer, const std::vector<std::string>& ids,
                                 const NodeFacts& facts = {}, const GrantOptions& options = {}) {
  Result<ContainerGrant> result = grant_of(offer, ids, facts, options);
  EXPECT_TRUE(result) << (result ? "" : result.error().message);
  return result ? *result : ContainerGrant{};
}

inline Error must_refuse(const Offer& offer, const std::vector<std::string>& ids,
                         const NodeFacts& facts = {}, const GrantOptions& options = {}) {
  const Result<ContainerGrant> result = grant_of(offer, ids, facts, options);
  EXPECT_FALSE(result);
  return result ? Error{ErrorCode::kInternal, "it was granted"} : result.error();
}

}  // namespace tranche::core
