// SPDX-License-Identifier: Apache-2.0
//
// Who we are to the API server, read again as it is replaced: a service account's token is
// renewed by the kubelet about once an hour, and one that was read once at start ends the
// agent's access after that. Tokens from files are read at most once a minute, and once when
// the server refuses one; those of an exec plugin until they expire.
//
// Not thread-safe: belongs to one client.
#pragma once

#include <chrono>
#include <optional>
#include <stop_token>
#include <string>

#include "base/result.h"
#include "kube/access.h"
#include "os/patient_caller.h"

namespace tranche::kube {

// What one connection and its requests use.
struct Identity {
  std::string token;
  std::string certificate;  // PEM; empty: none
  std::string key;

  bool operator==(const Identity&) const = default;
};

// What a plugin printed: an ExecCredential.
struct ExecCredential {
  Identity identity;
  std::optional<std::chrono::sys_seconds> expires;
};
Result<ExecCredential> parse_exec_credential(const std::string& text);

// "2026-11-18T00:24:55Z"; empty: it is no such time.
std::optional<std::chrono::sys_seconds> parse_utc(const std::string& text);

class Credentials {
 public:
  using Clock = std::chrono::steady_clock;

  explicit Credentials(Access access) : access_(std::move(access)) {}

  struct Moment {
    Clock::time_point now;
    std::chrono::system_clock::time_point wall;
  };

  // A file that cannot be read leaves what was read before, if anything was. `deadline` and
  // `stop` are for a plugin.
  Result<Identity> identity(const Moment& moment, Clock::time_point deadline,
                            const std::stop_token& stop);
  // The server refused it: it is read again at the next call.
  void refuse() { refused_ = true; }

  // The authorities that may sign the server's certificate, PEM; empty: the machine's.
  Result<std::string> authorities();

 private:
  bool is_fresh(const Moment& moment) const;
  Result<Identity> read(Clock::time_point deadline, const std::stop_token& stop);
  Result<Identity> run_plugin(const ExecPlugin& plugin, Clock::time_point deadline,
                              const std::stop_token& stop);

  const Access access_;
  std::optional<Identity> last_;
  Clock::time_point read_at_;
  std::optional<std::chrono::sys_seconds> expires_;
  bool refused_ = false;
  PatientCaller caller_;
  StuckCall last_run_;  // of a plugin that was late
};

}  // namespace tranche::kube
