// SPDX-License-Identifier: Apache-2.0
#include "integration/node_api.h"

#include <fmt/core.h>

#include <utility>

#include <nlohmann/json.hpp>

#include "base/text.h"

namespace tranche::tests {
namespace {

using nlohmann::json;

// A watch that gives these events and ends; the client goes on from the last version.
kube::ScriptedAnswer watch_of(const std::vector<std::string>& events) {
  std::string bytes = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (const std::string& line : events) {
    bytes += fmt::format("{:x}\r\n{}\n\r\n", line.size() + 1, line);
  }
  return {.bytes = bytes + "0\r\n\r\n"};
}

int version_in(const std::string& line) {
  const std::string name = "resourceVersion=";
  const std::size_t at = line.find(name);
  if (at == std::string::npos) return 0;
  const std::string rest = line.substr(at + name.size());
  return base::parse_number<int>(rest.substr(0, rest.find_first_of("& "))).value_or(0);
}

}  // namespace

NodeApi::NodeApi(std::string node) : node_(std::move(node)) {
  server_.emplace([this](const kube::SeenRequest& request) { return answer(request); });
}

NodeApi::~NodeApi() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  server_.reset();
}

void NodeApi::set_labels(std::map<std::string, std::string> labels) {
  {
    const std::lock_guard lock(mutex_);
    labels_ = std::move(labels);
    ++version_;
  }
  changed_.notify_all();
}

std::string NodeApi::event(const std::string& type) const {
  const json metadata{{"name", node_},
                      {"uid", "uid-of-" + node_},
                      {"labels", *labels_},
                      {"resourceVersion", std::to_string(version_)}};
  return json{{"type", type}, {"object", {{"metadata", metadata}}}}.dump();
}

kube::ScriptedAnswer NodeApi::answer(const kube::SeenRequest& request) {
  if (!request.line.starts_with("GET ")) return kube::answer(200, "{}");
  const int seen = version_in(request.line);
  std::unique_lock lock(mutex_);
  if (seen == 0) {
    std::vector<std::string> events;
    if (labels_) events.push_back(event("ADDED"));
    const json annotations{{"k8s.io/initial-events-end", "true"}};
    const json metadata{{"resourceVersion", std::to_string(version_)},
                        {"annotations", annotations}};
    events.push_back(json{{"type", "BOOKMARK"}, {"object", {{"metadata", metadata}}}}.dump());
    return watch_of(events);
  }
  changed_.wait(lock, [&] { return ends_ || version_ > seen; });
  if (ends_) return {.closes = true};
  return watch_of({event("MODIFIED")});
}

std::string NodeApi::kubeconfig() const {
  const kube::Access access = server_->access();
  // Base64 is what the file would need for the authority; certificates are tested elsewhere.
  const std::string server = fmt::format("https://{}:{}", access.host, access.port);
  return json{
      {"apiVersion", "v1"},
      {"kind", "Config"},
      {"current-context", "c"},
      {"contexts", {{{"name", "c"}, {"context", {{"cluster", "c"}, {"user", "u"}}}}}},
      {"clusters",
       {{{"name", "c"}, {"cluster", {{"server", server}, {"insecure-skip-tls-verify", true}}}}}},
      {"users", {{{"name", "u"}, {"user", {{"token", "t"}}}}}}}
      .dump();
}

}  // namespace tranche::tests
