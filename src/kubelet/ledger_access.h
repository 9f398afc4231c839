// SPDX-License-Identifier: Apache-2.0
//
// What the calls about all resources share: the node's ledger, the gate that
// tells when the kubelet may be asked, and the kubelet's answer to who still
// holds what.
#pragma once

#include "kubelet/call_gate.h"
#include "kubelet/ledger_book.h"
#include "kubelet/pod_resources_client.h"

namespace tranche {

struct LedgerAccess {
  LedgerBook& book;
  CallGate& gate;
  const PodResourcesClient& pods;
};

}  // namespace tranche
