// SPDX-License-Identifier: Apache-2.0
#include "testbed/recorder/recorder.h"

#include <grpcpp/grpcpp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "deviceplugin_v1beta1.grpc.pb.h"
#include "os/errno_error.h"
#include "os/files.h"
#include "os/loop.h"
#include "testbed/kubelet/channel.h"

namespace tranche::testbed::recorder {
namespace {

using standin::SocketServer;

constexpr const char* kKubeletSocket = "kubelet.sock";

// Pause between attempts to reach a kubelet that does not listen.
constexpr std::chrono::milliseconds kLookForKubelet{50};

// A plugin that removes its socket is about to end its stream, with a status
// that the kubelet is to see. One that does not is cut off after this time.
constexpr std::chrono::seconds kRetirement{5};

// Whether somebody listens. The file alone says little: it is there before its
// owner listens, and stays when its owner is killed.
bool answers(const std::string& socket) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (socket.size() >= sizeof(address.sun_path)) return false;
  std::ranges::copy(socket, std::begin(address.sun_path));
  const UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): the API's way
  return fd &&
         ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
}

// What a recorder that was killed left behind.
Status remove_dead_socket(const std::string& path) {
  struct stat status{};
  if (::lstat(path.c_str(), &status) != 0) return Done{};
  if (!S_ISSOCK(status.st_mode) || answers(path)) {
    return Error{ErrorCode::kInvalidArgument,
                 path + " is in use; --plugin-folder needs a folder of its own"};
  }
  if (::unlink(path.c_str()) != 0) return errno_error("removing " + path);
  return Done{};
}

bool is_gone(const std::vector<DirectoryWatch::Event>& events) {
  return std::ranges::any_of(events, [](const DirectoryWatch::Event& event) {
    return event.kind == DirectoryWatch::Kind::kDirectoryGone;
  });
}

// The kubelet has said no, and has no use for the socket. After the other codes
// it may still come for it.
bool is_refusal(const grpc::Status& status) {
  return !status.ok() && status.error_code() != grpc::StatusCode::CANCELLED &&
         status.error_code() != grpc::StatusCode::DEADLINE_EXCEEDED;
}

}  // namespace

class Recorder::Registrations final : public v1beta1::Registration::Service {
 public:
  explicit Registrations(Recorder& recorder) : recorder_(recorder) {}

  grpc::Status Register(grpc::ServerContext* context, const v1beta1::RegisterRequest* request,
                        v1beta1::Empty* /*response*/) override {
    return recorder_.register_plugin(*context, *request);
  }

 private:
  Recorder& recorder_;
};

Result<std::unique_ptr<Recorder>> Recorder::open(const Options& options, Recording& recording) {
  Result<Watches> watches = open_watches(options);
  if (!watches) return watches.error();
  return std::unique_ptr<Recorder>(new Recorder(options, *std::move(watches), recording));
}

Recorder::Recorder(Options options, Watches watches, Recording& recording)
    : options_(std::move(options)),
      kubelet_socket_(options_.kubelet_folder + "/" + kKubeletSocket),
      plugins_kubelet_socket_(options_.plugin_folder + "/" + kKubeletSocket),
      recording_(recording),
      service_(std::make_unique<Registrations>(*this)),
      watches_(std::move(watches)) {}

Recorder::~Recorder() = default;

Status Recorder::run(int stop_fd) {
  Status served = serve_until(stop_fd);
  server_.reset();
  end_all("the recorder ends");
  return served;
}

Result<Recorder::Watches> Recorder::open_watches(const Options& options) {
  auto kubelet = DirectoryWatch::open(options.kubelet_folder);
  if (!kubelet) return kubelet.error().in("--kubelet-folder");
  if (Status made = make_directories(options.plugin_folder, 0755); !made) {
    return made.error().in("--plugin-folder");
  }
  auto plugins = DirectoryWatch::open(options.plugin_folder);
  if (!plugins) return plugins.error().in("--plugin-folder");
  if (file_identity(options.kubelet_folder) == file_identity(options.plugin_folder)) {
    return Error{ErrorCode::kInvalidArgument,
                 "--plugin-folder and --kubelet-folder are one folder; give two"};
  }
  if (Status freed = remove_dead_socket(options.plugin_folder + "/" + kKubeletSocket); !freed) {
    return freed.error();
  }
  return Watches{*std::move(kubelet), *std::move(plugins)};
}

Status Recorder::serve_until(int stop_fd) {
  if (Status met = meet_kubelet(); !met) return met;
  Loop loop;
  Status outcome = Done{};
  const auto take = [&](const Status& followed) {
    if (followed) return;
    outcome = followed;
    loop.stop();
  };
  loop.on_readable(stop_fd, [&] { loop.stop(); });
  loop.add({.fd = [this] { return watches_.kubelet.fd(); },
            .due = [this] { return due(); },
            .look = [&](auto) { take(follow_kubelet()); }});
  loop.add({.fd = [this] { return watches_.plugins.fd(); },
            .look = [&](auto) { take(follow_plugins()); }});
  loop.after_each([&] {
    end_retired();
    if (!server_) take(meet_kubelet());
  });
  loop.run();
  return outcome;
}

std::optional<Recorder::Clock::time_point> Recorder::due() {
  const std::lock_guard lock(mutex_);
  std::optional<Clock::time_point> due;
  if (!server_) due = Clock::now() + kLookForKubelet;
  for (const Served& served : served_) {
    if (!served.retired_until) continue;
    due = due ? std::min(*due, *served.retired_until) : *served.retired_until;
  }
  return due;
}

