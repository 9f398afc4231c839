// SPDX-License-Identifier: Apache-2.0
//
// How a container reaches the MPS daemon of its devices, and its limits there. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "core/grant/grant.h"
#include "core/grant/request.h"

namespace tranche::core {

// A CUDA context alone takes about half a GiB of a share on a large GPU, less where the
// thread percentage leaves few multiprocessors. Below this the grant has a note.
inline constexpr std::uint64_t kSmallShareBytes = 1ULL << 30;

// CUDA_MPS_ACTIVE_THREAD_PERCENTAGE for `part` shares of `whole`: in tenths, rounded down, so
// that all shares together stay within 100. Never 0, which a daemon ignores: the container would
// get the whole GPU.
std::string thread_percentage(unsigned part, unsigned whole);

// The pipe, its mounts and the limits. A client reads one pipe and talks to one
// daemon, so devices with different ones are refused.
Status add_mps(const GrantRequest& request, ContainerGrant& grant);

}  // namespace tranche::core
