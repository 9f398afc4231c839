// SPDX-License-Identifier: Apache-2.0
//
// The folders of a daemon, and the one that containers see. The pipe folder
// holds a socket through which root in a container could stop the daemon or
// raise limits; containers get a folder beside it with a hard link to the
// clients' socket and nothing else. A container keeps its mount of the folder
// while daemons come and go, and finds the new one's socket there.
#pragma once

#include <string>

#include "base/result.h"
#include "core/mps/mps_plan.h"

namespace tranche::node {

// Makes the daemon's folders; any user can pass through them. Where the daemon shares
// memory with containers, that is mounted; `host_mounts` is the host's mount table.
Status make_mps_folders(const MpsDaemonPlan& plan,
                        const std::string& host_mounts = "/proc/1/mountinfo");

// Lets clients in: puts the socket of the daemon that runs now into the
// clients' folder, in one step.
Status link_client_view(const MpsDaemonPlan& plan);

// Whether what runs from the daemon's folder is ours to end: false where the folder is
// there and somebody else's.
bool may_end_daemon_of(const MpsDaemonPlan& plan);

// Removes everything that a daemon, and we for it, left. An error where the folder is
// not ours; then nothing of it is touched.
Status remove_mps_folders(const MpsDaemonPlan& plan);

}  // namespace tranche::node
