// SPDX-License-Identifier: Apache-2.0
//
// Objects that the calls of all resources share.
#pragma once

#include <functional>
#include <string>

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
  // Called for an allocation that was refused, from gRPC's threads; may be empty.
  std::function<void(const std::string& resource, const std::string& reason)> refused;
};

}  // namespace tranche::node
