// SPDX-License-Identifier: Apache-2.0
//
// Where the API server is and how we prove who we are, as values. Files are named here and
// read when they are used, because tokens and certificates are replaced while we run.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace tranche::kube {

// Text that is given itself, or by the file it is in.
struct FileOrText {
  std::string file;
  std::string text;

  bool is_given() const { return !file.empty() || !text.empty(); }
  bool operator==(const FileOrText&) const = default;
};

// A program that prints credentials (`exec` of a kubeconfig).
struct ExecPlugin {
  std::string api_version;
  std::string command;
  std::vector<std::string> arguments;
  std::map<std::string, std::string> environment;  // beside ours
  bool provide_cluster_info = false;
  std::string install_hint;

  bool operator==(const ExecPlugin&) const = default;
};

struct Access {
  std::string host;  // a name or an address, IPv6 without brackets
  std::string port = "443";
  std::string path;         // before every target; "" or "/prefix"
  std::string server_name;  // that the certificate must be for; empty: host
  FileOrText ca;            // not given: the authorities that the machine trusts
  bool skip_verify = false;

  FileOrText token;
  FileOrText certificate;  // of the client, with key
  FileOrText key;
  std::optional<ExecPlugin> exec;

  std::string origin;  // for people: "the pod's service account", "kubeconfig /root/.kube/config"

  bool operator==(const Access&) const = default;
};

// Splits "https://[fd00::1]:6443/prefix".
Result<Access> access_to(const std::string& url);

// Of a pod. `environment` has the variables that the kubelet sets, `folder` is where the
// service account is mounted. NotFound: this is no pod, or it has no service account.
Result<Access> in_cluster_access(const std::map<std::string, std::string>& environment,
                                 const std::string& folder);
inline constexpr const char* kServiceAccountFolder =
    "/var/run/secrets/kubernetes.io/serviceaccount";

// The current context of a kubeconfig, or the one that is named. `path` is for messages, and
// files in it are relative to its folder.
Result<Access> parse_kubeconfig(const std::string& path, const std::string& content,
                                const std::string& context = "");

}  // namespace tranche::kube
