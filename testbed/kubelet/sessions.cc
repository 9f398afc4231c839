// SPDX-License-Identifier: Apache-2.0
#include "testbed/kubelet/sessions.h"

#include <grpcpp/client_context.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "testbed/kubelet/resource_names.h"

namespace tranche::testbed::standin {
namespace {

constexpr std::string_view kApiVersion = "v1beta1";

Event event_of(EventKind kind, const PluginClient& client) {
  return {.kind = kind, .resource = client.resource(), .endpoint = client.endpoint()};
}

Status check_request(const PendingRegistration& registration) {
  if (registration.version != kApiVersion) {
    return Error{ErrorCode::kInvalidArgument,
                 "requested API version \"" + registration.version +
                     "\" is not supported by kubelet. Supported version is [\"v1beta1\"]"};
  }
  if (!is_extended_resource_name(registration.resource)) {
    return Error{ErrorCode::kInvalidArgument,
                 "the ResourceName \"" + registration.resource + "\" is invalid"};
  }
  return Done{};
}

}  // namespace

Sessions::Sessions(SessionOptions options, GuardedState& state, CheckpointFile& checkpoint,
                   Transcript& transcript)
    : options_(std::move(options)),
      state_(state),
      checkpoint_(checkpoint),
      transcript_(transcript),
      table_(options_.version) {}

Sessions::~Sessions() {
  close();
  join();
}

void Sessions::begin(std::shared_ptr<PendingRegistration> registration) {
  const std::lock_guard lock(mutex_);
  threads_.emplace_back([this, registration = std::move(registration)] { serve(*registration); });
}

std::shared_ptr<PluginClient> Sessions::client(ClientId id) const {
  const std::lock_guard lock(mutex_);
  const auto found = clients_.find(id);
  return found == clients_.end() ? nullptr : found->second;
}

bool Sessions::break_stream(const std::string& resource) {
  std::shared_ptr<PluginClient> broken;
  {
    const std::lock_guard lock(mutex_);
    const auto entry = table_.newest(resource);
    if (!entry) return false;
    broken = clients_.at(entry->client);
  }
  broken->break_stream();
  return true;
}

void Sessions::hold_stream_ends() {
  const std::lock_guard lock(mutex_);
  holds_stream_ends_ = true;
}

void Sessions::release_stream_ends() {
  {
    const std::lock_guard lock(mutex_);
    holds_stream_ends_ = false;
  }
  released_.notify_all();
}

void Sessions::close() {
  is_closed_ = true;
  release_stream_ends();
  std::map<ClientId, std::shared_ptr<PluginClient>> clients;
  {
    const std::lock_guard lock(mutex_);
    clients = clients_;
  }
  for (const auto& [id, client] : clients) client->close();
}

void Sessions::join() {
  std::vector<std::thread> threads;
  {
    const std::lock_guard lock(mutex_);
    threads.swap(threads_);
  }
  for (std::thread& thread : threads) thread.join();
}

void Sessions::serve(PendingRegistration& registration) {
  // Entered first: whoever sees the event may count on it.
  const Result<Connected> entered = enter(registration);
  const Transcript::Number number = transcript_.begin({.kind = EventKind::kRegister,
                                                       .resource = registration.resource,
                                                       .endpoint = registration.endpoint,
                                                       .version = registration.version});
  const Result<Connected> connected = entered ? connect(registration, *entered) : entered;
  const std::optional<std::string> refusal =
      connected ? std::nullopt : std::optional(connected.error().message);
  bool is_answered = false;
  const auto answer_once = [&] {
    if (std::exchange(is_answered, true)) return;
    transcript_.finish(number, [&](Event& event) { event.error = refusal.value_or(""); });
    registration.answer(refusal);
  };
  if (!connected || !options_.stream_before_answer) answer_once();
  if (!connected) return;

  PluginClient& client = *connected->client;
  transcript_.add(event_of(EventKind::kListAndWatchOpened, client));
  const Error why = client.list_and_watch([&](const std::vector<Device>& devices) {
    take_list(client, devices);
    answer_once();
  });
  answer_once();
  end(client, why);
}

Result<Sessions::Connected> Sessions::enter(const PendingRegistration& registration) {
  if (Status checked = check_request(registration); !checked) return checked.error();
  const std::string socket = std::filesystem::path(options_.directory + "/" + registration.endpoint)
                                 .lexically_normal()
                                 .string();
  Connected connected{0, std::make_shared<PluginClient>(registration.resource, socket)};
  {
    const std::lock_guard lock(mutex_);
    connected.id = clients_.empty() ? 1 : clients_.rbegin()->first + 1;
    clients_[connected.id] = connected.client;
    table_.add(registration.resource, {connected.id, socket});
  }
  // close() may have been here before the client was in the list.
  if (is_closed_) connected.client->close();
  return connected;
}

Result<Sessions::Connected> Sessions::connect(PendingRegistration& registration,
                                              const Connected& entered) {
  if (Status opened = open(registration, entered); !opened) {
    const std::lock_guard lock(mutex_);
    table_.drop(registration.resource, entered.client->socket());
    return opened.error();
  }
  return entered;
}

Status Sessions::open(PendingRegistration& registration, const Connected& connected) {
  PluginClient& client = *connected.client;
  const auto deadline =
      std::min(registration.deadline(), std::chrono::system_clock::now() + options_.dial_patience);
  if (Status dialled = client.connect(deadline, [&] { return registration.is_cancelled(); });
      !dialled) {
    return dialled;
  }
  const Result<PluginOptions> options = ask_options(registration, client);
  if (!options) return options.error().in("failed to get device plugin options");
  return state_.update([&](NodeState& state) {
    return connect_plugin(state, options_.version, client.resource(),
                          {connected.id, client.socket(), *options, std::nullopt});
  });
}

Result<PluginOptions> Sessions::ask_options(PendingRegistration& registration,
                                            PluginClient& client) {
  const Transcript::Number number =
      transcript_.begin(event_of(EventKind::kGetDevicePluginOptions, client));
  Result<PluginOptions> options = client.options(registration.child_context());
  transcript_.finish(number, [&](Event& event) {
    if (options) event.options = *options;
    if (!options) event.error = options.error().message;
  });
  return options;
}

void Sessions::take_list(const PluginClient& client, const std::vector<Device>& devices) {
  if (is_closed_) return;
  state_.update([&](NodeState& state) { apply_list(state, client.resource(), devices); });
  // The kubelet, too, only logs a checkpoint that it could not write.
  const Status written = write_checkpoint(checkpoint_, state_);
  Event received = event_of(EventKind::kListAndWatchReceived, client);
  received.devices = devices.size();
  received.healthy =
      static_cast<std::size_t>(std::ranges::count(devices, "Healthy", &Device::health));
  if (!written) received.error = written.error().message;
  transcript_.add(std::move(received));
}

// Whom the kubelet takes for the client whose stream ended; not always it: see
// client_table.h. mutex_ is held.
std::shared_ptr<PluginClient> Sessions::take_from_table(const PluginClient& client) {
  const auto entry = table_.find(client.resource(), client.socket());
  if (!entry) return nullptr;
  table_.drop(client.resource(), entry->socket);
  return clients_.at(entry->client);
}

void Sessions::end(const PluginClient& client, const Error& why) {
  if (is_closed_) return;
  Event ended = event_of(EventKind::kListAndWatchEnded, client);
  ended.error = why.message;
  std::shared_ptr<PluginClient> disconnected;
  std::unique_lock lock(mutex_);
  if (holds_stream_ends_) {
    transcript_.add(std::move(ended));
    released_.wait(lock, [&] { return !holds_stream_ends_; });
    disconnected = take_from_table(client);
  } else {
    // Taken first: whoever sees the event may count on it.
    disconnected = take_from_table(client);
    transcript_.add(std::move(ended));
  }
  lock.unlock();
  if (!disconnected || is_closed_) return;
  disconnected->disconnect();
  state_.update([&](NodeState& state) {
    disconnect_plugin(state, options_.version, disconnected->resource(), disconnected->socket(),
                      Clock::now());
  });
  transcript_.add(event_of(EventKind::kDisconnected, *disconnected));
}

}  // namespace tranche::testbed::standin