Status Recorder::meet_kubelet() {
  // What happened before is of no interest: from here on a vanished socket is
  // the one that answers now.
  if (Status followed = follow_kubelet(); !followed) return followed;
  if (!answers(kubelet_socket_)) return Done{};
  return kubelet_came();
}

Status Recorder::follow_kubelet() {
  const auto events = watches_.kubelet.drain();
  if (is_gone(events)) {
    auto again = DirectoryWatch::open(options_.kubelet_folder);
    if (!again) return again.error().in("--kubelet-folder");
    watches_.kubelet = *std::move(again);
  }
  const bool has_vanished = std::ranges::any_of(events, [](const DirectoryWatch::Event& event) {
    return event.kind == DirectoryWatch::Kind::kVanished && event.name == kKubeletSocket;
  });
  // A socket may also be renamed over another; then nothing vanishes.
  if (server_ && (has_vanished || file_identity(kubelet_socket_) != kubelet_identity_)) {
    kubelet_went();
  }
  return Done{};
}

Status Recorder::kubelet_came() {
  kubelet_identity_ = file_identity(kubelet_socket_);
  // Begins before the first registration, and is written when one is possible.
  const Recording::Place place = recording_.begin();
  auto server =
      SocketServer::listen(plugins_kubelet_socket_, *service_, standin::kUnlimitedMessage);
  if (!server) return server.error().in("--plugin-folder");
  server_ = *std::move(server);
  recording_.finish(place, {{"call", "KubeletCame"}});
  return Done{};
}

void Recorder::kubelet_went() {
  // Written when nobody can register any more.
  const Recording::Place place = recording_.begin();
  server_.reset();  // first, so that nobody registers while the endpoints end
  recording_.finish(place, {{"call", "KubeletGone"}});
  end_all("the kubelet is gone");
}

grpc::Status Recorder::register_plugin(grpc::ServerContext& context,
                                       const v1beta1::RegisterRequest& request) {
  const Recording::Place place = recording_.begin();
  const std::string socket = fresh_socket();
  Json event = {{"call", "Register"}};
  event.update(question(request));
  event["socket"] = socket;

  grpc::Status status;
  if (const Result<Endpoint*> endpoint = add_endpoint(request, socket)) {
    v1beta1::RegisterRequest onward_request = request;  // with what we do not know of
    onward_request.set_endpoint(socket);
    const auto onward = grpc::ClientContext::FromServerContext(context);
    const auto stub = v1beta1::Registration::NewStub(
        standin::make_channel(kubelet_socket_, standin::kUnlimitedMessage));
    v1beta1::Empty response;
    status = stub->Register(onward.get(), onward_request, &response);
    if (is_refusal(status)) end_one(*endpoint, "the registration was refused");
  } else {
    status = {grpc::StatusCode::INTERNAL, "kubelet-recorder: " + endpoint.error().message};
  }
  if (!status.ok()) event["error"] = error(status);
  recording_.finish(place, event);
  return status;
}

Result<Endpoint*> Recorder::add_endpoint(const v1beta1::RegisterRequest& request,
                                         const std::string& socket) {
  auto opened = Endpoint::open({.resource = request.resource_name(),
                                .endpoint = request.endpoint(),
                                .socket = socket,
                                .plugin_socket = options_.plugin_folder + "/" + request.endpoint(),
                                .own_socket = options_.kubelet_folder + "/" + socket},
                               recording_);
  if (!opened) return opened.error();
  Endpoint* endpoint = opened->get();
  const std::lock_guard lock(mutex_);
  served_.push_back({*std::move(opened), std::nullopt});
  return endpoint;
}

std::string Recorder::fresh_socket() {
  const std::lock_guard lock(mutex_);
  std::string name;
  do {
    name = "rec-" + std::to_string(::getpid()) + "-" + std::to_string(++last_socket_) + ".sock";
  } while (path_exists(options_.kubelet_folder + "/" + name));
  return name;
}

Status Recorder::follow_plugins() {
  if (is_gone(watches_.plugins.drain())) {
    auto again = DirectoryWatch::open(options_.plugin_folder);
    if (!again) return again.error().in("--plugin-folder");
    watches_.plugins = *std::move(again);
  }
  const std::lock_guard lock(mutex_);
  for (Served& served : served_) {
    if (served.retired_until || !served.endpoint->has_lost_plugin()) continue;
    served.endpoint->retire();
    served.retired_until = Clock::now() + kRetirement;
  }
  return Done{};
}

void Recorder::end_retired() {
  std::vector<Served> over;
  {
    const std::lock_guard lock(mutex_);
    const auto now = Clock::now();
    const auto first = std::ranges::partition(served_, [&](const Served& served) {
                         return !served.retired_until || *served.retired_until > now;
                       }).begin();
    over.assign(std::make_move_iterator(first), std::make_move_iterator(served_.end()));
    served_.erase(first, served_.end());
  }
  for (const Served& served : over) served.endpoint->end("the plugin's socket is gone");
}

void Recorder::end_all(const std::string& why) {
  std::vector<Served> all;
  {
    const std::lock_guard lock(mutex_);
    all.swap(served_);
  }
  for (const Served& served : all) served.endpoint->end(why);
}

void Recorder::end_one(const Endpoint* endpoint, const std::string& why) {
  std::unique_ptr<Endpoint> ended;
  {
    const std::lock_guard lock(mutex_);
    const auto found = std::ranges::find(
        served_, endpoint, [](const Served& served) { return served.endpoint.get(); });
    if (found == served_.end()) return;
    ended = std::move(found->endpoint);
    served_.erase(found);
  }
  ended->end(why);
}

}  // namespace tranche::testbed::recorder
