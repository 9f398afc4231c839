// SPDX-License-Identifier: Apache-2.0
#include "testbed/kubelet/plugin_calls.h"

#include <string_view>
#include <utility>

namespace tranche::testbed::standin {

PluginCalls::PluginCalls(Sessions& sessions, Transcript& transcript, Random& random,
                         std::chrono::milliseconds pre_start_patience)
    : sessions_(sessions),
      transcript_(transcript),
      random_(random),
      pre_start_patience_(pre_start_patience) {}

Result<Ids> PluginCalls::preferred(const std::string& resource, const Endpoint& endpoint,
                                   const PreferenceQuestion& question) {
  constexpr std::string_view kFailed = "device plugin GetPreferredAllocation rpc failed with err";
  const auto client = running_client(resource, endpoint);
  if (!client) return client.error().in(kFailed);
  const IdList available = random_.shuffled(question.available);
  const IdList must_include = random_.shuffled(question.must_include);
  const auto number = transcript_.begin({.kind = EventKind::kGetPreferredAllocation,
                                         .resource = resource,
                                         .endpoint = (*client)->endpoint(),
                                         .available = available,
                                         .must_include = must_include,
                                         .size = question.size});
  const Result<IdList> answer = (*client)->preferred(available, must_include, question.size);
  transcript_.finish(number, [&](Event& event) {
    if (answer) event.preferred = *answer;
    if (!answer) event.error = answer.error().message;
  });
  if (!answer) return answer.error().in(kFailed);
  return Ids(answer->begin(), answer->end());
}

Result<std::vector<ContainerResponse>> PluginCalls::allocate(const std::string& resource,
                                                             const Endpoint& endpoint,
                                                             const Ids& ids) {
  const auto client = running_client(resource, endpoint);
  if (!client) return client.error();
  const IdList sent = random_.shuffled(ids);
  const auto number = transcript_.begin({.kind = EventKind::kAllocate,
                                         .resource = resource,
                                         .endpoint = (*client)->endpoint(),
                                         .ids = sent});
  auto responses = (*client)->allocate(sent);
  transcript_.finish(number, [&](Event& event) {
    if (!responses) event.error = responses.error().message;
    if (responses && responses->empty()) event.error = "no container responses";
    if (responses && !responses->empty()) event.response = responses->front();
  });
  return responses;
}

Status PluginCalls::pre_start(const std::string& resource, const Endpoint& endpoint,
                              const Ids& ids) {
  constexpr std::string_view kFailed = "device plugin PreStartContainer rpc failed with err";
  const auto client = running_client(resource, endpoint);
  if (!client) return client.error().in(kFailed);
  const IdList sent = random_.shuffled(ids);
  const auto number = transcript_.begin({.kind = EventKind::kPreStartContainer,
                                         .resource = resource,
                                         .endpoint = (*client)->endpoint(),
                                         .ids = sent});
  const Status called = (*client)->pre_start(sent, pre_start_patience_);
  transcript_.finish(number, [&](Event& event) {
    if (!called) event.error = called.error().message;
  });
  if (!called) return called.error().in(kFailed);
  return Done{};
}

Result<std::shared_ptr<PluginClient>> PluginCalls::running_client(const std::string& resource,
                                                                  const Endpoint& endpoint) const {
  std::shared_ptr<PluginClient> client = sessions_.client(endpoint.client);
  if (endpoint.stopped_at || !client) {
    return Error{ErrorCode::kUnavailable, "endpoint " + resource + " has been stopped"};
  }
  return client;
}

}  // namespace tranche::testbed::standin
