// SPDX-License-Identifier: Apache-2.0
#include "kube/access.h"

#include <algorithm>

#include "base/path.h"
#include "base/text.h"
#include "os/files.h"

namespace tranche::kube {
namespace {

Error invalid(const std::string& what) { return {ErrorCode::kInvalidArgument, what}; }

bool is_port(const std::string& text) {
  const auto number = parse_number<unsigned>(text);
  return number && *number > 0 && *number <= 65535;
}

// What would end a line of the request, or the host in it.
bool is_plain_host(std::string_view host) {
  return !host.empty() && std::ranges::all_of(host, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.' || c == ':' || c == '_' || c == '%';
  });
}

// For messages: a name and a password before the host are nobody's to read.
std::string shown(const std::string& url) {
  const std::size_t at = url.rfind('@');
  return "'" + printable(at == std::string::npos ? url : "…" + url.substr(at)) + "'";
}

}  // namespace

Result<Access> access_to(const std::string& url) {
  constexpr std::string_view kScheme = "https://";
  if (!url.starts_with(kScheme)) {
    return invalid("the server's address " + shown(url) +
                   " does not begin with https://; credentials are not sent without TLS");
  }
  const std::string rest = url.substr(kScheme.size());
  const std::size_t slash = std::min(rest.find('/'), rest.size());
  std::string authority = rest.substr(0, slash);
  Access access;
  access.path = rest.substr(slash);
  while (access.path.ends_with('/')) access.path.pop_back();
  if (authority.starts_with('[')) {
    const std::size_t end = authority.find(']');
    if (end == std::string::npos) return invalid(shown(url) + " lacks a ]");
    access.host = authority.substr(1, end - 1);
    authority = authority.substr(end + 1);
  } else {
    const std::size_t colon = std::min(authority.find(':'), authority.size());
    access.host = authority.substr(0, colon);
    authority = authority.substr(colon);
  }
  if (!authority.empty()) access.port = authority.substr(1);
  if (!is_plain_host(access.host) || !is_port(access.port) ||
      (!authority.empty() && authority.front() != ':') ||
      plain_prefix(access.path) != access.path.size()) {
    return invalid(shown(url) + " is no address of a server: https://HOST[:PORT][/PATH]");
  }
  return access;
}

Result<Access> in_cluster_access(const std::map<std::string, std::string>& environment,
                                 const std::string& folder) {
  const auto host = environment.find("KUBERNETES_SERVICE_HOST");
  const auto port = environment.find("KUBERNETES_SERVICE_PORT");
  if (host == environment.end() || host->second.empty()) {
    return Error{ErrorCode::kNotFound,
                 "KUBERNETES_SERVICE_HOST is not set: this is not a pod of Kubernetes"};
  }
  Access access;
  access.host = host->second;
  if (port != environment.end() && !port->second.empty()) access.port = port->second;
  if (!is_plain_host(access.host) || !is_port(access.port)) {
    return invalid("KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT ('" +
                   printable(access.host) + "', '" + printable(access.port) +
                   "') are no address of a server");
  }
  access.token.file = below(folder, "token");
  access.ca.file = below(folder, "ca.crt");
  access.origin = "the pod's service account";
  if (!path_exists(access.token.file)) {
    return Error{ErrorCode::kNotFound, access.token.file +
                                           " does not exist: the pod has no service account token "
                                           "(automountServiceAccountToken: false?)"};
  }
  return access;
}

}  // namespace tranche::kube
