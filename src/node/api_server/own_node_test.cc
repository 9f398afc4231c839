// SPDX-License-Identifier: Apache-2.0
#include "node/api_server/own_node.h"

#include <gmock/gmock.h>

#include <thread>
#include <vector>

#include "kube/testing/scripted_server.h"

namespace tranche::node {
namespace {

using std::chrono_literals::operator""s;
using testing::HasSubstr;

// A watch that answers `lines` and then stays open.
ScriptedAnswer open_watch(const std::vector<std::string>& lines) {
  std::string bytes = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (const std::string& line : lines) {
    char size[20];
    std::snprintf(size, sizeof size, "%zx\r\n", line.size() + 1);
    bytes += size + line + "\n\r\n";
  }
  return {.bytes = bytes, .hangs = true};
}

const std::string kEnd = R"({"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"9",)"
                         R"("annotations":{"k8s.io/initial-events-end":"true"}}}})";

// Watches node "a" until its state is as `wanted` says.
OwnNodeState watch_until(const ScriptedServer& server, Log& log,
                         const std::function<bool(const OwnNodeState&)>& wanted) {
  OwnNode own("a", [] {}, log);
  ApiClient client(server.access(), {.user_agent = "t", .calls_a_second = 1000, .burst = 1000});
  const std::jthread watching([&](const std::stop_token& stop) { own.run(client, stop); });
  std::uint64_t seen = 0;
  for (int round = 0; round < 100; ++round) {
    const auto state = own.state().wait_newer(seen, 1s);
    seen = state.version;
    if (wanted(*state.value)) return *state.value;
  }
  return *own.state().get().value;
}

TEST(OwnNode, WatchesTheOneNode) {
  const ScriptedServer server([](const SeenRequest&) {
    return open_watch(
        {R"({"type":"ADDED","object":{"metadata":{"name":"a","uid":"u","labels":{"k":"v"},)"
         R"("resourceVersion":"8"}}})",
         kEnd});
  });
  Log log([](std::string_view) {});
  const OwnNodeState state =
      watch_until(server, log, [](const OwnNodeState& now) { return now.node.has_value(); });
  ASSERT_TRUE(state.node);
  EXPECT_EQ(state.node->labels.at("k"), "v");
  EXPECT_THAT(server.seen().front().line, HasSubstr("fieldSelector=metadata.name%3Da"));
}

TEST(OwnNode, IsKnownNotToExist) {
  const ScriptedServer server([](const SeenRequest&) { return open_watch({kEnd}); });
  Log log([](std::string_view) {});
  const OwnNodeState state =
      watch_until(server, log, [](const OwnNodeState& now) { return now.is_known; });
  EXPECT_TRUE(state.is_known);
  EXPECT_FALSE(state.node);
}

TEST(OwnNode, NamesTheRightThatIsMissingOnce) {
  const ScriptedServer server([](const SeenRequest&) {
    return answer(403, R"({"kind":"Status","code":403,"reason":"Forbidden",)"
                       R"("message":"nodes is forbidden: cannot list resource \"nodes\""})");
  });
  std::string lines;
  Log log([&](std::string_view line) { lines += line; });
  const OwnNodeState state =
      watch_until(server, log, [&](const OwnNodeState&) { return server.seen().size() >= 2; });
  EXPECT_FALSE(state.is_known);
  EXPECT_THAT(state.problem, HasSubstr("cannot list resource"));
  const auto first = lines.find("cannot watch this node");
  ASSERT_NE(first, std::string::npos);
  EXPECT_EQ(lines.find("cannot watch this node", first + 1), std::string::npos) << lines;
}

}  // namespace
}  // namespace tranche::node
