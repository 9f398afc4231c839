// SPDX-License-Identifier: Apache-2.0
#include "node/kubelet/resource_plugin.h"

#include <fmt/core.h>
#include <grpcpp/grpcpp.h>
#include <malloc.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <utility>

#include "base/path.h"
#include "node/kubelet/own_connections.h"
#include "node/kubelet/socket_name.h"

namespace tranche::node {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using std::chrono::system_clock;

// During a registration the kubelet dials us, for up to ten seconds.
constexpr std::chrono::seconds kRegisterTimeout{15};
constexpr milliseconds kShutdownPatience{500};
constexpr milliseconds kRetirePatience{3000};
// Time for the kubelet to notice the end of a stream; it may be writing its checkpoint. After the
// first, the wait is logged.
constexpr milliseconds kUsualDisconnect{200};
constexpr milliseconds kDisconnectPatience{5000};
// Between the kubelet's closing the connection and its marking the devices unhealthy.
constexpr milliseconds kSettle{20};
// Between listing a device as unhealthy and removing it from the list: allocations that chose it
// before have ended by then.
constexpr milliseconds kBeforeLeaving{1000};
// Interval of kTimePassed.
constexpr milliseconds kIdleLook{5000};
// Messages with this many devices leave about a megabyte of freed memory behind.
constexpr std::uint64_t kManyDevices = 5000;

std::unique_ptr<grpc::Server> listen_on(const std::string& path, grpc::Service& service) {
  grpc::ServerBuilder builder;
  builder.AddListeningPort("unix:" + path, grpc::InsecureServerCredentials());
  // A request of a node whose shares are all free has all their ids.
  builder.SetMaxReceiveMessageSize(64 << 20);
  builder.SetMaxSendMessageSize(-1);
  // Few calls and at most two streams: create threads on demand.
  builder.SetSyncServerOption(grpc::ServerBuilder::SyncServerOption::NUM_CQS, 1);
  builder.SetSyncServerOption(grpc::ServerBuilder::SyncServerOption::MIN_POLLERS, 1);
  builder.SetSyncServerOption(grpc::ServerBuilder::SyncServerOption::MAX_POLLERS, 1);
  builder.RegisterService(&service);
  std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  // Only root can enter the kubelet's folder; the socket is root's too, whatever the umask is.
  if (server) ::chmod(path.c_str(), 0600);
  return server;
}

}  // namespace

std::string_view state_text(const ResourceStatus& status) {
  return status.registers ? to_string(status.phase) : "not registering (--kubelet-socket is empty)";
}

ResourcePlugin::ResourcePlugin(Serving serving, ServingPlace place, const NodeAccess& node,
                               Log& log)
    : name_(serving.offer.name),
      folder_(std::move(place.folder)),
      kubelet_socket_(std::move(place.kubelet_socket)),
      run_(std::move(place.run)),
      log_(log) {
  service_ = std::make_unique<PluginService>(
      serving_, listing_,
      PluginService::StreamWatch{.opened =
                                     [this](std::uint64_t epoch) {
                                       const std::lock_guard lock(mutex_);
                                       if (epoch == epoch_) post(RegistrationEvent::kStreamOpened);
                                     },
                                 .ended =
                                     [this](std::uint64_t epoch) {
                                       const std::lock_guard lock(mutex_);
                                       if (epoch == epoch_) post(RegistrationEvent::kStreamsEnded);
                                     },
                                 .sent =
                                     [this](std::uint64_t version) {
                                       const std::lock_guard lock(mutex_);
                                       sent_version_ = std::max(sent_version_, version);
                                       changed_.notify_all();
                                     }},
      node, log_);
  update(std::move(serving));
}

ResourcePlugin::~ResourcePlugin() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
  // The resource may come back at once.
  stop_serving(is_retired_ ? AfterStop::kRegister : AfterStop::kEnd);
}

