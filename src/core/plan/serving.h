// SPDX-License-Identifier: Apache-2.0
//
// Everything that the kubelet's calls about one resource are answered from, as
// one value: a call sees one moment of the world, whatever changes meanwhile.
#pragma once

#include <memory>
#include <string>

#include "core/gpu/topology.h"
#include "core/grant/node_facts.h"
#include "core/ledger/coverage.h"
#include "core/settings/grant_options.h"
#include "core/sharing/catalog.h"

namespace tranche::core {

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

}  // namespace tranche::core
