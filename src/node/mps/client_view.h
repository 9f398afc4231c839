// SPDX-License-Identifier: Apache-2.0
//
// The folders of a daemon, and the one that containers see. The pipe folder
// holds a socket through which root in a container could stop the daemon or
// raise limits; containers get a folder beside it with a hard link to the
// clients' socket and nothing else. A container keeps its mount of the folder
// while daemons come and go, and finds the new one's socket there.
#pragma once

#include "base/result.h"
#include "mps/plan.h"

namespace tranche {

// Makes the daemon's folders; any user can pass through them.
Status make_mps_folders(const MpsDaemonPlan& plan);

// Lets clients in: puts the socket of the daemon that runs now into the
// clients' folder, in one step.
Status link_client_view(const MpsDaemonPlan& plan);

// Removes everything that a daemon, and we for it, left.
Status remove_mps_folders(const MpsDaemonPlan& plan);

}  // namespace tranche
