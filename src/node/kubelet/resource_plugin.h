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
#include <optional>
#include <string>
#include <thread>

#include "core/plan/serving.h"
#include "node/kubelet/plugin_service.h"
#include "node/kubelet/registration.h"
#include "os/file_identity.h"
#include "os/latest.h"
#include "os/log.h"

namespace grpc {
class Server;
}

namespace tranche::node {

struct ResourceStatus {
  std::string resource;
  RegistrationPhase phase = RegistrationPhase::kWaiting;
  bool registers = true;            // false: there is no kubelet to register with
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

// Its place with the kubelet, for people.
std::string_view state_text(const ResourceStatus& status);

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
  void update(Serving serving);
  // A kubelet's socket is there. Told of the same one again it does nothing:
  // registering twice with one kubelet is a race.
  void kubelet_came(const FileIdentity& identity);
  // A name vanished from the folder; ours is looked for.
  void name_vanished(const std::string& name);
  // Another plugin, which had registered our resource, has ended.
  void rival_ended();
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
  bool is_leaving() const;
  RegistrationTime drop_at() const;
  void drop_what_is_due();
  void give_memory_back();
  void take_events();
  void tell(RegistrationEvent event);
  void attempt(const std::stop_token& stop);
  void note_registrar(const std::optional<FileIdentity>& kubelet);
  bool registrar_is_gone() const;
  bool serve_on_fresh_socket();
  enum class AfterStop { kRegister, kEnd };
  void stop_serving(AfterStop next);
  void wait_for_farewell(const std::string& path, AfterStop next);
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
  // Likewise: the socket of the kubelet that took our registration; empty: not known.
  std::optional<FileIdentity> registrar_;

  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  // Guarded by mutex_.
  std::deque<RegistrationEvent> events_;
  std::uint64_t epoch_ = 0;
  std::uint64_t sent_version_ = 0;
  DeviceList wanted_;          // what the list is to become
  std::uint64_t shows_ = 0;    // how often that was said
  RegistrationTime shown_at_;  // since when every unhealthy device of the list is so
  std::uint64_t repeats_ = 0;
  Registration registration_;
  std::optional<FileIdentity> kubelet_;  // the socket of the last one that came
  bool is_retired_ = false;
  std::string socket_;       // file name
  std::uint64_t taken_ = 0;  // registrations
  std::string last_error_;

  std::jthread thread_;  // last: it ends before what it uses
};

}  // namespace tranche::node
