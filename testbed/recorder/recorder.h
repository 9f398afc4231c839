// SPDX-License-Identifier: Apache-2.0
//
// Stands between a kubelet and its plugins: to the plugins it is the kubelet, to
// the kubelet it is the plugins, and it records what passes. See README.md.
//
// run() belongs to one thread; the calls come on threads of gRPC.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "os/directory_watch.h"
#include "testbed/kubelet/socket_server.h"
#include "testbed/recorder/endpoint.h"
#include "testbed/recorder/recording.h"

namespace grpc {
class ServerContext;
class Status;
}  // namespace grpc
namespace v1beta1 {
class RegisterRequest;
}  // namespace v1beta1

namespace tranche::testbed::recorder {

class Recorder {
 public:
  struct Options {
    std::string kubelet_folder;
    std::string plugin_folder;  // made where it is missing
  };

  // Looks at the folders; serves nothing yet.
  static Result<std::unique_ptr<Recorder>> open(const Options& options, Recording& recording);
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;
  ~Recorder();

  // Serves until `stop_fd` is readable, and leaves no socket behind.
  Status run(int stop_fd);

 private:
  using Clock = std::chrono::steady_clock;

  class Registrations;  // the service on the plugins' kubelet.sock

  struct Served {
    std::unique_ptr<Endpoint> endpoint;
    std::optional<Clock::time_point> retired_until;  // the plugin's socket is gone
  };

  struct Watches {
    DirectoryWatch kubelet;
    DirectoryWatch plugins;
  };

  Recorder(Options options, Watches watches, Recording& recording);
  static Result<Watches> open_watches(const Options& options);

  Status serve_until(int stop_fd);

  // The kubelet's side.
  Status meet_kubelet();
  Status follow_kubelet();
  Status kubelet_came();
  void kubelet_went();

  // The plugins' side.
  grpc::Status register_plugin(grpc::ServerContext& context,
                               const v1beta1::RegisterRequest& request);
  Result<Endpoint*> add_endpoint(const v1beta1::RegisterRequest& request,
                                 const std::string& socket);
  std::string fresh_socket();
  Status follow_plugins();
  void end_retired();
  void end_all(const std::string& why);
  void end_one(const Endpoint* endpoint, const std::string& why);

  std::optional<Clock::time_point> due();

  const Options options_;
  const std::string kubelet_socket_;
  const std::string plugins_kubelet_socket_;
  Recording& recording_;
  const std::unique_ptr<Registrations> service_;

  // Of the thread of run().
  Watches watches_;
  std::unique_ptr<standin::SocketServer> server_;  // null: the kubelet is away
  std::optional<FileIdentity> kubelet_identity_;

  std::mutex mutex_;
  // Guarded by mutex_.
  std::vector<Served> served_;
  std::uint64_t last_socket_ = 0;
};

}  // namespace tranche::testbed::recorder
