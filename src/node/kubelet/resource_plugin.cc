// SPDX-License-Identifier: Apache-2.0
#include "node/kubelet/resource_plugin.h"

#include <grpcpp/grpcpp.h>
#include <malloc.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <utility>

#include "base/path.h"
#include "node/kubelet/socket_name.h"
#include "node/kubelet/socket_peers.h"

namespace tranche::node {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using std::chrono::system_clock;

// Within a registration the kubelet dials us, for up to ten seconds.
constexpr std::chrono::seconds kRegisterTimeout{15};
constexpr milliseconds kShutdownPatience{500};
constexpr milliseconds kRetirePatience{3000};
// For the kubelet to see that a stream has ended; it may be writing its
// checkpoint. Longer than the first is worth a word.
constexpr milliseconds kUsualFarewell{200};
constexpr milliseconds kFarewellPatience{5000};
// From its closing the connection to its marking the devices.
constexpr milliseconds kSettle{20};
// From telling the kubelet that a device is not to be chosen until it may leave
// the list: an allocation that had chosen it before is long over then.
constexpr milliseconds kBeforeLeaving{1000};
// How often the machine looks at the time while nothing happens.
constexpr milliseconds kIdleLook{5000};
// So many devices in messages leave a megabyte or so behind.
constexpr std::uint64_t kManyDevices = 5000;

std::unique_ptr<grpc::Server> listen_on(const std::string& path, grpc::Service& service) {
  grpc::ServerBuilder builder;
  builder.AddListeningPort("unix:" + path, grpc::InsecureServerCredentials());
  // A node with all its shares free asks with all their ids.
  builder.SetMaxReceiveMessageSize(64 << 20);
  builder.SetMaxSendMessageSize(-1);
  // Few calls, two streams at most: threads are made when they are needed.
  builder.SetSyncServerOption(grpc::ServerBuilder::SyncServerOption::NUM_CQS, 1);
  builder.SetSyncServerOption(grpc::ServerBuilder::SyncServerOption::MIN_POLLERS, 1);
  builder.SetSyncServerOption(grpc::ServerBuilder::SyncServerOption::MAX_POLLERS, 1);
  builder.RegisterService(&service);
  std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  // The kubelet's folder is root's alone; so is the socket, whatever the umask is.
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
                                       if (epoch == epoch_) tell(RegistrationEvent::kStreamOpened);
                                     },
                                 .ended =
                                     [this](std::uint64_t epoch) {
                                       const std::lock_guard lock(mutex_);
                                       if (epoch == epoch_) tell(RegistrationEvent::kStreamsEnded);
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
  // The name may come back at once.
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

// mutex_ is held. Whether the list has devices that are to leave it.
bool ResourcePlugin::is_leaving() const { return listing_.get().value->devices != wanted_; }

// mutex_ is held. They may have been unhealthy for long, and then it is now.
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

void ResourcePlugin::kubelet_came(const std::string& identity) {
  const std::lock_guard lock(mutex_);
  if (std::exchange(kubelet_, identity) != identity) tell(RegistrationEvent::kKubeletCame);
}

void ResourcePlugin::name_vanished(const std::string& name) {
  const std::lock_guard lock(mutex_);
  if (!socket_.empty() && name == socket_) tell(RegistrationEvent::kSocketGone);
}

void ResourcePlugin::rival_ended() {
  log_.warning("another plugin that served this resource has ended; registering again",
               {{"resource", name_.text}});
  const std::lock_guard lock(mutex_);
  tell(RegistrationEvent::kRivalEnded);
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
void ResourcePlugin::tell(RegistrationEvent event) {
  events_.push_back(event);
  changed_.notify_all();
}

void ResourcePlugin::run(const std::stop_token& stop) {
  // Served from the start, also where nobody is to be told.
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
    if (!is_news) give_memory_back();
  }
}

// What a long list or a question about every share took stays with malloc, in
// pieces between what lives on. It goes back when nobody waits for an answer.
void ResourcePlugin::give_memory_back() {
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
    log_.warning("the kubelet no longer listens", {{"resource", name_.text}});
  }
  if (before != RegistrationPhase::kUp && registration_.phase == RegistrationPhase::kUp) {
    log_.info("registered", {{"resource", name_.text}, {"socket", socket_}});
  }
}

void ResourcePlugin::attempt(const std::stop_token& stop) {
  const std::string kubelet = socket_identity(kubelet_socket_);
  Status registered = Error{ErrorCode::kUnavailable, "no socket could be made in " + folder_};
  if (serve_on_fresh_socket()) {
    std::string endpoint;
    {
      const std::lock_guard lock(mutex_);
      endpoint = socket_;
    }
    registrar_.clear();
    registered = register_with_kubelet(endpoint, stop);
  }
  const std::lock_guard lock(mutex_);
  if (registered) {
    ++taken_;
    last_error_.clear();
    note_registrar(kubelet);
    tell(RegistrationEvent::kAccepted);
    return;
  }
  if (last_error_ != registered.error().message) {
    log_.warning("registration failed; it is tried again",
                 {{"resource", name_.text}, {"reason", registered.error().message}});
  }
  last_error_ = registered.error().message;
  tell(RegistrationEvent::kRefused);
}

// mutex_ is held. `kubelet` was there before we asked. If it still is, it is the one that
// has registered us, and that it came is no news any more: registering twice is a race.
void ResourcePlugin::note_registrar(const std::string& kubelet) {
  registrar_ = kubelet == socket_identity(kubelet_socket_) ? kubelet : std::string();
  if (registrar_.empty()) return;
  kubelet_ = registrar_;
  std::erase(events_, RegistrationEvent::kKubeletCame);
}

// One that has gone, or was replaced, has forgotten our streams with everything else.
bool ResourcePlugin::registrar_is_gone() const {
  return !registrar_.empty() && registrar_ != socket_identity(kubelet_socket_);
}

// The old streams end first; then a new server on a new name.
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
    ++epoch_;  // ends the streams that are open
    listing_.publish({epoch_, listing_.get().value->devices, repeats_});
    last = std::exchange(socket_, {});
  }
  if (!server_) return;
  if (!registrar_is_gone()) wait_for_farewell(below(folder_, last), next);
  server_->Shutdown(system_clock::now() + kShutdownPatience);
  server_->Wait();
  server_.reset();
  if (!last.empty()) ::unlink(below(folder_, last).c_str());
}

// Up to 1.36 the kubelet goes by the resource's name: an end of a stream that it
// sees late takes the registration after it down, or strikes it from its table,
// so that the next end is never noticed and the devices stay offered for good.
// It closes the connection when it has seen the end.
void ResourcePlugin::wait_for_farewell(const std::string& path, AfterStop next) {
  if (!has_peer(path)) return;
  if (!wait_for_no_peer(path, kUsualFarewell)) {
    log_.info("waiting for the kubelet to see the end of a stream", {{"resource", name_.text}});
    if (!wait_for_no_peer(path, kFarewellPatience)) {
      log_.warning("the kubelet holds on to a connection that is over",
                   {{"resource", name_.text}, {"socket", path}});
      return;
    }
  }
  // Nobody registers sooner than this after our end: a process would have to start first.
  if (next == AfterStop::kEnd || registrar_is_gone()) return;
  std::this_thread::sleep_for(kSettle);
}

Status ResourcePlugin::register_with_kubelet(const std::string& endpoint,
                                             const std::stop_token& stop) {
  grpc::ChannelArguments arguments;
  // Own connections: a shared one would still be in its pause after the last
  // kubelet went away.
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
               "the kubelet at " + kubelet_socket_ + ": " + answer.error_message()};
}

}  // namespace tranche::node
