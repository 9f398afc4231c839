// SPDX-License-Identifier: Apache-2.0
#include "kube/connection.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <array>
#include <functional>
#include <limits>
#include <optional>
#include <string_view>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>

#include "base/text.h"

namespace tranche::kube {
namespace {

namespace net = boost::asio;
namespace http = boost::beast::http;
using boost::system::error_code;
using Tcp = net::ip::tcp;
using TlsStream = net::ssl::stream<Tcp::socket>;

constexpr std::size_t kChunk = 64UL << 10U;
constexpr std::size_t kMostRefusal = 1UL << 20U;
// A peer that vanished without a word is noticed within a minute, also by a watch that only
// listens.
constexpr int kKeepIdle = 30, kKeepInterval = 10, kKeepCount = 3;

Error unavailable(const std::string& what) { return {ErrorCode::kUnavailable, what}; }

std::string words_of(const error_code& problem) {
  if (problem == net::error::eof || problem == http::error::end_of_stream ||
      problem == net::ssl::error::stream_truncated || problem == http::error::partial_message) {
    return "the server closed the connection";
  }
  return problem.message();
}

http::verb verb_of(Verb verb) {
  switch (verb) {
    case Verb::kGet: return http::verb::get;
    case Verb::kPost: return http::verb::post;
    case Verb::kPut: return http::verb::put;
    case Verb::kPatch: return http::verb::patch;
    case Verb::kDelete: return http::verb::delete_;
  }
  return http::verb::get;
}

// Only a number of seconds; the API server sends no dates.
std::optional<std::chrono::seconds> retry_after(std::string_view value) {
  const auto seconds = parse_number<unsigned>(value);
  if (!seconds || *seconds > 3600) return std::nullopt;
  return std::chrono::seconds(*seconds);
}

template <typename Fields>
Response head_of(const Fields& message) {
  const auto value = message[http::field::retry_after];
  return {.status = message.result_int(), .retry_after = retry_after({value.data(), value.size()})};
}

void set_option(Tcp::socket& socket, int level, int name, int value) {
  ::setsockopt(socket.native_handle(), level, name, &value, sizeof value);
}

void keep_alive(Tcp::socket& socket) {
  set_option(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(socket, IPPROTO_TCP, TCP_KEEPIDLE, kKeepIdle);
  set_option(socket, IPPROTO_TCP, TCP_KEEPINTVL, kKeepInterval);
  set_option(socket, IPPROTO_TCP, TCP_KEEPCNT, kKeepCount);
  // The same for what was sent and is not acknowledged.
  set_option(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, 60'000);
  set_option(socket, IPPROTO_TCP, TCP_NODELAY, 1);
}

// Loads the authorities and the client's certificate. Throws what OpenSSL complains about.
void set_up(net::ssl::context& tls, const Access& access, const Connection::Secrets& secrets) {
  tls.set_options(net::ssl::context::default_workarounds | net::ssl::context::no_tlsv1 |
                  net::ssl::context::no_tlsv1_1);
  if (access.skip_verify) {
    tls.set_verify_mode(net::ssl::verify_none);
  } else {
    tls.set_verify_mode(net::ssl::verify_peer);
    if (access.ca.is_given()) {
      tls.add_certificate_authority(net::buffer(secrets.authorities));
    } else {
      tls.set_default_verify_paths();
    }
  }
  if (!secrets.certificate.empty()) {
    tls.use_certificate_chain(net::buffer(secrets.certificate));
    tls.use_private_key(net::buffer(secrets.key), net::ssl::context::pem);
  }
}

// The certificate must be for this name or address.
bool expect_name(TlsStream& stream, const Access& access) {
  const std::string& name = access.server_name.empty() ? access.host : access.server_name;
  error_code problem;
  const bool is_address = (net::ip::make_address(name, problem), !problem);
  SSL* const ssl = stream.native_handle();
  // An address is not sent as a server name (RFC 6066).
  std::string sent = name;
  if (!is_address &&
      SSL_ctrl(ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name, sent.data()) != 1) {
    return false;
  }
  if (access.skip_verify) return true;
  X509_VERIFY_PARAM* const wanted = SSL_get0_param(ssl);
  return is_address ? X509_VERIFY_PARAM_set1_ip_asc(wanted, name.c_str()) == 1
                    : X509_VERIFY_PARAM_set1_host(wanted, name.c_str(), name.size()) == 1;
}

std::string certificate_problem(TlsStream& stream) {
  const long verdict = SSL_get_verify_result(stream.native_handle());
  return verdict == X509_V_OK ? "" : X509_verify_cert_error_string(verdict);
}

}  // namespace

struct Connection::Parts {
  Parts() : tls(net::ssl::context::tls_client) {}

  using Handler = std::function<void(error_code, std::size_t)>;

  // Runs what `start` begins until it is done, late or stopped.
  error_code run(const std::function<void(const Handler&)>& start, Deadline deadline,
                 const std::stop_token& stop) {
    std::optional<error_code> outcome;
    io.restart();
    start([&](error_code problem, std::size_t) { outcome = problem; });
    {
      const std::stop_callback on_stop(stop, [this] { net::post(io, [this] { close(); }); });
      while (!outcome && io.run_one_until(deadline) > 0) continue;
    }
    if (outcome && stop.stop_requested()) return net::error::operation_aborted;
    if (outcome) return *outcome;
    // Late. The operation ends at once when its socket does, and must not outlive this call.
    close();
    while (!outcome && io.run_one() > 0) continue;
    return net::error::timed_out;
  }

  void close() {
    error_code ignored;
    if (stream) ignored = stream->next_layer().close(ignored);
    usable = false;
  }

  // The parts of Connection::open, in order.
  Status connect(const std::vector<std::string>& addresses, const std::string& port,
                 Deadline deadline, const std::stop_token& stop);
  Status shake_hands(const Access& access, Deadline deadline, const std::stop_token& stop);

  net::io_context io{1};
  net::ssl::context tls;
  std::unique_ptr<TlsStream> stream;
  boost::beast::flat_buffer buffer;
  std::unique_ptr<http::response_parser<http::buffer_body>> parser;  // of the answer
  std::string host;                                                  // for the header
  std::string path;
  bool usable = false;
};

// One address after the other, each with its part of the time: one that swallows packets must
// not hide the others.
Status Connection::Parts::connect(const std::vector<std::string>& addresses,
                                  const std::string& port, Deadline deadline,
                                  const std::stop_token& stop) {
  error_code problem = net::error::host_not_found;
  for (std::size_t left = addresses.size(); left > 0; --left) {
    const auto address = net::ip::make_address(addresses[addresses.size() - left], problem);
    if (problem) continue;
    const Tcp::endpoint endpoint(address, parse_number<std::uint16_t>(port).value_or(443));
    const auto now = std::chrono::steady_clock::now();
    stream = std::make_unique<TlsStream>(io, tls);
    problem = run(
        [&](const Handler& done) {
          stream->next_layer().async_connect(endpoint,
                                             [done](error_code connected) { done(connected, 0); });
        },
        now + (deadline - now) / static_cast<int>(left), stop);
    if (!problem || stop.stop_requested()) break;
  }
  if (problem) return unavailable(words_of(problem));
  keep_alive(stream->next_layer());
  return Done{};
}

Status Connection::Parts::shake_hands(const Access& access, Deadline deadline,
                                      const std::stop_token& stop) {
  if (!expect_name(*stream, access)) return unavailable("bad server name");
  const error_code problem = run(
      [&](const Handler& done) {
        stream->async_handshake(net::ssl::stream_base::client,
                                [done](error_code shaken) { done(shaken, 0); });
      },
      deadline, stop);
  if (!problem) return Done{};
  const std::string certificate = certificate_problem(*stream);
  return unavailable("TLS: " + (certificate.empty() ? words_of(problem)
                                                    : "the server's certificate: " + certificate));
}

namespace {

using HttpRequest = http::request<http::string_body>;

std::string host_header(const Access& access) {
  const bool is_ipv6 = access.host.find(':') != std::string::npos;
  return (is_ipv6 ? "[" + access.host + "]" : access.host) + ":" + access.port;
}

}  // namespace

Connection::Connection(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

Connection::~Connection() {
  parts_->close();
  // What was cancelled ends here, before what it refers to.
  parts_->io.restart();
  parts_->io.poll();
}

Result<std::unique_ptr<Connection>> Connection::open(const Access& access,
                                                     const std::vector<std::string>& addresses,
                                                     const Secrets& secrets, Deadline deadline,
                                                     const std::stop_token& stop) try {
  auto parts = std::make_unique<Parts>();
  for (const std::string* pem : {&secrets.authorities, &secrets.certificate, &secrets.key}) {
    // OpenSSL would ask for the passphrase on the terminal, and wait.
    if (pem->find("ENCRYPTED") != std::string::npos) {
      return Error{ErrorCode::kInvalidArgument,
                   "the certificate authority or the client key is encrypted, which is not "
                   "supported: give it without a passphrase"};
    }
  }
  set_up(parts->tls, access, secrets);
  parts->host = host_header(access);
  parts->path = access.path;
  const std::string doing = "connecting to " + parts->host;
  if (Status done = parts->connect(addresses, access.port, deadline, stop); !done) {
    return done.error().in(doing);
  }
  if (Status done = parts->shake_hands(access, deadline, stop); !done) {
    return done.error().in(doing);
  }
  parts->usable = true;
  return std::unique_ptr<Connection>(new Connection(std::move(parts)));
} catch (const boost::system::system_error& wrong) {
  return Error{ErrorCode::kInvalidArgument,
               "the certificate authority, the client certificate or its key is not understood: " +
                   wrong.code().message()};
}

Result<Response> Connection::exchange(const Request& request, const Headers& headers,
                                      std::size_t most, Deadline deadline,
                                      const std::stop_token& stop) {
  Result<Response> response = begin(request, headers, deadline, stop);
  if (!response || !response->ok()) return response;
  while (true) {
    Result<std::string> more = read(deadline, stop);
    if (!more) return more.error();
    if (more->empty()) return response;
    if (response->body.size() + more->size() > most) {
      parts_->close();
      return Error{ErrorCode::kInvalidArgument,
                   "the answer has more than " + std::to_string(most) + " bytes"};
    }
    response->body += *more;
  }
}

Result<Response> Connection::begin(const Request& request, const Headers& headers,
                                   Deadline deadline, const std::stop_token& stop) try {
  HttpRequest message{verb_of(request.verb), parts_->path + request.target, 11};
  message.set(http::field::host, parts_->host);
  message.set(http::field::accept, kJson);
  for (const auto& [name, value] : headers) message.set(name, value);
  if (!request.content_type.empty()) message.set(http::field::content_type, request.content_type);
  message.body() = request.body;
  message.prepare_payload();
  parts_->usable = false;
  error_code problem = parts_->run(
      [&](const Parts::Handler& done) { http::async_write(*parts_->stream, message, done); },
      deadline, stop);
  if (problem) return unavailable("sending: " + words_of(problem));

  parts_->parser = std::make_unique<http::response_parser<http::buffer_body>>();
  // Not boost::none: 1.74 takes that for no byte at all where the length is given.
  parts_->parser->body_limit(std::numeric_limits<std::uint64_t>::max());
  problem = parts_->run(
      [&](const Parts::Handler& done) {
        http::async_read_header(*parts_->stream, parts_->buffer, *parts_->parser, done);
      },
      deadline, stop);
  if (problem) return unavailable("waiting for an answer: " + words_of(problem));
  Response response = head_of(parts_->parser->get());
  if (response.ok()) return response;
  while (response.body.size() < kMostRefusal) {
    Result<std::string> more = read(deadline, stop);
    if (!more) return more.error();
    if (more->empty()) break;
    response.body += *more;
  }
  return response;
} catch (const std::length_error& wrong) {
  return Error{ErrorCode::kInvalidArgument,
               std::string("the request's headers are too long: ") + wrong.what()};
}

Result<std::string> Connection::read(Deadline deadline, const std::stop_token& stop) {
  http::response_parser<http::buffer_body>& parser = *parts_->parser;
  std::string chunk(kChunk, '\0');
  std::size_t length = 0;
  // A chunk's own frame may come without any of its content.
  while (length == 0 && !parser.is_done()) {
    parser.get().body().data = chunk.data();
    parser.get().body().size = chunk.size();
    parser.get().body().more = true;
    const error_code problem = parts_->run(
        [&](const Parts::Handler& done) {
          http::async_read_some(*parts_->stream, parts_->buffer, parser, done);
        },
        deadline, stop);
    if (problem && problem != http::error::need_buffer) {
      return unavailable("reading: " + words_of(problem));
    }
    length = chunk.size() - parser.get().body().size;
  }
  if (length == 0) parts_->usable = parser.get().keep_alive();
  chunk.resize(length);
  return chunk;
}

bool Connection::is_usable() {
  if (!parts_->usable || parts_->buffer.size() > 0) return false;
  // An idle server has nothing to say: what can be read is the end of the connection.
  char byte = 0;
  const ssize_t length =
      ::recv(parts_->stream->next_layer().native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return length < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
}

}  // namespace tranche::kube
