// SPDX-License-Identifier: Apache-2.0
//
// The keys of rows in the file's sections `resources`, `sharing` and `tranche.policies`,
// each with how its value is read and shown. Constant data: any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/sharing/policy.h"
#include "os/settings/rows.h"

namespace tranche::programs {

// Of any one resource.
constexpr unsigned kMostReplicas = 1'000'000;
// A remark at what NVIDIA's plugin reads and drops.
constexpr std::string_view kHonoured = "honoured here; NVIDIA's plugin ignores it";

RowKeys<NameRule> gpu_name_keys();
RowKeys<NameRule> mig_name_keys();
RowKeys<Replication> replication_keys();
RowKeys<ResourcePolicy> policy_keys();

}  // namespace tranche::programs
