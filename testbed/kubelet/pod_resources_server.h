// SPDX-License-Identifier: Apache-2.0
//
// The kubelet's pod-resources service. It translates, and decides nothing.
//
// Thread-safe; the handlers run on gRPC's threads.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "testbed/kubelet/pod_resources.h"
#include "testbed/kubelet/socket_server.h"

namespace tranche::testbed::standin {

class PodResourcesServer {
 public:
  struct Handlers {
    std::function<Result<std::vector<ListedPod>>()> list;
    std::function<Result<ListedPod>(const std::string& ns, const std::string& name)> get;
  };

  // `path` must be free.
  static Result<std::unique_ptr<PodResourcesServer>> listen(const std::string& path,
                                                            Handlers handlers);
  PodResourcesServer(const PodResourcesServer&) = delete;
  PodResourcesServer& operator=(const PodResourcesServer&) = delete;
  ~PodResourcesServer();

  void stop(SocketFile file);

 private:
  class Service;

  PodResourcesServer(std::unique_ptr<Service> service, std::unique_ptr<SocketServer> server);

  const std::unique_ptr<Service> service_;
  const std::unique_ptr<SocketServer> server_;
};

}  // namespace tranche::testbed::standin
