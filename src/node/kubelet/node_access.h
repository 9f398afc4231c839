// SPDX-License-Identifier: Apache-2.0
//
// What the calls about all resources share: the node's ledger, the gate that
// tells when the kubelet may be asked, the kubelet's answer to who still holds
// what, and the files for containers that are themselves nodes.
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
