// SPDX-License-Identifier: Apache-2.0
#include "node/api_server/node_reporter.h"

#include <gmock/gmock.h>

#include <thread>

#include "kube/testing/scripted_server.h"

namespace tranche::node {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kForbidden =
    R"({"kind":"Status","code":403,"reason":"Forbidden","message":"cannot patch resource \"nodes\""})";

class NodeReporterTest : public testing::Test {
 protected:
  // Runs the reporter until the server has seen `count` requests.
  std::vector<std::string> run_until(const ScriptedServer& server, std::size_t count) {
    ApiClient client(server.access(), {.user_agent = "t", .calls_a_second = 1000, .burst = 1000});
    std::jthread running([&](const std::stop_token& stop) { reporter_.run(client, stop); });
    while (server.seen().size() < count) std::this_thread::yield();
    running.request_stop();
    running.join();
    std::vector<std::string> lines;
    for (const SeenRequest& request : server.seen()) {
      lines.push_back(request.line.substr(0, request.line.find('?')));
    }
    return lines;
  }

  void node_is_there() {
    node_.publish({.is_known = true, .node = NodeView{.name = "n", .uid = "u"}});
  }

  Latest<OwnNodeState> node_;
  std::string log_lines_;
  Log log_{[this](std::string_view line) { log_lines_ += line; }};
  NodeReporter reporter_{node_, "n", log_};
};

TEST_F(NodeReporterTest, WritesTheObjectBeforeItsStatusAndTheRest) {
  const ScriptedServer server([](const SeenRequest&) { return answer(200, "{}"); });
  node_is_there();
  reporter_.report({.gpu_node = R"({"gpus":[]})",
                    .labels = {{{"a", "b"}}},
                    .condition_type = "GpusHealthy",
                    .condition = {"True", "r", "m"}});
  EXPECT_THAT(run_until(server, 4),
              ElementsAre("PATCH /apis/gpu.tranche.dev/v1alpha1/gpunodes/n",
                          "PATCH /apis/gpu.tranche.dev/v1alpha1/gpunodes/n/status",
                          "PATCH /api/v1/nodes/n", "PATCH /api/v1/nodes/n/status"));
  EXPECT_THAT(server.seen()[1].body, HasSubstr("observedAt"));
}

TEST_F(NodeReporterTest, WritesNothingForANodeThatIsNotKnown) {
  const ScriptedServer server([](const SeenRequest&) { return answer(201, "{}"); });
  reporter_.report({.gpu_node = "{}", .labels = {{{"a", "b"}}}});
  reporter_.note({.pod = {"ns", "p", "uid", ""}, .reason = "GpuUnhealthy", .note = "x"});
  EXPECT_THAT(run_until(server, 1),
              ElementsAre("POST /apis/events.k8s.io/v1/namespaces/ns/events HTTP/1.1"));
}

TEST_F(NodeReporterTest, NamesAMissingRightOnceAndWritesTheRest) {
  const ScriptedServer server([](const SeenRequest& request) {
    const bool is_labels = request.line.find("/api/v1/nodes/n?") != std::string::npos;
    return is_labels ? answer(403, kForbidden) : answer(200, "{}");
  });
  node_is_there();
  reporter_.report({.gpu_node = R"({"gpus":[]})", .labels = {{{"a", "b"}}}});
  EXPECT_THAT(run_until(server, 4),
              Contains("PATCH /apis/gpu.tranche.dev/v1alpha1/gpunodes/n/status"));
  EXPECT_THAT(log_lines_, HasSubstr("what=labels"));
  EXPECT_THAT(log_lines_, HasSubstr("cannot patch resource"));
  const auto first = log_lines_.find("cannot publish");
  EXPECT_EQ(log_lines_.find("cannot publish", first + 1), std::string::npos) << log_lines_;
}

TEST_F(NodeReporterTest, MakesTheObjectAgainThatSomebodyDeleted) {
  bool is_deleted = true;
  const ScriptedServer server([&](const SeenRequest& request) {
    const bool is_status = request.line.find("/status") != std::string::npos;
    if (is_status && std::exchange(is_deleted, false)) return answer(404, "{}");
    return answer(200, "{}");
  });
  node_is_there();
  reporter_.report({.gpu_node = R"({"gpus":[]})"});
  const std::string object = "PATCH /apis/gpu.tranche.dev/v1alpha1/gpunodes/n";
  EXPECT_THAT(run_until(server, 4),
              ElementsAre(object, object + "/status", object, object + "/status"));
}

