// SPDX-License-Identifier: Apache-2.0
//
// Everything needed to answer the kubelet's calls about one resource, as one immutable value: a
// call sees one consistent state.
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
  OfferRoom shown;  // as reported to the kubelet
  // Everything the node offers: shares held under other names count against this one.
  std::shared_ptr<const Catalog> catalog;
  Topology topology;
  GrantOptions grant;
  NodeFacts facts;
  // Our path of the folder that is mounted into containers; empty: none is.
  std::string driver_folder;

  bool operator==(const Serving&) const = default;
};

}  // namespace tranche::core
