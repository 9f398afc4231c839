// SPDX-License-Identifier: Apache-2.0
//
// The names of what is ours in a cluster; all below one domain.
#pragma once

namespace tranche::core {

inline constexpr const char* kDomain = "tranche.dev";
inline constexpr const char* kApiGroupVersion = "gpu.tranche.dev/v1alpha1";
inline constexpr const char* kGpuNodeKind = "GpuNode";
inline constexpr const char* kGpuNodesPath = "/apis/gpu.tranche.dev/v1alpha1/gpunodes";
// The field manager of what the agent applies, and the controller of its events.
inline constexpr const char* kFieldManager = "tranche-device-plugin";
inline constexpr const char* kEventController = "tranche.dev/device-plugin";

}  // namespace tranche::core