void ResourcePlugin::start() {
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

void ResourcePlugin::update(Serving serving) {
  DeviceList devices = list_of(serving.offer, serving.shown);
  serving_.publish(std::move(serving));
  const std::lock_guard lock(mutex_);
  show(std::move(devices));
}

// mutex_ is held.
void ResourcePlugin::show(DeviceList devices) {
  wanted_ = std::move(devices);
  ++shows_;
  const DeviceList shown = listing_.get().value->devices;
  const bool is_listened_to = registration_.phase == RegistrationPhase::kUp;
  DeviceList next = is_listened_to ? transition_list(shown, wanted_) : wanted_;
  if (next != shown) shown_at_ = steady_clock::now();
  listing_.publish({epoch_, std::move(next), repeats_});
  changed_.notify_all();
}

// mutex_ is held. Whether the list still has devices that leave it.
bool ResourcePlugin::is_leaving() const { return listing_.get().value->devices != wanted_; }

// mutex_ is held. Devices that have long been unhealthy leave at once.
RegistrationTime ResourcePlugin::drop_at() const { return shown_at_ + kBeforeLeaving; }

// mutex_ is held.
void ResourcePlugin::drop_what_is_due() {
  if (!is_leaving()) return;
  const auto now = steady_clock::now();
  if (now < drop_at()) return;
  if (service_->is_allocating()) {
    shown_at_ = now;
    return;
  }
  listing_.publish({epoch_, wanted_, repeats_});
}

void ResourcePlugin::kubelet_came(const FileIdentity& identity) {
  const std::lock_guard lock(mutex_);
  if (std::exchange(kubelet_, identity) != identity) post(RegistrationEvent::kKubeletCame);
}

void ResourcePlugin::name_vanished(const std::string& name) {
  const std::lock_guard lock(mutex_);
  if (!socket_.empty() && name == socket_) post(RegistrationEvent::kSocketGone);
}

void ResourcePlugin::rival_ended() {
  log_.warning("another plugin that served this resource has ended; registering again",
               {{"resource", name_.text}});
  const std::lock_guard lock(mutex_);
  post(RegistrationEvent::kRivalEnded);
}

bool ResourcePlugin::list_again() {
  const std::lock_guard lock(mutex_);
  if (registration_.phase != RegistrationPhase::kUp) return false;
  ++repeats_;
  listing_.publish({epoch_, listing_.get().value->devices, repeats_});
  return true;
}

ResourceStatus ResourcePlugin::status() const {
  const std::lock_guard lock(mutex_);
  return {name_.text, registration_.phase, !kubelet_socket_.empty(), taken_, last_error_,
          socket_,    service_->counts()};
}

void ResourcePlugin::refuse() { service_->retire(); }

void ResourcePlugin::retire() {
  std::unique_lock lock(mutex_);
  is_retired_ = true;
  show({});
  if (registration_.phase != RegistrationPhase::kUp) return;
  changed_.wait_for(lock, kRetirePatience, [&] {
    const auto latest = listing_.get();
    return latest.value->devices.empty() && sent_version_ >= latest.version;
  });
}

// mutex_ is held.
void ResourcePlugin::post(RegistrationEvent event) {
  events_.push_back(event);
  changed_.notify_all();
}

void ResourcePlugin::run(const std::stop_token& stop) {
  // Serve from the start, even without a kubelet to register with.
  serve_on_fresh_socket();
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    take_events();
    drop_what_is_due();
    if (registration_.phase == RegistrationPhase::kDue && !kubelet_socket_.empty()) {
      lock.unlock();
      attempt(stop);
      lock.lock();
      continue;
    }
    auto wake = steady_clock::now() + kIdleLook;
    const bool timed = registration_.phase == RegistrationPhase::kVerifying ||
                       registration_.phase == RegistrationPhase::kPausing;
    if (timed) wake = std::min(wake, registration_.until);
    const std::uint64_t version = listing_.get().version;
    const std::uint64_t shows = shows_;
    if (is_leaving()) wake = std::min(wake, drop_at());
    const bool is_news = changed_.wait_until(lock, stop, wake, [&] {
      return !events_.empty() || shows_ != shows || listing_.get().version != version;
    });
    if (!is_news) trim_memory();
  }
}

// malloc keeps the freed memory of long lists and requests in fragments. Returns it when no call is
// running.
void ResourcePlugin::trim_memory() {
  const std::uint64_t seen = service_->devices_seen();
  if (seen - tidied_ < kManyDevices || service_->is_allocating()) return;
  tidied_ = seen;
  ::malloc_trim(0);
}

// mutex_ is held.
void ResourcePlugin::take_events() {
  if (events_.empty()) events_.push_back(RegistrationEvent::kTimePassed);
  const RegistrationPhase before = registration_.phase;
  while (!events_.empty()) {
    registration_ = next(registration_, events_.front(), steady_clock::now());
    events_.pop_front();
  }
  if (before == RegistrationPhase::kUp && registration_.phase != RegistrationPhase::kUp) {
    log_.warning("the kubelet closed the stream", {{"resource", name_.text}});
  }
  if (before != RegistrationPhase::kUp && registration_.phase == RegistrationPhase::kUp) {
    log_.info("registered", {{"resource", name_.text}, {"socket", socket_}});
  }
}

