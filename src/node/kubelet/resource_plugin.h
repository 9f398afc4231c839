// SPDX-License-Identifier: Apache-2.0
//
// One resource at the kubelet: serves its calls on a socket and sees to it that
// the kubelet knows of it. A thread of its own registers, verifies and
// registers again; everybody else only tells it what happened.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "base/latest.h"
#include "base/log.h"
#include "kubelet/plugin_service.h"
#include "kubelet/registration.h"
#include "kubelet/serving.h"

namespace grpc {
class Server;
}

namespace tranche {

struct ResourceStatus {
  std::string resource;
  RegistrationPhase phase = RegistrationPhase::kWaiting;
  std::uint64_t registrations = 0;  // that the kubelet took
  std::string last_error;           // of the last attempt; empty: it went well
  std::string socket;
  CallCounts calls;
};

// Where a resource is served, and who is told of it.
struct ServingPlace {
  std::string folder;          // where sockets live
  std::string kubelet_socket;  // where to register; empty: nowhere
  std::string run;             // tells this plugin's sockets from any other's
};

class ResourcePlugin {
 public:
  // Serving begins with start().
  ResourcePlugin(Serving serving, ServingPlace place, const NodeAccess& node, Log& log);
  ResourcePlugin(const ResourcePlugin&) = delete;
  ResourcePlugin& operator=(const ResourcePlugin&) = delete;
  // Ends streams, server and thread; the socket is removed.
  ~ResourcePlugin();

  void start();

  // From any thread.
  void serve(Serving serving);
  // A kubelet's socket is there. Told of the same one again it does nothing:
  // registering twice with one kubelet is a race.
  void kubelet_came(const std::string& identity);
  // A name vanished from the folder; ours is looked for.
  void name_vanished(const std::string& name);
  // Sends the list once more, though nothing in it changed; says whether
  // anybody listens.
  bool list_again();
  ResourceStatus status() const;

  // Grants nothing from now on.
  void refuse();
  // Shows the kubelet an empty list, so that the node's capacity falls at once
  // and not after its five minutes of grace; waits a little for it to be sent.
  void retire();

 private:
  void run(const std::stop_token& stop);
  void show(DeviceList devices);
  void drop_what_is_due();
  void give_memory_back();
  void take_events();
  void tell(RegistrationEvent event);
  void attempt(const std::stop_token& stop);
  bool serve_on_fresh_socket();
  void stop_serving();
  void wait_for_farewell(const std::string& path);
  Status register_with_kubelet(const std::string& endpoint, const std::stop_token& stop);

  const ResourceName name_;
  const std::string folder_;
  const std::string kubelet_socket_;
  const std::string run_;
  Log& log_;

  Latest<Serving> serving_;
  Latest<Listing> listing_;
  std::unique_ptr<PluginService> service_;
  std::unique_ptr<grpc::Server> server_;  // the registering thread's
  std::uint64_t tidied_ = 0;              // likewise: devices seen when memory was given back

  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  // Guarded by mutex_.
  std::deque<RegistrationEvent> events_;
  std::uint64_t epoch_ = 0;
  std::uint64_t sent_version_ = 0;
  DeviceList wanted_;         // what the list is to become
  RegistrationTime drop_at_;  // when devices that are not wanted may leave it
  std::uint64_t repeats_ = 0;
  Registration registration_;
  std::string kubelet_;      // the identity of the one we were last told of
  std::string socket_;       // file name
  std::uint64_t taken_ = 0;  // registrations
  std::string last_error_;

  std::jthread thread_;  // last: it ends before what it uses
};

}  // namespace tranche
