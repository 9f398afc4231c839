// SPDX-License-Identifier: Apache-2.0
//
// What a client does with servers that no real API server is on request: silent, refusing, closing
// in the middle. What a real one does is in tests/e2e/stories/test_api_client.py.
#include "kube/api_client.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "kube/testing/scripted_server.h"
#include "os/files.h"
#include "os/testing/temp_dir.h"
#include "os/unique_fd.h"

namespace tranche::kube {
namespace {

using std::chrono_literals::operator""h;
using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;
using testing::HasSubstr;

constexpr auto kPatience = 30s;
const Request kGetNode{.target = "/api/v1/nodes/a"};

ApiClient client_of(const Access& access) {
  return {access, {.user_agent = "tranche-test", .calls_a_second = 1000, .burst = 1000}};
}

std::string body_of(const Result<Response>& response) {
  return response ? response->body : response.error().message;
}

TEST(ApiClient, KeepsItsConnection) {
  const ScriptedServer server([](const SeenRequest&) { return answer(200, "{}"); });
  ApiClient client = client_of(server.access());
  for (int i = 0; i < 3; ++i) EXPECT_EQ(body_of(client.send(kGetNode, kPatience, {})), "{}");
  for (const SeenRequest& each : server.seen()) {
    EXPECT_EQ(each.connection, 1);
    EXPECT_EQ(each.header("user-agent"), "tranche-test");
  }
}

// The server may close an idle connection at the moment of our next call.
TEST(ApiClient, RepeatsAGetOnceThatAKeptConnectionDidNotAnswer) {
  std::atomic<int> calls = 0;
  const ScriptedServer server([&](const SeenRequest& request) {
    if (++calls == 2 && request.connection == 1) return ScriptedAnswer{.closes = true};
    return answer(200, "{}");
  });
  ApiClient client = client_of(server.access());
  EXPECT_EQ(body_of(client.send(kGetNode, kPatience, {})), "{}");
  EXPECT_EQ(body_of(client.send(kGetNode, kPatience, {})), "{}");
  EXPECT_EQ(server.seen().size(), 3U);
}

TEST(ApiClient, OpensAnotherConnectionWhenTheServerClosedAnIdleOne) {
  const ScriptedServer server([](const SeenRequest&) {
    ScriptedAnswer each = answer(200, "{}");
    each.closes = true;
    return each;
  });
  ApiClient client = client_of(server.access());
  // Not repeated by the client itself: a POST that was sent twice makes two objects.
  const Request post{.verb = Verb::kPost, .target = "/x", .content_type = kJson, .body = "{}"};
  for (std::size_t i = 1; i <= 3; ++i) {
    EXPECT_EQ(body_of(client.send(post, kPatience, {})), "{}");
    server.until_closed(i);
  }
  EXPECT_EQ(server.seen().size(), 3U);
}

TEST(ApiClient, GivesUpASilentServerAtTheDeadline) {
  const ScriptedServer server([](const SeenRequest&) { return ScriptedAnswer{.hangs = true}; });
  ApiClient client = client_of(server.access());
  EXPECT_FALSE(client.send(kGetNode, 50ms, {}));
}

TEST(ApiClient, EndsACallWhenItIsAskedToStop) {
  std::stop_source stop;
  const ScriptedServer server([&](const SeenRequest&) {
    stop.request_stop();
    return ScriptedAnswer{.hangs = true};
  });
  ApiClient client = client_of(server.access());
  EXPECT_FALSE(client.send(kGetNode, 24h, stop.get_token()));
}

TEST(ApiClient, TrustsOnlyTheAuthorityThatItWasGiven) {
  const ScriptedServer server([](const SeenRequest&) { return answer(200, "{}"); });
  Access access = server.access();
  access.ca.text = Authority().pem();
  EXPECT_THAT(client_of(access).send(kGetNode, kPatience, {}).error().message,
              HasSubstr("the server's certificate"));
  access.ca.text = "no certificate";
  EXPECT_THAT(client_of(access).send(kGetNode, kPatience, {}).error().message,
              HasSubstr("not understood"));
}

TEST(ApiClient, ChecksThatTheCertificateIsForTheAddress) {
  const ScriptedServer server([](const SeenRequest&) { return answer(200, "{}"); },
                              "IP:10.0.0.9,DNS:kubernetes");
  EXPECT_FALSE(client_of(server.access()).send(kGetNode, kPatience, {}));
  Access named = server.access();
  named.server_name = "kubernetes";
  EXPECT_EQ(body_of(client_of(named).send(kGetNode, kPatience, {})), "{}");
}

TEST(ApiClient, ReadsTheTokenAgainWhenItIsRefused) {
  const TempDir dir;
  ASSERT_TRUE(write_atomically(dir.path("token"), "old\n"));
  const ScriptedServer server([&](const SeenRequest& request) {
    const bool is_good = request.header("authorization") == "Bearer new";
    return is_good ? answer(200, "{}") : answer(401, "{}");
  });
  Access access = server.access();
  access.token.file = dir.path("token");
  ApiClient client = client_of(access);
  EXPECT_EQ(client.send(kGetNode, kPatience, {})->status, 401U);
  ASSERT_TRUE(write_atomically(dir.path("token"), "new\n"));
  EXPECT_EQ(client.send(kGetNode, kPatience, {})->status, 200U) << "within the minute";
}

TEST(ApiClient, KeepsItsTokenWhileTheFileIsBeingWritten) {
  const TempDir dir;
  ASSERT_TRUE(write_atomically(dir.path("token"), "good"));
  std::atomic<int> calls = 0;
  const ScriptedServer server([&](const SeenRequest& request) {
    EXPECT_EQ(request.header("authorization"), "Bearer good");
    return answer(++calls == 1 ? 401 : 200, "{}");
  });
  Access access = server.access();
  access.token.file = dir.path("token");
  ApiClient client = client_of(access);
  EXPECT_EQ(client.send(kGetNode, kPatience, {})->status, 200U);
  calls = 0;
  ASSERT_TRUE(write_atomically(dir.path("token"), ""));
  EXPECT_EQ(client.send(kGetNode, kPatience, {})->status, 200U);
}

TEST(ApiClient, AsksForNoPassphrase) {
  const ScriptedServer server([](const SeenRequest&) { return answer(200, "{}"); });
  Access access = server.access();
  access.certificate.text = Authority().sign("a", "").certificate;
  access.key.text = "-----BEGIN ENCRYPTED PRIVATE KEY-----\n";
  EXPECT_THAT(client_of(access).send(kGetNode, kPatience, {}).error().message,
              HasSubstr("encrypted"));
}

TEST(ApiClient, DoesNotWaitForAPluginPastItsDeadline) {
  const TempDir dir;
  // The plugin waits for a line, which comes at the end of the test.
  ASSERT_EQ(::mkfifo(dir.path("line").c_str(), 0600), 0);
  const UniqueFd line(::open(dir.path("line").c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_TRUE(
      write_atomically(dir.path("plugin"), "#!/bin/sh\nread x < " + dir.path("line") + "\n", 0755));
  const ScriptedServer server([](const SeenRequest&) { return answer(200, "{}"); });
  Access access = server.access();
  access.exec =
      ExecPlugin{.api_version = "client.authentication.k8s.io/v1", .command = dir.path("plugin")};
  ApiClient client = client_of(access);
  EXPECT_THAT(client.send(kGetNode, 50ms, {}).error().message, HasSubstr("not ended yet"));
  EXPECT_THAT(client.send(kGetNode, 24h, {}).error().message, HasSubstr("not ended yet"));
  EXPECT_EQ(::write(line.get(), "\n", 1), 1);
}

TEST(ApiClient, SendsNoTokenThatWouldEndItsHeader) {
  const TempDir dir;
  ASSERT_TRUE(write_atomically(dir.path("token"), "a\r\nX-Evil: b"));
  const ScriptedServer server([](const SeenRequest&) { return answer(200, "{}"); });
  Access access = server.access();
  access.token.file = dir.path("token");
  EXPECT_FALSE(client_of(access).send(kGetNode, kPatience, {}));
  EXPECT_TRUE(server.seen().empty());
}

TEST(ApiClient, WaitsAsLongAsABusyServerAsksAndNotPastItsDeadline) {
  std::atomic<int> calls = 0;
  const ScriptedServer server([&](const SeenRequest&) {
    if (++calls < 3) return answer(429, "{}", "Retry-After: 0\r\n");
    return calls == 3 ? answer(200, "{}") : answer(503, "{}", "Retry-After: 3000\r\n");
  });
  ApiClient client = client_of(server.access());
  EXPECT_EQ(client.send(kGetNode, kPatience, {})->status, 200U);
  EXPECT_EQ(client.send(kGetNode, kPatience, {})->status, 503U);
}

TEST(ApiClient, RefusesAnAnswerThatIsTooLarge) {
  const ScriptedServer server(
      [](const SeenRequest&) { return answer(200, std::string(300'000, 'x')); });
  ApiClient client(server.access(), {.user_agent = "t", .most_bytes = 200'000});
  EXPECT_THAT(client.send(kGetNode, kPatience, {}).error().message, HasSubstr("200000 bytes"));
}

TEST(ApiClient, SaysWhichCallACutOffAnswerBelongsTo) {
  const ScriptedServer server([](const SeenRequest&) {
    return ScriptedAnswer{.bytes = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf",
                          .closes = true};
  });
  EXPECT_THAT(client_of(server.access()).send(kGetNode, kPatience, {}).error().message,
              AllOf(HasSubstr("GET /api/v1/nodes/a"), HasSubstr("closed the connection")));
}

TEST(ApiClient, UsesTheTokenOfAnExecPlugin) {
  const TempDir dir;
  ASSERT_TRUE(write_atomically(dir.path("plugin"),
                               "#!/bin/sh\necho '{\"kind\":\"ExecCredential\",\"status\":"
                               "{\"token\":\"'\"$REGION\"'\"}}'\n",
                               0755));
  const ScriptedServer server(
      [](const SeenRequest& request) { return answer(200, request.header("authorization")); });
  Access access = server.access();
  access.exec = ExecPlugin{.api_version = "client.authentication.k8s.io/v1",
                           .command = dir.path("plugin"),
                           .environment = {{"REGION", "north"}}};
  EXPECT_EQ(body_of(client_of(access).send(kGetNode, kPatience, {})), "Bearer north");
  access.exec->command = dir.path("none");
  EXPECT_FALSE(client_of(access).send(kGetNode, kPatience, {}));
}

}  // namespace
}  // namespace tranche::kube
