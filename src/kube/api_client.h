// SPDX-License-Identifier: Apache-2.0
//
// Calls to the API server over one kept connection: adds the credentials, reads them again when
// the server refuses them, and repeats a call that the server asked to repeat (429 and 503 with
// Retry-After) as long as its time lasts. Everything else is the caller's to repeat.
//
// Not thread-safe: a thread that makes calls has a client of its own.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/result.h"
#include "kube/access.h"
#include "kube/call_budget.h"
#include "kube/connection.h"
#include "kube/credentials.h"
#include "kube/name_lookup.h"
#include "kube/request.h"

namespace tranche::kube {

struct ApiClientOptions {
  std::string user_agent;
  double calls_a_second = 5;
  double burst = 10;
  std::size_t most_bytes = 64U << 20U;  // of one answer
};

class ApiClient {
 public:
  using Clock = std::chrono::steady_clock;

  ApiClient(Access access, ApiClientOptions options);

  // The server's answer, whatever it says. An error: there was none.
  Result<Response> send(const Request& request, std::chrono::milliseconds patience,
                        const std::stop_token& stop);

  // An answer that is read bit by bit: `take` gets what comes, and returns false to end it. The
  // response has a body only where it is not ok. `patience` is for its head, `length` for all.
  using Take = std::function<bool(std::string_view chunk)>;
  struct StreamTimes {
    std::chrono::milliseconds patience;
    std::chrono::milliseconds length;
  };
  Result<Response> stream(const Request& request, StreamTimes times, const Take& take,
                          const std::stop_token& stop);

  const Access& access() const { return access_; }

 private:
  using Attempt = std::function<Result<Response>(Connection&, const Headers&)>;
  Result<Response> with_credentials(const Request& request, const Attempt& attempt,
                                    Deadline deadline, const std::stop_token& stop);
  Result<Response> once(const Request& request, const Attempt& attempt, Deadline deadline,
                        const std::stop_token& stop);
  Result<Connection*> connection(const Identity& identity, Deadline deadline,
                                 const std::stop_token& stop);

  const Access access_;
  const ApiClientOptions options_;
  Credentials credentials_;
  CallBudget budget_;
  std::unique_ptr<Connection> connection_;
  Connection::Secrets secrets_;  // that it was made with
  Clock::time_point authorities_read_;
  NameLookup lookup_;
};

}  // namespace tranche::kube