void ResourcePlugin::attempt(const std::stop_token& stop) {
  const std::optional<FileIdentity> kubelet = file_identity(kubelet_socket_);
  Status registered = Error{ErrorCode::kUnavailable, "cannot create a socket in " + folder_};
  if (serve_on_fresh_socket()) {
    std::string endpoint;
    {
      const std::lock_guard lock(mutex_);
      endpoint = socket_;
    }
    registrar_.reset();
    registered = register_with_kubelet(endpoint, stop);
  }
  const std::lock_guard lock(mutex_);
  if (registered) {
    ++taken_;
    last_error_.clear();
    note_registrar(kubelet);
    post(RegistrationEvent::kAccepted);
    return;
  }
  if (last_error_ != registered.error().message) {
    log_.warning("registration failed; retrying",
                 {{"resource", name_.text}, {"reason", registered.error().message}});
  }
  last_error_ = registered.error().message;
  post(RegistrationEvent::kRefused);
}

// mutex_ is held. `kubelet`: its socket before the registration. If it is unchanged, this kubelet
// has registered us and its start is no longer an event: registering twice is a race.
void ResourcePlugin::note_registrar(const std::optional<FileIdentity>& kubelet) {
  registrar_ = kubelet == file_identity(kubelet_socket_) ? kubelet : std::nullopt;
  if (!registrar_) return;
  kubelet_ = registrar_;
  std::erase(events_, RegistrationEvent::kKubeletCame);
}

// A kubelet that ended or was replaced has no stream of ours any more.
bool ResourcePlugin::registrar_is_gone() const {
  return registrar_ && registrar_ != file_identity(kubelet_socket_);
}

// Ends the old streams first, then serves on a new name.
bool ResourcePlugin::serve_on_fresh_socket() {
  stop_serving(AfterStop::kRegister);
  std::string name;
  {
    const std::lock_guard lock(mutex_);
    name = socket_name(name_, run_, epoch_);
  }
  server_ = listen_on(below(folder_, name), *service_);
  const std::lock_guard lock(mutex_);
  socket_ = server_ ? name : std::string();
  return server_ != nullptr;
}

void ResourcePlugin::stop_serving(AfterStop next) {
  std::string last;
  {
    const std::lock_guard lock(mutex_);
    ++epoch_;  // ends the open streams
    listing_.publish({epoch_, listing_.get().value->devices, repeats_});
    last = std::exchange(socket_, {});
  }
  if (!server_) return;
  if (!registrar_is_gone()) wait_for_disconnect(below(folder_, last), next);
  server_->Shutdown(system_clock::now() + kShutdownPatience);
  server_->Wait();
  server_.reset();
  if (!last.empty()) ::unlink(below(folder_, last).c_str());
}

// Up to 1.36 the kubelet identifies plugins by resource name. If it notices the end of a stream
// late, it ends the next registration or removes it from its table; then it never notices the next
// end, and the devices stay offered for good. It closes the connection when it has noticed the end.
void ResourcePlugin::wait_for_disconnect(const std::string& path, AfterStop next) {
  if (!has_peer(path)) return;
  if (!wait_for_no_peer(path, kUsualDisconnect)) {
    log_.info("waiting for the kubelet to close a connection", {{"resource", name_.text}});
    if (!wait_for_no_peer(path, kDisconnectPatience)) {
      log_.warning("the kubelet keeps a connection open after the stream ended",
                   {{"resource", name_.text}, {"socket", path}});
      return;
    }
  }
  // The next agent has to start first, which takes longer than kSettle.
  if (next == AfterStop::kEnd || registrar_is_gone()) return;
  std::this_thread::sleep_for(kSettle);
}

Status ResourcePlugin::register_with_kubelet(const std::string& endpoint,
                                             const std::stop_token& stop) {
  grpc::ChannelArguments arguments;
  // Own connections: a shared one would still be in gRPC's reconnect pause after a kubelet restart.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  const auto channel = grpc::CreateCustomChannel("unix:" + kubelet_socket_,
                                                 grpc::InsecureChannelCredentials(), arguments);
  const auto stub = v1beta1::Registration::NewStub(channel);
  grpc::ClientContext context;
  context.set_deadline(system_clock::now() + kRegisterTimeout);
  const std::stop_callback cancel(stop, [&] { context.TryCancel(); });
  v1beta1::RegisterRequest request;
  request.set_version("v1beta1");
  request.set_endpoint(endpoint);
  request.set_resource_name(name_.text);
  request.mutable_options()->set_get_preferred_allocation_available(true);
  v1beta1::Empty response;
  const grpc::Status answer = stub->Register(&context, request, &response);
  if (answer.ok()) return Done{};
  return Error{ErrorCode::kUnavailable,
               fmt::format("the kubelet at {}: {}", kubelet_socket_, answer.error_message())};
}

}  // namespace tranche::node
