// SPDX-License-Identifier: Apache-2.0
#include "kube/credentials.h"

#include "base/text.h"
#include "kube/json.h"
#include "os/child_process.h"
#include "os/files.h"

namespace tranche::kube {
namespace {

constexpr std::chrono::minutes kFresh{1};
constexpr std::size_t kMostBytes = 1U << 20U;
constexpr std::chrono::seconds kPluginPatience{30};
constexpr std::chrono::seconds kLeastBetweenRuns{10};
// A token is renewed this long before it expires.
constexpr std::chrono::seconds kMargin{10};

Result<std::string> content_of(const FileOrText& source) {
  if (source.file.empty()) return source.text;
  return read_file(source.file, kMostBytes);
}

// Servers take headers of some 8 KiB; a token is 1 to 2 KiB.
constexpr std::size_t kMostToken = 16U << 10U;

// A header may not contain what ends it.
Status check_token(const std::string& token) {
  if (token.size() > kMostToken) {
    return Error{ErrorCode::kInvalidArgument, "the token has " + std::to_string(token.size()) +
                                                  " bytes; at most " + std::to_string(kMostToken) +
                                                  " are sent"};
  }
  if (plain_prefix(token) == token.size()) return Done{};
  return Error{ErrorCode::kInvalidArgument, "the token has control characters in it"};
}

// KUBERNETES_EXEC_INFO, as kubectl gives it to a plugin that cannot ask a person.
std::string exec_info(const Access& access, const ExecPlugin& plugin) {
  Json info{{"apiVersion", plugin.api_version},
            {"kind", "ExecCredential"},
            {"spec", {{"interactive", false}}}};
  if (plugin.provide_cluster_info) {
    const bool is_ipv6 = access.host.find(':') != std::string::npos;
    const std::string host = is_ipv6 ? "[" + access.host + "]" : access.host;
    info["spec"]["cluster"] = {{"server", "https://" + host + ":" + access.port + access.path},
                               {"insecure-skip-tls-verify", access.skip_verify}};
    if (!access.server_name.empty()) {
      info["spec"]["cluster"]["tls-server-name"] = access.server_name;
    }
  }
  return info.dump();
}

}  // namespace

std::optional<std::chrono::sys_seconds> parse_utc(const std::string& text) {
  // By hand: chrono::parse is not in this library yet.
  if (text.size() < 20 || (!text.ends_with('Z') && !text.ends_with("+00:00"))) return std::nullopt;
  const auto number = [&](std::size_t at, std::size_t length) {
    return parse_number<unsigned>(std::string_view(text).substr(at, length));
  };
  const auto year = number(0, 4), month = number(5, 2), day = number(8, 2);
  const auto hour = number(11, 2), minute = number(14, 2), second = number(17, 2);
  if (!year || !month || !day || !hour || !minute || !second || text[4] != '-' || text[7] != '-' ||
      text[10] != 'T' || text[13] != ':' || text[16] != ':') {
    return std::nullopt;
  }
  const std::chrono::year_month_day date{std::chrono::year(static_cast<int>(*year)),
                                         std::chrono::month(*month), std::chrono::day(*day)};
  if (!date.ok() || *hour > 23 || *minute > 59 || *second > 60) return std::nullopt;
  return std::chrono::sys_seconds(std::chrono::sys_days(date)) + std::chrono::hours(*hour) +
         std::chrono::minutes(*minute) + std::chrono::seconds(*second);
}

Result<ExecCredential> parse_exec_credential(const std::string& text) {
  const Json json = parse_json(text);
  if (text_at(json, "kind") != "ExecCredential") {
    return Error{ErrorCode::kInvalidArgument, "it printed no ExecCredential"};
  }
  const Json status = json.value("status", Json::object());
  ExecCredential credential;
  credential.identity = {.token = text_at(status, "token"),
                         .certificate = text_at(status, "clientCertificateData"),
                         .key = text_at(status, "clientKeyData")};
  if (credential.identity.token.empty() && credential.identity.certificate.empty()) {
    return Error{ErrorCode::kInvalidArgument,
                 "its ExecCredential has neither a token nor a client certificate"};
  }
  if (Status checked = check_token(credential.identity.token); !checked) return checked.error();
  const std::string expires = text_at(status, "expirationTimestamp");
  if (!expires.empty()) {
    credential.expires = parse_utc(expires);
    if (!credential.expires) {
      return Error{ErrorCode::kInvalidArgument,
                   "its expirationTimestamp is no time: " + printable(expires)};
    }
  }
  return credential;
}

bool Credentials::is_fresh(const Moment& moment) const {
  if (access_.exec) {
    // A plugin is a process, and is not started for every call, whatever it says.
    const bool is_new = moment.now - read_at_ < kLeastBetweenRuns;
    return is_new || (!refused_ && (!expires_ || moment.wall + kMargin < *expires_));
  }
  return !refused_ && moment.now - read_at_ < kFresh;
}

Result<Identity> Credentials::identity(const Moment& moment, Clock::time_point deadline,
                                       const std::stop_token& stop) {
  if (last_ && is_fresh(moment)) return *last_;
  Result<Identity> identity = read(deadline, stop);
  if (!identity && !last_) return identity;
  read_at_ = moment.now;
  refused_ = false;
  if (identity) last_ = *identity;
  return last_ ? *last_ : identity;
}

Result<Identity> Credentials::read(Clock::time_point deadline, const std::stop_token& stop) {
  if (access_.exec) return run_plugin(*access_.exec, deadline, stop);
  Result<std::string> token = content_of(access_.token);
  if (!token) return token.error().in("reading the token");
  Result<std::string> certificate = content_of(access_.certificate);
  if (!certificate) return certificate.error().in("reading the client certificate");
  Result<std::string> key = content_of(access_.key);
  if (!key) return key.error().in("reading the client key");
  // A file that is just being written; what was read before is better than nobody's name.
  if (!access_.token.file.empty() && trim(*token).empty()) {
    return Error{ErrorCode::kUnavailable, access_.token.file + " is empty"};
  }
  Identity identity{.token = std::string(trim(*token)),
                    .certificate = *std::move(certificate),
                    .key = *std::move(key)};
  if (Status checked = check_token(identity.token); !checked) return checked.error();
  return identity;
}

Result<Identity> Credentials::run_plugin(const ExecPlugin& plugin, Clock::time_point deadline,
                                         const std::stop_token& stop) {
  Command command{.words = {plugin.command}};
  command.words.insert(command.words.end(), plugin.arguments.begin(), plugin.arguments.end());
  std::map<std::string, std::string> environment = own_environment();
  for (const auto& [name, value] : plugin.environment) environment[name] = value;
  environment["KUBERNETES_EXEC_INFO"] = exec_info(access_, plugin);
  command.environment = environment_list(environment);
  const std::string doing = "running the credential plugin " + printable(plugin.command);
  const Error late{ErrorCode::kUnavailable, doing + ": it has not ended yet"};
  if (last_run_.is_stuck()) return late;  // one at a time
  const auto patience =
      std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
  auto outcome = caller_.call<Result<Finished>>(
      [command] { return run_program(command, "", kPluginPatience); }, patience, stop);
  last_run_ = outcome.stuck;
  if (!outcome.value) return late;
  const Result<Finished>& finished = *outcome.value;
  if (!finished) {
    Error error = finished.error().in(doing);
    if (!plugin.install_hint.empty()) error.message += " (" + plugin.install_hint + ")";
    return error;
  }
  if (finished->exit_code != 0) {
    const std::optional<int> code = finished->exit_code;
    const std::string how =
        code ? "exit code " + std::to_string(*code) : "killed, or no end after 30 s";
    return Error{ErrorCode::kUnavailable,
                 doing + ": " + how + ": " + printable(trim(finished->err).substr(0, 512))};
  }
  Result<ExecCredential> credential = parse_exec_credential(finished->out);
  if (!credential) return credential.error().in(doing);
  expires_ = credential->expires;
  return credential->identity;
}

Result<std::string> Credentials::authorities() {
  Result<std::string> pem = content_of(access_.ca);
  if (!pem) return pem.error().in("reading the cluster's certificate authority");
  return pem;
}

}  // namespace tranche::kube
