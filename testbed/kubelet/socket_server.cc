// SPDX-License-Identifier: Apache-2.0
#include "testbed/kubelet/socket_server.h"

#include <fcntl.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/server_posix.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "os/errno_error.h"

namespace tranche::testbed::standin {
namespace {

Result<UniqueFd> listen_on(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) {
    return Error{ErrorCode::kInvalidArgument, "listening on " + path + ": the path is too long"};
  }
  std::ranges::copy(path, std::begin(address.sun_path));
  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return errno_error("socket");
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): the API's way
  if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    return errno_error("listening on " + path);
  }
  if (::listen(fd.get(), SOMAXCONN) != 0) return errno_error("listening on " + path);
  return fd;
}

}  // namespace

Result<std::unique_ptr<SocketServer>> SocketServer::listen(const std::string& path,
                                                           grpc::Service& service,
                                                           int largest_received) {
  Result<UniqueFd> listener = listen_on(path);
  if (!listener) return listener.error();
  return std::unique_ptr<SocketServer>(
      new SocketServer(path, std::move(*listener), service, largest_received));
}

SocketServer::SocketServer(std::string path, UniqueFd listener, grpc::Service& service,
                           int largest_received)
    : path_(std::move(path)), listener_(std::move(listener)) {
  // Without this the library shuts down with the last object that uses it, and
  // that waits up to ten seconds for a poller which a large message started.
  grpc_init();
  grpc::ServerBuilder builder;
  builder.SetMaxReceiveMessageSize(largest_received);
  builder.RegisterService(&service);
  server_ = builder.BuildAndStart();
  acceptor_ = std::thread([this] { accept_until_woken(); });
}

SocketServer::~SocketServer() { stop(SocketFile::kRemoved); }

void SocketServer::accept_until_woken() {
  std::array<pollfd, 2> waited = {{{listener_.get(), POLLIN, 0}, {wake_.fd(), POLLIN, 0}}};
  while (true) {
    if (::poll(waited.data(), waited.size(), -1) < 0) continue;  // interrupted
    if (waited[1].revents != 0) return;
    const int fd = ::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd >= 0) grpc::AddInsecureChannelFromFd(server_.get(), fd);
  }
}

void SocketServer::stop_listening(SocketFile file) {
  if (!acceptor_.joinable()) return;
  wake_.ring();
  acceptor_.join();
  listener_.reset();
  if (file == SocketFile::kRemoved) ::unlink(path_.c_str());
}

void SocketServer::stop(SocketFile file) {
  stop_listening(file);
  if (!server_) return;
  server_->Shutdown(std::chrono::system_clock::now());
  server_->Wait();
  server_.reset();
}

}  // namespace tranche::testbed::standin
