// SPDX-License-Identifier: Apache-2.0
//
// The folders of a daemon, and the one for containers. With a socket in the pipe folder, root in a
// container could stop the daemon or raise limits. So containers get a folder beside it, which has
// only a hard link to the clients' socket. They keep this mount while daemons restart, and find the
// new socket there.
#pragma once

#include <string>

#include "base/result.h"
#include "core/mps/mps_plan.h"

namespace tranche::node {

// Creates the daemon's folders; any user can pass through them. Mounts the shared memory if the
// plan has one; `host_mounts` is the host's mount table.
Status make_mps_folders(const MpsDaemonPlan& plan,
                        const std::string& host_mounts = "/proc/1/mountinfo");

// Lets clients in: atomically links the running daemon's socket into the clients' folder.
Status link_client_view(const MpsDaemonPlan& plan);

// Whether we may end the daemon of this folder. False: the folder exists and is not ours.
bool may_end_daemon_of(const MpsDaemonPlan& plan);

// Removes everything of a daemon. Error: the folder is not ours; then it is not touched.
Status remove_mps_folders(const MpsDaemonPlan& plan);

}  // namespace tranche::node
