// SPDX-License-Identifier: Apache-2.0
//
// How changes write down what happened: events for sessions, lines for the
// kernel's log. Internal to the changes.
#pragma once

#include <string>

#include "testbed/world/changes.h"
#include "testbed/world/world.h"

namespace tranche::testbed::sim {

void add_event(World& world, Event event);
void add_log(World& world, std::string text);

void record_xid(World& world, const Gpu& gpu, const Xid& xid);

// Sets field 230 and tells of it, when it changes.
void record_recovery_action(World& world, Gpu& gpu, unsigned action);

}  // namespace tranche::testbed::sim