TEST_F(NodeReporterTest, PutsBackWhatVanished) {
  const ScriptedServer server([](const SeenRequest&) { return answer(200, "{}"); });
  node_is_there();
  reporter_.report({.extended_resources = {{{"a.b/c", 4}}}});
  run_until(server, 1);
  NodeView zeroed{.name = "n", .uid = "u", .capacity = {{"a.b/c", "0"}}};
  node_.publish({.is_known = true, .node = zeroed});
  reporter_.wake();
  EXPECT_THAT(run_until(server, 2),
              ElementsAre("PATCH /api/v1/nodes/n/status", "PATCH /api/v1/nodes/n/status"));
}

TEST_F(NodeReporterTest, RemovesWhatIsSwitchedOff) {
  const ScriptedServer server([](const SeenRequest&) { return answer(200, "{}"); });
  node_is_there();
  reporter_.report({.labels = {{{"a", "b"}}}, .condition_type = "C", .condition = {"True", "r"}});
  run_until(server, 2);
  reporter_.report({.labels = std::map<std::string, std::string>()});
  run_until(server, 4);
  std::vector<std::string> bodies;
  for (const SeenRequest& request : server.seen()) bodies.push_back(request.body);
  EXPECT_THAT(bodies, Contains(HasSubstr(R"("labels":{})")));
  EXPECT_THAT(bodies, Contains(HasSubstr(R"("capacity":{},"conditions":[])")));
}

TEST_F(NodeReporterTest, LeavesLabelsThatAreNotKnownNow) {
  const ScriptedServer server([](const SeenRequest&) { return answer(200, "{}"); });
  node_is_there();
  reporter_.report({.labels = {{{"a", "b"}}}});
  run_until(server, 1);
  reporter_.report({.condition_type = "C", .condition = {"Unknown", "DriverUnavailable"}});
  EXPECT_THAT(run_until(server, 2),
              ElementsAre("PATCH /api/v1/nodes/n", "PATCH /api/v1/nodes/n/status"));
}

// A series that is due while another event cannot be written must not make a busy loop.
TEST(NodeReporterEvents, WaitTogetherWhileTheServerIsAway) {
  const ScriptedServer server([](const SeenRequest& request) {
    return answer(request.body.find("is away") == std::string::npos ? 201 : 503, "{}");
  });
  Latest<OwnNodeState> node;
  node.publish({.is_known = true, .node = NodeView{.name = "n", .uid = "u"}});
  Log log{[](std::string_view) {}};
  // Shorter than the pause after a failure.
  NodeReporter reporter(node, "n", log, std::chrono::milliseconds(200));
  for (int i = 0; i < 3; ++i) reporter.note({.reason = "A", .subject = "x", .note = "repeats"});
  reporter.note({.reason = "B", .subject = "x", .note = "the server is away"});
  ApiClient client(server.access(), {.user_agent = "t", .calls_a_second = 1000, .burst = 1000});
  std::jthread running([&](const std::stop_token& stop) { reporter.run(client, stop); });
  while (server.seen().size() < 4) std::this_thread::yield();
  running.request_stop();
  running.join();
  ASSERT_TRUE(reporter.next_due());
  EXPECT_GT(*reporter.next_due(), NodeReporter::Clock::now());
}

TEST_F(NodeReporterTest, WritesAnEventThatTheServerWasTooBusyForAgain) {
  bool is_busy = true;
  const ScriptedServer server([&](const SeenRequest&) {
    return std::exchange(is_busy, false) ? answer(503, "{}") : answer(201, "{}");
  });
  node_is_there();
  reporter_.note({.is_warning = true, .reason = "GpuUnhealthy", .subject = "GPU-0", .note = "XID"});
  run_until(server, 2);
  const Json body = Json::parse(server.seen().back().body);
  // When it happened, and not when the server took it.
  EXPECT_EQ(body["eventTime"], Json::parse(server.seen().front().body)["eventTime"]);
  EXPECT_EQ(body["reason"], "GpuUnhealthy");
  EXPECT_EQ(body["regarding"]["uid"], "u");
}

TEST_F(NodeReporterTest, KeepsEventsOfDifferentGpusApart) {
  const ScriptedServer server([](const SeenRequest&) { return answer(201, "{}"); });
  node_is_there();
  reporter_.note({.reason = "GpuUnhealthy", .subject = "GPU-0", .note = "a"});
  reporter_.note({.reason = "GpuUnhealthy", .subject = "GPU-1", .note = "a"});
  run_until(server, 2);
  EXPECT_THAT(server.seen()[1].line, HasSubstr("POST"));
}

}  // namespace
}  // namespace tranche::node
