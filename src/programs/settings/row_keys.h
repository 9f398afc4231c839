// SPDX-License-Identifier: Apache-2.0
//
// Keys of the rows in the sections `resources`, `sharing` and `tranche.policies`, and how their
// values are read and shown. Constant data: any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/sharing/policy.h"
#include "os/settings/rows.h"

namespace tranche::programs {

// Per resource.
constexpr unsigned kMostReplicas = 1'000'000;
// Remark at keys that NVIDIA's plugin reads and ignores.
constexpr std::string_view kHonoured = "honoured here; NVIDIA's plugin ignores it";

RowKeys<NameRule> gpu_name_keys();
RowKeys<NameRule> mig_name_keys();
RowKeys<Replication> replication_keys();
RowKeys<ResourcePolicy> policy_keys();

}  // namespace tranche::programs
