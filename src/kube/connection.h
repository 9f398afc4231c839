// SPDX-License-Identifier: Apache-2.0
//
// One TLS connection to the API server, with HTTP/1.1 on it. Every call waits until it is done,
// its deadline has passed or a stop is requested, whichever is first: a server that is silent
// keeps nobody. After a call that failed the connection is of no use.
//
// Not thread-safe: belongs to one thread. Only the stop token may be used by others.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "kube/access.h"
#include "kube/request.h"

namespace tranche::kube {

using Deadline = std::chrono::steady_clock::time_point;
using Headers = std::vector<std::pair<std::string, std::string>>;

class Connection {
 public:
  // What a connection is made with, PEM; another of these needs another connection.
  struct Secrets {
    std::string authorities;  // empty: the machine's
    std::string certificate;  // of the client; empty: none
    std::string key;

    bool operator==(const Secrets&) const = default;
  };

  // `addresses` of the host. An error of kInvalidArgument: the secrets are no good.
  static Result<std::unique_ptr<Connection>> open(const Access& access,
                                                  const std::vector<std::string>& addresses,
                                                  const Secrets& secrets, Deadline deadline,
                                                  const std::stop_token& stop);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // The whole answer. One of more than `most` bytes is an error.
  Result<Response> exchange(const Request& request, const Headers& headers, std::size_t most,
                            Deadline deadline, const std::stop_token& stop);

  // The same for an answer without end: this gives its head, and read() the rest bit by bit.
  // An answer that is not ok is given whole.
  Result<Response> begin(const Request& request, const Headers& headers, Deadline deadline,
                         const std::stop_token& stop);
  // Some more; empty at the end.
  Result<std::string> read(Deadline deadline, const std::stop_token& stop);

  // Whether another request may be sent: the last one went well, the server keeps the
  // connection, and has not closed it since.
  bool is_usable();

 private:
  struct Parts;
  explicit Connection(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts_;
};

}  // namespace tranche::kube
