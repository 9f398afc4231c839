// SPDX-License-Identifier: Apache-2.0
//
// Inspects, through the kernel, a control daemon that does not answer: which connection it waits
// for and how many clients its server has. Can end a client that blocks it.
#pragma once

#include <string>

#include "core/mps/silence.h"
#include "os/child_process.h"

namespace tranche::node {

// The agent's own pod; empty: none.
std::string own_pod();

// The state of the daemon now.
Silence look_at_silent_daemon(const Process& daemon);

// The connection that the daemon waits for, unless it is a server's or our own.
std::optional<HeldConnection> find_held_connection(const Process& daemon);

// Closes the connection with a copy of the daemon's end, whoever has the other one; kills no
// process. False: the daemon no longer waits for it, or the kernel does not allow it.
bool end_connection(const Process& daemon, const HeldConnection& held);

// Kills the process if it is still the same one, has the other end or is of the pod that connected,
// and the daemon still waits for the connection. Returns whether it did.
bool end_holder(const Process& daemon, const HeldConnection& held, const ProcessFacts& holder);

}  // namespace tranche::node
