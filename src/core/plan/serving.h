// SPDX-License-Identifier: Apache-2.0
//
// Everything that the kubelet's calls about one resource are answered from, as
// one value: a call sees one moment of the world, whatever changes meanwhile.
#pragma once

#include <memory>
#include <string>

#include "gpu/topology.h"
#include "grant/node_facts.h"
#include "grant/options.h"
#include "ledger/coverage.h"
#include "sharing/catalog.h"

namespace tranche {

struct Serving {
  Offer offer;
  OfferRoom shown;  // what the kubelet is told of it
  // All that the node offers: what is held under other names counts against this one.
  std::shared_ptr<const Catalog> catalog;
  Topology topology;
  GrantOptions grant;
  NodeFacts facts;
  // Where the folder that is mounted into containers is for us; empty: none is.
  std::string driver_folder;

  bool operator==(const Serving&) const = default;
};

}  // namespace tranche
