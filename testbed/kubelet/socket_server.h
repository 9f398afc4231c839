// SPDX-License-Identifier: Apache-2.0
//
// A gRPC server on a unix socket whose file is ours and not gRPC's: gRPC removes
// the file when it stops listening, even where that is already another server's,
// and a process that was killed leaves it behind.
//
// Thread-safe, except that stop_listening() and stop() come one after the other.
#pragma once

#include <memory>
#include <string>
#include <thread>

#include "base/result.h"
#include "os/unique_fd.h"
#include "os/wake_fd.h"

namespace grpc {
class Server;
class Service;
}  // namespace grpc

namespace tranche::testbed::standin {

enum class SocketFile { kRemoved, kLeftBehind };

class SocketServer {
 public:
  // What grpc-go receives unless told otherwise.
  static constexpr int kDefaultLargestMessage = 4 << 20;

  // `path` must be free; `service` must outlive the server.
  static Result<std::unique_ptr<SocketServer>> listen(
      const std::string& path, grpc::Service& service,
      int largest_received = kDefaultLargestMessage);
  SocketServer(const SocketServer&) = delete;
  SocketServer& operator=(const SocketServer&) = delete;
  ~SocketServer();

  // Takes no new connections; those that are open stay.
  void stop_listening(SocketFile file);

  // The same, then cancels all calls and waits until they have returned.
  void stop(SocketFile file);

 private:
  SocketServer(std::string path, UniqueFd listener, grpc::Service& service, int largest_received);
  void accept_until_woken();

  const std::string path_;
  UniqueFd listener_;
  WakeFd wake_;
  std::unique_ptr<grpc::Server> server_;
  std::thread acceptor_;
};

}  // namespace tranche::testbed::standin
