// SPDX-License-Identifier: Apache-2.0
//
// Finds the way to the API server: the kubeconfig that is named, else the pod's service account.
#pragma once

#include <map>
#include <string>

#include "base/result.h"
#include "kube/access.h"

namespace tranche::node {

struct ApiAccessSources {
  std::string kubeconfig;  // a path; empty: none is named
  std::map<std::string, std::string> environment;
  std::string service_account = kServiceAccountFolder;
};

// A kubeconfig that does not exist counts as not named, because GPUShare's manifests name one that
// no node has.
Result<Access> find_api_access(const ApiAccessSources& sources);

}  // namespace tranche::node
