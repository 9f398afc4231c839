// SPDX-License-Identifier: Apache-2.0
//
// All resources at the kubelet: starts, updates and retires them as the catalog
// changes, and watches the kubelet's folder for it to come and go.
//
// Thread-safe.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/directory_watch.h"
#include "base/log.h"
#include "base/wake_fd.h"
#include "kubelet/node_access.h"
#include "kubelet/options.h"
#include "kubelet/resource_plugin.h"
#include "kubelet/serving.h"

namespace tranche {

class PluginHost {
 public:
  // The ledger is asked by calls about resources that share their GPUs with others.
  PluginHost(KubeletOptions options, const NodeAccess& node, Log& log);
  PluginHost(const PluginHost&) = delete;
  PluginHost& operator=(const PluginHost&) = delete;
  ~PluginHost();

  // What is offered from now on. Resources that stay keep their registration.
  void serve(std::vector<Serving> servings);

  // Sends the kubelet a list that it has, so that it writes its checkpoint.
  void nudge();

  std::vector<ResourceStatus> status() const;

 private:
  void watch(const std::stop_token& stop);
  void look_for_kubelet();
  void tell(const DirectoryWatch::Event& event);

  const std::string kubelet_socket_;
  const std::string folder_;
  const std::string kubelet_name_;  // of its socket, in the folder
  const NodeAccess node_;
  Log& log_;
  OnChange said_;  // the watching thread's

  mutable std::mutex mutex_;
  // Guarded by mutex_.
  std::map<std::string, std::unique_ptr<ResourcePlugin>> plugins_;

  WakeFd wake_;
  std::jthread thread_;  // last: it ends before what it uses
};

}  // namespace tranche
