// SPDX-License-Identifier: Apache-2.0
#include "kube/testing/scripted_server.h"

#include <sys/socket.h>

#include <condition_variable>
#include <list>
#include <mutex>
#include <sstream>
#include <thread>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/write.hpp>

#include "base/text.h"

namespace tranche::kube {
namespace {

namespace net = boost::asio;
using Tcp = net::ip::tcp;
using boost::system::error_code;

}  // namespace

std::string SeenRequest::header(const std::string& name) const {
  std::istringstream lines(headers);
  for (std::string field; std::getline(lines, field);) {
    const std::size_t colon = field.find(':');
    if (colon != std::string::npos && lower(field.substr(0, colon)) == lower(name)) {
      return std::string(trim(std::string_view(field).substr(colon + 1)));
    }
  }
  return {};
}

ScriptedAnswer answer(unsigned status, const std::string& body, const std::string& headers) {
  return {.bytes = "HTTP/1.1 " + std::to_string(status) + " x\r\nContent-Length: " +
                   std::to_string(body.size()) + "\r\n" + headers + "\r\n" + body};
}

struct ScriptedServer::Parts {
  Script script;
  Authority authority;
  net::io_context io;
  net::ssl::context tls{net::ssl::context::tls_server};
  Tcp::acceptor acceptor{io, Tcp::endpoint(net::ip::address_v4::loopback(), 0)};
  mutable std::mutex mutex;
  std::condition_variable closing;
  std::size_t closed = 0;                           // guarded by mutex
  std::vector<SeenRequest> seen;                    // guarded by mutex
  std::list<std::shared_ptr<Tcp::socket>> sockets;  // guarded by mutex
  std::list<std::jthread> threads;
  std::jthread accepting;

  void accept() {
    for (int number = 1;; ++number) {
      auto socket = std::make_shared<Tcp::socket>(io);
      error_code problem;
      problem = acceptor.accept(*socket, problem);
      if (problem) return;
      {
        const std::lock_guard lock(mutex);
        sockets.push_back(socket);
      }
      threads.emplace_back([this, socket, number] { serve(*socket, number); });
    }
  }

  void serve(Tcp::socket& socket, int number) {
    net::ssl::stream<Tcp::socket&> stream(socket, tls);
    error_code problem;
    problem = stream.handshake(net::ssl::stream_base::server, problem);
    std::string buffer;
    while (!problem) {
      SeenRequest request;
      request.connection = number;
      const std::size_t head =
          net::read_until(stream, net::dynamic_buffer(buffer), "\r\n\r\n", problem);
      if (problem) return;
      const std::size_t first = buffer.find("\r\n");
      request.line = buffer.substr(0, first);
      request.headers = buffer.substr(first + 2, head - first - 2);
      buffer.erase(0, head);
      const auto length = parse_number<std::size_t>(request.header("Content-Length")).value_or(0);
      if (buffer.size() < length) {
        net::read(stream, net::dynamic_buffer(buffer),
                  net::transfer_exactly(length - buffer.size()), problem);
      }
      request.body = buffer.substr(0, length);
      buffer.erase(0, length);
      {
        const std::lock_guard lock(mutex);
        seen.push_back(request);
      }
      const ScriptedAnswer next = script(request);
      net::write(stream, net::buffer(next.bytes), problem);
      while (next.more && !problem) {
        const std::string bytes = next.more();
        if (bytes.empty()) break;
        net::write(stream, net::buffer(bytes), problem);
      }
      if (next.closes) {
        ::shutdown(socket.native_handle(), SHUT_RDWR);
        const std::lock_guard lock(mutex);
        ++closed;
        closing.notify_all();
        return;
      }
      if (next.hangs) {
        std::string ignored;
        net::read(stream, net::dynamic_buffer(ignored), problem);
      }
    }
  }
};

ScriptedServer::ScriptedServer(Script script, const std::string& names)
    : parts_(std::make_unique<Parts>()) {
  parts_->script = std::move(script);
  const SignedCertificate own = parts_->authority.sign("server", names);
  parts_->tls.use_certificate_chain(net::buffer(own.certificate));
  parts_->tls.use_private_key(net::buffer(own.key), net::ssl::context::pem);
  parts_->accepting = std::jthread([this] { parts_->accept(); });
}

ScriptedServer::~ScriptedServer() {
  // A thread in accept() or read() does not see that its socket is closed, but that it is shut.
  ::shutdown(parts_->acceptor.native_handle(), SHUT_RDWR);
  parts_->accepting.join();
  {
    const std::lock_guard lock(parts_->mutex);
    for (const auto& socket : parts_->sockets) ::shutdown(socket->native_handle(), SHUT_RDWR);
  }
  parts_->threads.clear();
}

Access ScriptedServer::access() const {
  Access access;
  access.host = "127.0.0.1";
  access.port = std::to_string(parts_->acceptor.local_endpoint().port());
  access.ca.text = parts_->authority.pem();
  return access;
}

void ScriptedServer::until_closed(std::size_t count) const {
  std::unique_lock lock(parts_->mutex);
  parts_->closing.wait(lock, [&] { return parts_->closed >= count; });
}

std::vector<SeenRequest> ScriptedServer::seen() const {
  const std::lock_guard lock(parts_->mutex);
  return parts_->seen;
}

}  // namespace tranche::kube
