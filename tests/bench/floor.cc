// SPDX-License-Identifier: Apache-2.0
//
// The floor: what a device plugin costs that knows nothing. It registers, again when
// the kubelet's socket is made again, and answers every call with the bytes that the
// agent answered, recorded before.
// The gRPC server is set up as the agent's is, and linked the same way. What the
// agent costs above this is our own doing.
//
//   tranche-bench-floor KUBELET_SOCKET ANSWERS
//
// ANSWERS is a folder with one message in a file for each method.
#include <grpcpp/grpcpp.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>

#include <array>
#include <atomic>
#include <chrono>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/path.h"
#include "deviceplugin_v1beta1.grpc.pb.h"
#include "os/directory_watch.h"
#include "os/files.h"
#include "os/signals.h"
#include "os/unique_fd.h"

namespace tranche::bench {
namespace {

constexpr const char* kSocketName = "floor.sock";
constexpr std::chrono::seconds kRegisterTimeout{15};
constexpr std::chrono::milliseconds kShutdownPatience{500};

template <typename Message>
bool read_message(const std::string& folder, const char* method, Message& message) {
  const Result<std::string> bytes = read_file(below(folder, method));
  return bytes && message.ParseFromString(*bytes);
}

class Floor final : public v1beta1::DevicePlugin::Service {
 public:
  bool load(const std::string& folder) {
    return read_message(folder, "ListAndWatch", *list_) &&
           read_message(folder, "Allocate", allocated_) &&
           read_message(folder, "GetPreferredAllocation", preferred_);
  }

  void end_streams() {
    ended_ = true;
    ended_.notify_all();
  }

  grpc::Status GetDevicePluginOptions(grpc::ServerContext*, const v1beta1::Empty*,
                                      v1beta1::DevicePluginOptions* response) override {
    response->set_get_preferred_allocation_available(true);
    return grpc::Status::OK;
  }

  // The list is let go of once it is sent, and its memory given back: a plugin
  // can make it when it is wanted, so holding it is no part of the floor.
  grpc::Status ListAndWatch(grpc::ServerContext*, const v1beta1::Empty*,
                            grpc::ServerWriter<v1beta1::ListAndWatchResponse>* stream) override {
    if (!list_) return {grpc::StatusCode::UNAVAILABLE, "the list was sent before"};
    stream->Write(*list_);
    list_.reset();
    ::malloc_trim(0);
    ended_.wait(false);
    return grpc::Status::OK;
  }

  grpc::Status GetPreferredAllocation(grpc::ServerContext*,
                                      const v1beta1::PreferredAllocationRequest*,
                                      v1beta1::PreferredAllocationResponse* response) override {
    *response = preferred_;
    return grpc::Status::OK;
  }

  grpc::Status Allocate(grpc::ServerContext*, const v1beta1::AllocateRequest*,
                        v1beta1::AllocateResponse* response) override {
    *response = allocated_;
    return grpc::Status::OK;
  }

 private:
  std::unique_ptr<v1beta1::ListAndWatchResponse> list_ =
      std::make_unique<v1beta1::ListAndWatchResponse>();
  v1beta1::AllocateResponse allocated_;
  v1beta1::PreferredAllocationResponse preferred_;
  std::atomic<bool> ended_{false};
};

std::unique_ptr<grpc::Server> listen_on(const std::string& path, grpc::Service& service) {
  grpc::ServerBuilder builder;
  builder.AddListeningPort("unix:" + path, grpc::InsecureServerCredentials());
  builder.SetMaxReceiveMessageSize(64 << 20);
  builder.SetMaxSendMessageSize(-1);
  builder.SetSyncServerOption(grpc::ServerBuilder::SyncServerOption::NUM_CQS, 1);
  builder.SetSyncServerOption(grpc::ServerBuilder::SyncServerOption::MIN_POLLERS, 1);
  builder.SetSyncServerOption(grpc::ServerBuilder::SyncServerOption::MAX_POLLERS, 1);
  builder.RegisterService(&service);
  return builder.BuildAndStart();
}

grpc::Status register_with(const std::string& kubelet_socket) {
  const auto stub = v1beta1::Registration::NewStub(
      grpc::CreateChannel("unix:" + kubelet_socket, grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kRegisterTimeout);
  v1beta1::RegisterRequest request;
  request.set_version("v1beta1");
  request.set_endpoint(kSocketName);
  request.set_resource_name("nvidia.com/gpu");
  request.mutable_options()->set_get_preferred_allocation_available(true);
  v1beta1::Empty response;
  return stub->Register(&context, request, &response);
}

int complain(const std::string& what) {
  std::cerr << "tranche-bench-floor: " << what << "\n";
  return 1;
}

// Serves and is registered, until it is asked to end.
class Plugin {
 public:
  Plugin(std::string kubelet_socket, std::string answers)
      : kubelet_socket_(std::move(kubelet_socket)), answers_(std::move(answers)) {}

  // Empty: it went well.
  std::string start() {
    end();
    floor_ = std::make_unique<Floor>();
    if (!floor_->load(answers_)) return "no recorded answers in " + answers_;
    server_ = listen_on(below(parent_of(kubelet_socket_), kSocketName), *floor_);
    if (!server_) return "cannot listen beside " + kubelet_socket_;
    const grpc::Status answer = register_with(kubelet_socket_);
    if (!answer.ok()) return "the kubelet at " + kubelet_socket_ + ": " + answer.error_message();
    return {};
  }

  void end() {
    if (!server_) return;
    floor_->end_streams();
    server_->Shutdown(std::chrono::system_clock::now() + kShutdownPatience);
    server_->Wait();
    server_.reset();
  }

 private:
  const std::string kubelet_socket_;
  const std::string answers_;
  std::unique_ptr<Floor> floor_;
  std::unique_ptr<grpc::Server> server_;
};

bool has_appeared(DirectoryWatch& folder, const std::string& name) {
  bool appeared = false;
  for (const DirectoryWatch::Event& event : folder.drain()) {
    appeared |= event.kind == DirectoryWatch::Kind::kAppeared && event.name == name;
  }
  return appeared;
}

int run(const std::vector<std::string>& words) {
  const Result<UniqueFd> signals = take_signals({SIGTERM});
  if (!signals) return complain(signals.error().message);
  if (words.size() != 2) return complain("usage: KUBELET_SOCKET ANSWERS");
  const std::string name = words[0].substr(words[0].find_last_of('/') + 1);
  Result<DirectoryWatch> folder = DirectoryWatch::open(parent_of(words[0]));
  if (!folder) return complain(folder.error().message);
  Plugin plugin(words[0], words[1]);
  if (const std::string problem = plugin.start(); !problem.empty()) return complain(problem);
  while (true) {
    std::array<pollfd, 2> fds{pollfd{signals->get(), POLLIN, 0}, pollfd{folder->fd(), POLLIN, 0}};
    ::poll(fds.data(), fds.size(), -1);
    if (fds[0].revents != 0) break;
    if (!has_appeared(*folder, name)) continue;
    if (const std::string problem = plugin.start(); !problem.empty()) return complain(problem);
  }
  plugin.end();
  return 0;
}

}  // namespace
}  // namespace tranche::bench

int main(int argc, char** argv) { return tranche::bench::run({argv + 1, argv + argc}); }
