// SPDX-License-Identifier: Apache-2.0
#include "bench/api_server.h"

#include <fmt/core.h>

#include <vector>

#include <nlohmann/json.hpp>

#include "base/path.h"
#include "base/text.h"
#include "os/files.h"

namespace tranche::bench {
namespace {

using nlohmann::json;

constexpr const char* kNodes = "/api/v1/nodes";
constexpr const char* kWatchHead = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

std::string chunk(const std::string& type, const json& object) {
  const std::string line = json{{"type", type}, {"object", object}}.dump() + "\n";
  return fmt::format("{:x}\r\n{}\r\n", line.size(), line);
}

// The end of the initial events.
json bookmark(int version) {
  return {{"metadata",
           {{"resourceVersion", std::to_string(version)},
            {"annotations", {{"k8s.io/initial-events-end", "true"}}}}}};
}

// That the watch goes on from; empty: it begins with what is there.
std::optional<int> version_in(const std::string& target) {
  const std::string name = "resourceVersion=";
  const std::size_t at = target.find(name);
  if (at == std::string::npos) return std::nullopt;
  const std::string rest = target.substr(at + name.size());
  return parse_number<int>(rest.substr(0, rest.find('&')));
}

}  // namespace

ApiServer::ApiServer(const std::string& node) : objects_(node) {
  server_.emplace([this](const kube::SeenRequest& request) { return answer(request); });
}

ApiServer::~ApiServer() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  server_.reset();
}

kube::ScriptedAnswer ApiServer::answer(const kube::SeenRequest& request) {
  const std::vector<std::string> words = split(request.line, ' ');
  if (words.size() != 3) return kube::answer(400, "{}");
  const std::string path = words[1].substr(0, words[1].find('?'));
  if (words[0] == "GET" && path == kNodes) return watch(words[1]);
  const json body = json::parse(request.body, nullptr, /*allow_exceptions=*/false);
  const std::lock_guard lock(mutex_);
  const std::optional<json> object =
      body.is_object() ? objects_.write(words[0], path, body) : std::nullopt;
  changed_.notify_all();
  if (!object) {
    unknown_ = request.line;
    return kube::answer(404, "{}");
  }
  ++writes_.count;
  writes_.bytes += request.body.size();
  return kube::answer(words[0] == "POST" ? 201 : 200, object->dump());
}

kube::ScriptedAnswer ApiServer::watch(const std::string& target) {
  const std::lock_guard lock(mutex_);
  const std::optional<int> version = version_in(target);
  std::string bytes = kWatchHead;
  if (!version) {
    bytes += chunk("ADDED", objects_.node()) + chunk("BOOKMARK", bookmark(objects_.node_version()));
  }
  return {.bytes = std::move(bytes),
          .more = [this, seen = version.value_or(
                             objects_.node_version())]() mutable { return next_event(seen); },
          .closes = true};
}

// Empty: the server ends.
std::string ApiServer::next_event(int& seen) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return ends_ || objects_.node_version() > seen; });
  if (ends_) return {};
  seen = objects_.node_version();
  return chunk("MODIFIED", objects_.node());
}

Result<std::string> ApiServer::write_kubeconfig(const std::string& folder) const {
  const kube::Access access = server_->access();
  const std::string authority = below(folder, "ca.pem");
  if (Status written = write_atomically(authority, access.ca.text); !written) {
    return written.error();
  }
  const json cluster{{"server", fmt::format("https://{}:{}", access.host, access.port)},
                     {"certificate-authority", authority}};
  const json config{
      {"apiVersion", "v1"},
      {"kind", "Config"},
      {"current-context", "bench"},
      {"contexts",
       json::array({{{"name", "bench"}, {"context", {{"cluster", "c"}, {"user", "u"}}}}})},
      {"clusters", json::array({{{"name", "c"}, {"cluster", cluster}}})},
      {"users", json::array({{{"name", "u"}, {"user", {{"token", "t"}}}}})}};
  const std::string path = below(folder, "kubeconfig");
  if (Status written = write_atomically(path, config.dump()); !written) return written.error();
  return path;
}

Status ApiServer::wait_until_reported(std::size_t holders, std::chrono::milliseconds patience) {
  std::unique_lock lock(mutex_);
  const auto is_reported = [&] {
    return objects_.holders() >= holders && objects_.is_node_written();
  };
  changed_.wait_for(lock, patience, [&] { return is_reported() || !unknown_.empty(); });
  if (!unknown_.empty()) {
    return Error{ErrorCode::kInternal, "the API server's stand-in does not know " + unknown_};
  }
  if (is_reported()) return Done{};
  return Error{
      ErrorCode::kUnavailable,
      fmt::format("the API server has {} of {} holders, and {} labels or condition",
                  objects_.holders(), holders, objects_.is_node_written() ? "the" : "not the")};
}

void ApiServer::refresh_node() {
  {
    const std::lock_guard lock(mutex_);
    objects_.refresh_node();
  }
  changed_.notify_all();
}

ApiWrites ApiServer::writes() const {
  const std::lock_guard lock(mutex_);
  return writes_;
}

}  // namespace tranche::bench
