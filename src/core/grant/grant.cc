// SPDX-License-Identifier: Apache-2.0
#include "core/grant/grant.h"

#include "core/grant/dialect.h"
#include "core/grant/enforcement.h"
#include "core/grant/request.h"

namespace tranche::core {
namespace {

Result<ContainerGrant> in_its_dialect(const GrantRequest& request) {
  switch (request.offer.terms.dialect) {
    case Dialect::kNvidia: break;
    case Dialect::kDeepomatic:
    case Dialect::kGcp: return node_grant(request);
    case Dialect::kGpushare: return gpushare_grant(request);
    case Dialect::kNestedHost: return nested_host_grant(request);
  }
  return nvidia_grant(request);
}

}  // namespace

Result<ContainerGrant> grant(const Offer& offer, const GrantOptions& options,
                             const NodeFacts& facts, const std::vector<std::string_view>& ids) {
  const Result<GrantRequest> request = read_request(offer, options, facts, ids);
  if (!request) return request.error();
  Result<ContainerGrant> granted = in_its_dialect(*request);
  if (!granted) return granted.error();
  if (Status held = add_enforcement(*request, *granted); !held) return held.error();
  return granted;
}

}  // namespace tranche::core
