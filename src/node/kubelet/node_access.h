// SPDX-License-Identifier: Apache-2.0
//
// Objects that the calls of all resources share.
#pragma once

#include "node/holders/call_gate.h"
#include "node/holders/ledger_book.h"
#include "node/kubelet/pod_resources_client.h"
#include "node/nested/handed_off.h"

namespace tranche::node {

struct NodeAccess {
  LedgerBook& book;
  CallGate& gate;
  const PodResourcesClient& pods;
  HandedOff& handed_off;
};

}  // namespace tranche::node
