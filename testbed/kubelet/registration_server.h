// SPDX-License-Identifier: Apache-2.0
//
// The kubelet's own socket, on which plugins register. It decides nothing:
// each Register call is handed on as a PendingRegistration, which is answered
// from any thread.
//
// Thread-safe.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "testbed/kubelet/socket_server.h"

namespace grpc {
class ClientContext;
}  // namespace grpc

namespace tranche::testbed::standin {

// One Register call that waits for its answer. It must be answered, once.
class PendingRegistration {
 public:
  PendingRegistration() = default;
  PendingRegistration(const PendingRegistration&) = delete;
  PendingRegistration& operator=(const PendingRegistration&) = delete;
  virtual ~PendingRegistration() = default;

  std::string resource;
  std::string endpoint;
  std::string version;

  // Sends the answer, and returns when it has left. Empty: registered.
  virtual void answer(const std::optional<std::string>& refusal) = 0;

  // The three below end with answer().
  //
  // Whether the plugin no longer waits.
  virtual bool is_cancelled() const = 0;
  virtual std::chrono::system_clock::time_point deadline() const = 0;
  // For a call that is to end with this one.
  virtual std::unique_ptr<grpc::ClientContext> child_context() const = 0;
};

class RegistrationServer {
 public:
  // Runs on a thread of gRPC and must return soon.
  using Handler = std::function<void(std::shared_ptr<PendingRegistration>)>;

  // `path` must be free.
  static Result<std::unique_ptr<RegistrationServer>> listen(const std::string& path,
                                                            Handler handler);
  RegistrationServer(const RegistrationServer&) = delete;
  RegistrationServer& operator=(const RegistrationServer&) = delete;
  ~RegistrationServer();

  // Takes no more calls. Then waits until every registration is answered; those
  // that wait learn from is_cancelled().
  void stop(SocketFile file);

 private:
  class Service;

  RegistrationServer(std::unique_ptr<Service> service, std::unique_ptr<SocketServer> server);

  const std::unique_ptr<Service> service_;
  const std::unique_ptr<SocketServer> server_;
};

}  // namespace tranche::testbed::standin
