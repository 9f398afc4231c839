// SPDX-License-Identifier: Apache-2.0
//
// All resources at the kubelet: starts, updates and retires them as the catalog
// changes, and watches the kubelet's folder for it to come and go.
//
// A resource is retired on a thread of its own, because the kubelet may take seconds
// to see it go. One that comes back meanwhile starts when the kubelet has: it goes by
// the resource's name, and the late end of the old stream would take the new one down.
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
  // The ledger is asked by calls about resources that share their GPUs with others.
  PluginSet(KubeletOptions options, const NodeAccess& node, Log& log);
  PluginSet(const PluginSet&) = delete;
  PluginSet& operator=(const PluginSet&) = delete;
  ~PluginSet();

  // What is offered from now on. Resources that stay keep their registration. Never
  // waits for the kubelet.
  void apply(std::vector<Serving> servings);

  // Sends the kubelet a list that it has, so that it writes its checkpoint.
  void nudge();

  std::vector<ResourceStatus> status() const;

 private:
  void add(const std::string& name, Serving serving);
  void retire(const std::string& name, std::unique_ptr<ResourcePlugin> plugin);
  void note_retired(const std::string& name);
  void watch(const std::stop_token& stop);
  void look_for_kubelet();
  void tell(const DirectoryWatch::Event& event);
  void note_vanished(const std::string& socket);
  bool is_own(const std::string& socket) const;
  void look_for_rivals();

  const std::string kubelet_socket_;
  const std::string folder_;
  const std::string kubelet_name_;  // of its socket, in the folder
  const NodeAccess node_;
  Log& log_;
  // The watching thread's.
  OnChange said_;
  // Resources that another plugin may have served until now, and when to look whether
  // somebody else does.
  std::map<std::string, std::chrono::steady_clock::time_point> rivals_gone_;

  mutable std::mutex mutex_;
  // Guarded by mutex_.
  std::map<std::string, std::unique_ptr<ResourcePlugin>> plugins_;
  std::map<std::string, std::jthread> retiring_;  // a plugin of that name, in the thread
  std::set<std::string> runs_;                    // of all plugins that there were
  std::vector<std::jthread> retired_;             // threads that have nothing more to do

  WakeFd wake_;
  std::jthread thread_;  // last: it ends before what it uses
};

}  // namespace tranche::node
