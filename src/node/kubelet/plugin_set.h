// SPDX-License-Identifier: Apache-2.0
//
// All resources at the kubelet: starts, updates and retires them as the catalog changes, and
// watches the kubelet's folder for a starting kubelet.
//
// A resource is retired on a thread of its own, because the kubelet may take seconds to notice. One
// that comes back meanwhile starts after that: the kubelet identifies plugins by resource name, and
// the late end of the old stream would end the new one.
//
// Thread-safe.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "core/plan/serving.h"
#include "core/settings/kubelet_options.h"
#include "node/kubelet/node_access.h"
#include "node/kubelet/resource_plugin.h"
#include "os/directory_watch.h"
#include "os/log.h"
#include "os/wake_fd.h"

namespace tranche::node {

class PluginSet {
 public:
  // Calls of resources that share GPUs with others use the ledger in `node`.
  PluginSet(KubeletOptions options, const NodeAccess& node, Log& log);
  PluginSet(const PluginSet&) = delete;
  PluginSet& operator=(const PluginSet&) = delete;
  ~PluginSet();

  // Offers these resources. Those that stay keep their registration. Never waits for the kubelet.
  void apply(std::vector<Serving> servings);

  // Sends the kubelet an unchanged list, so that it writes its checkpoint.
  void nudge();

  std::vector<ResourceStatus> status() const;

 private:
  void add(const std::string& name, Serving serving);
  void retire(const std::string& name, std::unique_ptr<ResourcePlugin> plugin);
  void note_retired(const std::string& name);
  void watch(const std::stop_token& stop);
  void look_for_kubelet();
  void handle(const DirectoryWatch::Event& event);
  void note_vanished(const std::string& socket);
  bool is_own(const std::string& socket) const;
  void look_for_rivals();

  const std::string kubelet_socket_;
  const std::string folder_;
  const std::string kubelet_name_;  // of its socket, in the folder
  const NodeAccess node_;
  Log& log_;
  // Used by the watching thread only.
  OnChange logged_;
  // Resources whose socket of another plugin vanished, and when to check whether any other plugin
  // serves them.
  std::map<std::string, std::chrono::steady_clock::time_point> rivals_gone_;

  mutable std::mutex mutex_;
  // Guarded by mutex_.
  std::map<std::string, std::unique_ptr<ResourcePlugin>> plugins_;
  std::map<std::string, std::jthread> retiring_;  // by resource
  std::set<std::string> runs_;                    // of all plugins so far
  std::vector<std::jthread> retired_;             // finished threads

  WakeFd wake_;
  std::jthread thread_;  // last: it ends before what it uses
};

}  // namespace tranche::node
