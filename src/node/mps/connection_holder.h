// SPDX-License-Identifier: Apache-2.0
//
// Looks, through the kernel, at a control daemon that does not answer: whom it
// waits for, and who is attached to its server. And ends one who holds it up.
#pragma once

#include <string>

#include "core/mps/silence.h"
#include "os/child_process.h"

namespace tranche::node {

// The pod that we are in; empty: none.
std::string own_pod();

// What can be seen of the daemon now.
Silence look_at_silent_daemon(const Process& daemon);

// The connection that the daemon waits for, where it is no server's and none of our own.
std::optional<HeldConnection> find_held_connection(const Process& daemon);

// Ends the connection by a copy of the daemon's end, whoever has the other one, and no process.
// False: the daemon does not wait for it any more, or the kernel does not allow it.
bool end_connection(const Process& daemon, const HeldConnection& held);

// Kills the process if it is still the one that was seen, has the connection's other end or
// is of the pod that connected, and the daemon still waits for that connection. False: it is
// not so.
bool end_holder(const Process& daemon, const HeldConnection& held, const ProcessFacts& holder);

}  // namespace tranche::node
