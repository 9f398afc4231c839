// SPDX-License-Identifier: Apache-2.0
//
// Reads the part of a kubeconfig that a client needs. What is given and not supported is an
// error: a client that leaves out a proxy or a password fails later with a worse message.
#include <absl/strings/escaping.h>

#include "base/path.h"
#include "base/text.h"
#include "kube/access.h"
#include "os/settings/document.h"

namespace tranche::kube {
namespace {

class Kubeconfig {
 public:
  Kubeconfig(const std::string& path, const ConfigNode& root)
      : path_(path), folder_(parent_of(path)), root_(root) {}

  Result<Access> access(const std::string& wanted) {
    const std::string context = wanted.empty() ? text(&root_, "current-context") : wanted;
    if (context.empty()) return wrong(0, "no context is current: set current-context");
    const ConfigNode* found = named("contexts", "context", context);
    if (found == nullptr) return wrong(0, "there is no context '" + printable(context) + "'");
    const ConfigNode* cluster = named("clusters", "cluster", text(found, "cluster"));
    if (cluster == nullptr) {
      return wrong(found->line, "context '" + printable(context) + "' names the cluster '" +
                                    printable(text(found, "cluster")) + "', which is not there");
    }
    Result<Access> access = cluster_of(*cluster);
    if (!access) return access;
    const std::string name = text(found, "user");
    const ConfigNode* user = named("users", "user", name);
    if (user == nullptr && !name.empty()) {
      return wrong(found->line, "context '" + printable(context) + "' names the user '" +
                                    printable(name) + "', which is not there");
    }
    if (user != nullptr) {
      if (Status taken = take_user(*user, *access); !taken) return taken.error();
    }
    access->origin = "kubeconfig " + path_ + ", context " + printable(context);
    return access;
  }

 private:
  Error wrong(unsigned line, const std::string& what) const {
    const std::string place = line > 0 ? path_ + ":" + std::to_string(line) : path_;
    return {ErrorCode::kInvalidArgument, place + ": " + what};
  }

  static std::string text(const ConfigNode* map, std::string_view key) {
    const ConfigNode* value = map == nullptr ? nullptr : given_item(*map, key);
    return value != nullptr && value->kind == NodeKind::kScalar ? value->text : std::string();
  }

  // The item of a list of {name: …, what: …}; null: there is none.
  const ConfigNode* named(std::string_view list, std::string_view what,
                          const std::string& name) const {
    const ConfigNode* items = given_item(root_, list);
    if (items == nullptr || items->kind != NodeKind::kList || name.empty()) return nullptr;
    for (const ConfigNode& item : items->items) {
      if (item.kind != NodeKind::kMap || text(&item, "name") != name) continue;
      const ConfigNode* found = given_item(item, what);
      return found != nullptr && found->kind == NodeKind::kMap ? found : nullptr;
    }
    return nullptr;
  }

  Status take(const ConfigNode& map, const std::string& key, FileOrText& into) const {
    if (std::string data = text(&map, key + "-data"); !data.empty()) {
      if (!absl::Base64Unescape(data, &into.text) || into.text.empty()) {
        return wrong(key_line(map, key + "-data"), key + "-data is not base64");
      }
    } else if (const std::string file = text(&map, key); !file.empty()) {
      into.file = below_unless_absolute(file);
    }
    return Done{};
  }

  std::string below_unless_absolute(const std::string& file) const {
    return file.starts_with('/') ? file : below(folder_, file);
  }

  Result<Access> cluster_of(const ConfigNode& cluster) const {
    Result<Access> access = access_to(text(&cluster, "server"));
    if (!access) return wrong(key_line(cluster, "server"), access.error().message);
    if (given_item(cluster, "proxy-url") != nullptr) {
      return wrong(key_line(cluster, "proxy-url"), "proxy-url is not supported");
    }
    access->server_name = text(&cluster, "tls-server-name");
    const ConfigNode* skip = given_item(cluster, "insecure-skip-tls-verify");
    access->skip_verify = skip != nullptr && is_bool(*skip) && scalar_truth(*skip);
    if (Status taken = take(cluster, "certificate-authority", access->ca); !taken) {
      return taken.error();
    }
    return access;
  }

  Status take_user(const ConfigNode& user, Access& access) const {
    for (const char* key : {"auth-provider", "username", "password", "as", "as-groups"}) {
      if (given_item(user, key) != nullptr) {
        return wrong(key_line(user, key), std::string(key) +
                                              " is not supported: use a token, a client "
                                              "certificate or an exec plugin");
      }
    }
    if (Status taken = take(user, "client-certificate", access.certificate); !taken) return taken;
    if (Status taken = take(user, "client-key", access.key); !taken) return taken;
    if (access.certificate.is_given() != access.key.is_given()) {
      return wrong(user.line, "client-certificate and client-key go together");
    }
    if (const std::string file = text(&user, "tokenFile"); !file.empty()) {
      access.token.file = below_unless_absolute(file);
    } else {
      access.token.text = text(&user, "token");
    }
    const ConfigNode* exec = given_item(user, "exec");
    return exec == nullptr ? Status(Done{}) : take_exec(*exec, access);
  }

  Status take_exec(const ConfigNode& exec, Access& access) const {
    ExecPlugin plugin{.api_version = text(&exec, "apiVersion"),
                      .command = text(&exec, "command"),
                      .install_hint = printable(text(&exec, "installHint"))};
    if (plugin.api_version != "client.authentication.k8s.io/v1" &&
        plugin.api_version != "client.authentication.k8s.io/v1beta1") {
      return wrong(exec.line, "exec has the apiVersion '" + printable(plugin.api_version) +
                                  "'; supported are client.authentication.k8s.io/v1 and v1beta1");
    }
    if (plugin.command.empty()) return wrong(exec.line, "exec has no command");
    // As kubectl does: a path is relative to the kubeconfig, a bare name is looked for in PATH.
    if (plugin.command.find('/') != std::string::npos) {
      plugin.command = below_unless_absolute(plugin.command);
    }
    if (const ConfigNode* words = given_item(exec, "args")) {
      for (const ConfigNode& word : words->items) plugin.arguments.push_back(word.text);
    }
    if (const ConfigNode* variables = given_item(exec, "env")) {
      for (const ConfigNode& each : variables->items) {
        plugin.environment[text(&each, "name")] = text(&each, "value");
      }
    }
    const ConfigNode* info = given_item(exec, "provideClusterInfo");
    plugin.provide_cluster_info = info != nullptr && is_bool(*info) && scalar_truth(*info);
    access.exec = std::move(plugin);
    return Done{};
  }

  const std::string path_;
  const std::string folder_;
  const ConfigNode& root_;
};

}  // namespace

Result<Access> parse_kubeconfig(const std::string& path, const std::string& content,
                                const std::string& context) {
  const Result<ConfigNode> root = parse_document({.path = path, .content = content});
  if (!root) return root.error();
  if (root->kind != NodeKind::kMap || given_item(*root, "clusters") == nullptr) {
    return Error{ErrorCode::kInvalidArgument, path + ": this is no kubeconfig: it has no clusters"};
  }
  return Kubeconfig(path, *root).access(context);
}

}  // namespace tranche::kube
