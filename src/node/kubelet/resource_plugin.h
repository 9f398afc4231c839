// SPDX-License-Identifier: Apache-2.0
//
// One resource at the kubelet: serves its calls on a socket and keeps it registered. Its own thread
// registers, verifies and registers again; other threads only report events to it.
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
  bool registers = true;            // false: no kubelet to register with
  std::uint64_t registrations = 0;  // accepted by the kubelet
  std::string last_error;           // of the last attempt; empty: it succeeded
  std::string socket;
  CallCounts calls;
};

// Sockets of a resource and of the kubelet.
struct ServingPlace {
  std::string folder;          // of the sockets
  std::string kubelet_socket;  // empty: do not register
  std::string run;             // distinguishes this plugin's sockets from others
};

// Registration state, for people.
std::string_view state_text(const ResourceStatus& status);

class ResourcePlugin {
 public:
  // Serving begins with start().
  ResourcePlugin(Serving serving, ServingPlace place, const NodeAccess& node, Log& log);
  ResourcePlugin(const ResourcePlugin&) = delete;
  ResourcePlugin& operator=(const ResourcePlugin&) = delete;
  // Ends streams, server and thread; removes the socket.
  ~ResourcePlugin();

  void start();

  // From any thread.
  void update(Serving serving);
  // The kubelet's socket exists. Does nothing for a known identity: registering twice with one
  // kubelet is a race.
  void kubelet_came(const FileIdentity& identity);
  // A file vanished from the folder; it may be our socket.
  void name_vanished(const std::string& name);
  // Another plugin that had registered our resource has ended.
  void rival_ended();
  // Sends the unchanged list again. False: no stream is open.
  bool list_again();
  ResourceStatus status() const;

  // Refuses every Allocate from now on.
  void refuse();
  // Sends an empty list, so that the node's capacity falls at once and not after the kubelet's five
  // minutes of grace; waits briefly until it is sent.
  void retire();

 private:
  void run(const std::stop_token& stop);
  void show(DeviceList devices);
  bool is_leaving() const;
  RegistrationTime drop_at() const;
  void drop_what_is_due();
  void trim_memory();
  void take_events();
  void post(RegistrationEvent event);
  void attempt(const std::stop_token& stop);
  void note_registrar(const std::optional<FileIdentity>& kubelet);
  bool registrar_is_gone() const;
  bool serve_on_fresh_socket();
  enum class AfterStop { kRegister, kEnd };
  void stop_serving(AfterStop next);
  void wait_for_disconnect(const std::string& path, AfterStop next);
  Status register_with_kubelet(const std::string& endpoint, const std::stop_token& stop);

  const ResourceName name_;
  const std::string folder_;
  const std::string kubelet_socket_;
  const std::string run_;
  Log& log_;

  Latest<Serving> serving_;
  Latest<Listing> listing_;
  std::unique_ptr<PluginService> service_;
  std::unique_ptr<grpc::Server> server_;  // used by the registering thread only
  std::uint64_t tidied_ = 0;              // likewise: devices seen at the last trim
  // Likewise: the socket of the kubelet that accepted our registration; empty: unknown.
  std::optional<FileIdentity> registrar_;

  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  // Guarded by mutex_.
  std::deque<RegistrationEvent> events_;
  std::uint64_t epoch_ = 0;
  std::uint64_t sent_version_ = 0;
  DeviceList wanted_;          // the target list
  std::uint64_t shows_ = 0;    // number of updates
  RegistrationTime shown_at_;  // last change of the list
  std::uint64_t repeats_ = 0;
  Registration registration_;
  std::optional<FileIdentity> kubelet_;  // the socket of the last one seen
  bool is_retired_ = false;
  std::string socket_;       // file name
  std::uint64_t taken_ = 0;  // registrations
  std::string last_error_;

  std::jthread thread_;  // last: it ends before what it uses
};

}  // namespace tranche::node
