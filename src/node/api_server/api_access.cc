// SPDX-License-Identifier: Apache-2.0
#include "node/api_server/api_access.h"

#include "os/files.h"

namespace tranche::node {
namespace {

constexpr std::size_t kMostKubeconfig = 1U << 20U;

}  // namespace

Result<Access> find_api_access(const ApiAccessSources& sources) {
  std::string missing;
  if (!sources.kubeconfig.empty()) {
    const Result<std::string> content = read_file(sources.kubeconfig, kMostKubeconfig);
    if (content) return parse_kubeconfig(sources.kubeconfig, *content);
    if (content.error().code != ErrorCode::kNotFound) {
      return content.error().in("kubeconfig " + sources.kubeconfig);
    }
    missing = "kubeconfig " + sources.kubeconfig + " does not exist; ";
  }
  Result<Access> access = in_cluster_access(sources.environment, sources.service_account);
  if (access || missing.empty()) return access;
  return Error{access.error().code, missing + access.error().message};
}

}  // namespace tranche::node
