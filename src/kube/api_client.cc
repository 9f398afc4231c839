// SPDX-License-Identifier: Apache-2.0
#include "kube/api_client.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "os/worker.h"

namespace tranche::kube {
namespace {

// The authorities' file is compared this often; a connection that is made in between reads it too.
constexpr std::chrono::minutes kAuthoritiesAgain{1};

bool asks_to_wait(const Response& response) {
  return (response.status == 429 || response.status == 503) && response.retry_after.has_value();
}

}  // namespace

ApiClient::ApiClient(Access access, ApiClientOptions options)
    : access_(std::move(access)),
      options_(std::move(options)),
      credentials_(access_),
      budget_(options_.calls_a_second, options_.burst) {}

Result<Response> ApiClient::send(const Request& request, std::chrono::milliseconds patience,
                                 const std::stop_token& stop) {
  const Deadline deadline = Clock::now() + patience;
  const Attempt attempt = [&](Connection& connection, const Headers& headers) {
    return connection.exchange(request, headers, options_.most_bytes, deadline, stop);
  };
  while (true) {
    Result<Response> response = with_credentials(request, attempt, deadline, stop);
    if (!response || !asks_to_wait(*response)) return response;
    const auto wait = std::max<std::chrono::milliseconds>(
        response->retry_after.value_or(std::chrono::seconds(0)), std::chrono::milliseconds(100));
    if (Clock::now() + wait >= deadline) return response;
    sleep_unless_stopped(stop, wait);
    if (stop.stop_requested()) return response;
  }
}

Result<Response> ApiClient::stream(const Request& request, StreamTimes times, const Take& take,
                                   const std::stop_token& stop) {
  const Deadline head = Clock::now() + times.patience;
  const Deadline end = Clock::now() + times.length;
  Result<Response> response = with_credentials(
      request,
      [&](Connection& connection, const Headers& headers) {
        return connection.begin(request, headers, head, stop);
      },
      head, stop);
  if (!response || !response->ok()) return response;
  while (true) {
    const Result<std::string> chunk = connection_->read(end, stop);
    if (!chunk) return chunk.error();
    if (chunk->empty()) return response;
    if (!take(*chunk)) {
      connection_.reset();  // the rest of the answer is still on its way
      return response;
    }
  }
}

// A token that the server refuses may have been replaced since it was read.
Result<Response> ApiClient::with_credentials(const Request& request, const Attempt& attempt,
                                             Deadline deadline, const std::stop_token& stop) {
  sleep_unless_stopped(stop, budget_.take(Clock::now()));
  Result<Response> response = once(request, attempt, deadline, stop);
  if (!response || response->status != 401) return response;
  credentials_.refuse();
  return once(request, attempt, deadline, stop);
}

Result<Response> ApiClient::once(const Request& request, const Attempt& attempt, Deadline deadline,
                                 const std::stop_token& stop) {
  const Result<Identity> identity =
      credentials_.identity({Clock::now(), std::chrono::system_clock::now()}, deadline, stop);
  if (!identity) return identity.error();
  Headers headers{{"User-Agent", options_.user_agent}};
  if (!identity->token.empty()) headers.emplace_back("Authorization", "Bearer " + identity->token);
  while (true) {
    const Connection* const kept = connection_.get();
    const Result<Connection*> connected = connection(*identity, deadline, stop);
    if (!connected) return connected.error();
    const bool is_kept = *connected == kept;
    Result<Response> response = attempt(**connected, headers);
    if (response) return response;
    connection_.reset();
    // The server may close an idle connection just when we use it. What changes something is not
    // repeated: it may have been done.
    const bool may_repeat = is_kept && request.verb == Verb::kGet &&
                            response.error().code == ErrorCode::kUnavailable &&
                            Clock::now() < deadline;
    if (!may_repeat || stop.stop_requested()) {
      return response.error().in(fmt::format("{} {}", to_string(request.verb),
                                             request.target.substr(0, request.target.find('?'))));
    }
  }
}

Result<Connection*> ApiClient::connection(const Identity& identity, Deadline deadline,
                                          const std::stop_token& stop) {
  const Clock::time_point now = Clock::now();
  if (connection_ && !connection_->is_usable()) connection_.reset();
  Connection::Secrets wanted{secrets_.authorities, identity.certificate, identity.key};
  if (!connection_ || now - authorities_read_ >= kAuthoritiesAgain) {
    Result<std::string> authorities = credentials_.authorities();
    authorities_read_ = now;
    // A file that is just being replaced is no reason to give up a connection that works.
    if (!authorities && !connection_) return authorities.error();
    if (authorities) wanted.authorities = *std::move(authorities);
  }
  if (connection_ && wanted == secrets_) return connection_.get();
  const NameLookup::Addresses addresses = lookup_.find(access_.host, deadline, stop);
  if (!addresses) return addresses.error();
  Result<std::unique_ptr<Connection>> opened =
      Connection::open(access_, *addresses, wanted, deadline, stop);
  if (!opened) {
    // A certificate and a key that do not go together may be half replaced.
    if (opened.error().code == ErrorCode::kInvalidArgument) credentials_.refuse();
    connection_.reset();
    return opened.error();
  }
  connection_ = *std::move(opened);
  secrets_ = std::move(wanted);
  return connection_.get();
}

}  // namespace tranche::kube
