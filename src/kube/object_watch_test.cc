// SPDX-License-Identifier: Apache-2.0
#include "kube/object_watch.h"

#include <gmock/gmock.h>

#include <thread>

#include "kube/testing/scripted_server.h"

namespace tranche::kube {
namespace {

using std::chrono_literals::operator""ms;

std::string chunk(const std::string& text) {
  char size[20];
  std::snprintf(size, sizeof size, "%zx\r\n", text.size());
  return size + text + "\r\n";
}

const std::string kHead = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
const std::string kEnd = "0\r\n\r\n";

std::string line(const std::string& type, const std::string& name, const std::string& version) {
  return R"({"type":")" + type + R"(","object":{"metadata":{"name":")" + name +
         R"(","resourceVersion":")" + version + "\"}}}\n";
}
std::string initial_end(const std::string& version) {
  return R"({"type":"BOOKMARK","object":{"metadata":{"resourceVersion":")" + version +
         R"(","annotations":{"k8s.io/initial-events-end":"true"}}}})"
         "\n";
}

bool has(const SeenRequest& request, const std::string& text) {
  return request.line.find(text) != std::string::npos;
}

// Runs a watch against a script until its history is `wanted` or something else came.
std::string history_of(const ScriptedServer& server, const std::string& wanted,
                       const std::string& only_name = "") {
  ApiClient client(server.access(), {.user_agent = "t", .calls_a_second = 1000, .burst = 1000});
  std::stop_source stop;
  std::string history;
  ObjectWatch watch(client,
                    {.path = "/api/v1/nodes",
                     .longest_line = 1000,
                     .backoff = {.first = 1ms, .longest = 5ms},
                     .only_name = only_name},
                    {.changed =
                         [&](const ObjectChanges& changes, bool is_complete) {
                           for (const ObjectChange& each : changes) {
                             history += (each.object ? "+" : "-") + each.key + " ";
                           }
                           if (is_complete && history.find('|') == std::string::npos) {
                             history += "| ";
                           }
                           if (history == wanted || !wanted.starts_with(history)) {
                             stop.request_stop();
                           }
                         },
                     .chance = [] { return 0.5; }});
  watch.run(stop.get_token());
  return history;
}

TEST(ObjectWatch, TakesInitialEventsAndGoesOnFromThem) {
  const ScriptedServer server([](const SeenRequest& request) {
    if (has(request, "sendInitialEvents=true")) {
      return ScriptedAnswer{.bytes = kHead + chunk(line("ADDED", "a", "1")) +
                                     chunk(initial_end("5")) + kEnd};
    }
    EXPECT_TRUE(has(request, "resourceVersion=5")) << request.line;
    return ScriptedAnswer{.bytes = kHead + chunk(line("ADDED", "b", "6"))};
  });
  EXPECT_EQ(history_of(server, "+a | +b "), "+a | +b ");
}

TEST(ObjectWatch, ListsInPagesWhereTheServerHasNoInitialEvents) {
  const ScriptedServer server([](const SeenRequest& request) {
    if (has(request, "sendInitialEvents")) return answer(422, "{}");
    if (has(request, "continue=next")) {
      return answer(200,
                    R"({"metadata":{"resourceVersion":"9"},"items":[{"metadata":{"name":"b"}}]})");
    }
    if (has(request, "limit=500")) {
      return answer(200, R"({"metadata":{"continue":"next"},"items":[{"metadata":{"name":"a"}}]})");
    }
    EXPECT_TRUE(has(request, "resourceVersion=9")) << request.line;
    return ScriptedAnswer{.bytes = kHead + chunk(line("DELETED", "a", "10"))};
  });
  EXPECT_EQ(history_of(server, "+a +b | -a "), "+a +b | -a ");
}

TEST(ObjectWatch, KeepsOnlyTheObjectThatIsAskedFor) {
  const ScriptedServer server([](const SeenRequest& request) {
    if (has(request, "sendInitialEvents=true")) {
      return ScriptedAnswer{.bytes = kHead + chunk(line("ADDED", "b", "1")) +
                                     chunk(line("ADDED", "a", "2")) + chunk(initial_end("5")) +
                                     chunk(line("ADDED", "c", "6")) + kEnd};
    }
    EXPECT_TRUE(has(request, "resourceVersion=6")) << request.line;
    return ScriptedAnswer{.bytes = kHead + chunk(line("DELETED", "a", "7"))};
  });
  EXPECT_EQ(history_of(server, "+a | -a ", "a"), "+a | -a ");
}

TEST(ObjectWatch, JoinsALineThatIsCutIntoChunks) {
  const std::string whole = line("ADDED", "a", "1");
  const ScriptedServer server([&](const SeenRequest&) {
    return ScriptedAnswer{.bytes = kHead + chunk(whole.substr(0, 7)) + chunk(whole.substr(7)) +
                                   chunk(initial_end("5"))};
  });
  EXPECT_EQ(history_of(server, "+a | "), "+a | ");
}

TEST(ObjectWatch, GoesOnFromTheLastVersionWhenTheServerDiesInTheMiddleOfALine) {
  const ScriptedServer server([&](const SeenRequest& request) {
    if (has(request, "sendInitialEvents=true")) {
      return ScriptedAnswer{.bytes = kHead + chunk(initial_end("5")) +
                                     chunk(line("ADDED", "a", "6")) +
                                     chunk(R"({"type":"ADDED","obj)"),
                            .closes = true};
    }
    EXPECT_TRUE(has(request, "resourceVersion=6")) << request.line;
    return ScriptedAnswer{.bytes = kHead + chunk(line("ADDED", "b", "7"))};
  });
  EXPECT_EQ(history_of(server, "| +a +b "), "| +a +b ");
}

TEST(ObjectWatch, ListsAgainWhenItsVersionHasExpiredAndReportsWhatWasDeleted) {
  std::atomic<int> lists = 0;
  const ScriptedServer server([&](const SeenRequest& request) {
    if (has(request, "sendInitialEvents=true")) {
      const std::string name = ++lists == 1 ? "a" : "b";
      return ScriptedAnswer{.bytes = kHead + chunk(line("ADDED", name, "1")) +
                                     chunk(initial_end("5")) + kEnd};
    }
    return ScriptedAnswer{.bytes = kHead +
                                   chunk(R"({"type":"ERROR","object":{"kind":"Status","code":410}})"
                                         "\n") +
                                   kEnd};
  });
  EXPECT_EQ(history_of(server, "+a | +b -a "), "+a | +b -a ");
}

TEST(ObjectWatch, ListsAgainWhenTheAnswerItselfIs410) {
  std::atomic<int> lists = 0;
  const ScriptedServer server([&](const SeenRequest& request) {
    if (!has(request, "sendInitialEvents=true")) return answer(410, "{}");
    const std::string name = ++lists == 1 ? "a" : "b";
    return ScriptedAnswer{.bytes = kHead + chunk(line("ADDED", name, "1")) +
                                   chunk(initial_end("5")) + kEnd};
  });
  EXPECT_EQ(history_of(server, "+a | +b -a "), "+a | +b -a ");
}

// Its first watch begins at version 500 and fails; then the server has lower versions.
std::string history_of_a_restored_cluster(bool lists_after_failure) {
  std::atomic<int> lists = 0;
  const ScriptedServer server([&](const SeenRequest& request) {
    if (!has(request, "sendInitialEvents=true")) return answer(503, "{}");
    return ScriptedAnswer{.bytes = kHead + chunk(line("ADDED", "a", "1")) +
                                   chunk(initial_end(++lists == 1 ? "500" : "99")) + kEnd};
  });
  ApiClient client(server.access(), {.user_agent = "t", .calls_a_second = 1000, .burst = 1000});
  std::stop_source stop;
  std::string history;
  int failures = 0;
  ObjectWatch watch(client,
                    {.path = "/api/v1/nodes",
                     .backoff = {.first = 1ms, .longest = 5ms},
                     .lists_after_failure = lists_after_failure},
                    {.changed = [&](const ObjectChanges&, bool) { history += "+ "; },
                     .trouble =
                         [&](const std::string& problem) {
                           if (!problem.empty()) ++failures;
                           if (failures > 1) stop.request_stop();
                         },
                     .rewound = [&] { history += "rewound "; },
                     .chance =
                         [&] {
                           if (lists == 1 && server.seen().size() > 20) stop.request_stop();
                           return 0.5;
                         }});
  watch.run(stop.get_token());
  return history;
}

TEST(ObjectWatch, NoticesThatTheClusterWasRestoredFromABackup) {
  EXPECT_EQ(history_of_a_restored_cluster(true), "+ + rewound ");
  EXPECT_EQ(history_of_a_restored_cluster(false), "+ + ");
}

TEST(ObjectWatch, DoesNotForgetWhatIsThereWhenAListIsCutOff) {
  std::atomic<int> lists = 0;
  const ScriptedServer server([&](const SeenRequest& request) {
    if (!has(request, "sendInitialEvents=true")) return answer(410, "{}");
    switch (++lists) {
      case 1:
        return ScriptedAnswer{.bytes = kHead + chunk(line("ADDED", "a", "1")) +
                                       chunk(initial_end("5")) + kEnd};
      case 2: return ScriptedAnswer{.bytes = kHead + kEnd};  // ends before it has begun
      default:
        return ScriptedAnswer{.bytes = kHead + chunk(line("ADDED", "a", "1")) +
                                       chunk(line("ADDED", "b", "1")) + chunk(initial_end("6"))};
    }
  });
  EXPECT_EQ(history_of(server, "+a | +b "), "+a | +b ");
}

TEST(ObjectWatch, TriesAgainAfterALineThatIsTooLongOrNoEvent) {
  std::atomic<int> lists = 0;
  const ScriptedServer server([&](const SeenRequest&) {
    switch (++lists) {
      case 1: return ScriptedAnswer{.bytes = kHead + chunk(std::string(2000, 'x'))};
      case 2: return ScriptedAnswer{.bytes = kHead + chunk("{}\n")};
      default: return ScriptedAnswer{.bytes = kHead + chunk(initial_end("6"))};
    }
  });
  EXPECT_EQ(history_of(server, "| "), "| ");
}

// Going on from the same version would meet the same event for ever, and what is behind it would
// never be reported.
TEST(ObjectWatch, ListsAgainAfterAnEventThatItDoesNotUnderstand) {
  for (const std::string bad : {R"({"type":"RENAMED","object":{}})"
                                "\n",
                                R"({"type":"ERROR","object":{"kind":"Status","code":500}})"
                                "\n"}) {
    std::atomic<int> lists = 0;
    const ScriptedServer server([&](const SeenRequest& request) {
      if (!has(request, "sendInitialEvents=true")) {
        return ScriptedAnswer{.bytes = kHead + chunk(bad)};
      }
      if (++lists == 1) {
        return ScriptedAnswer{.bytes = kHead + chunk(line("ADDED", "a", "1")) +
                                       chunk(initial_end("5")) + kEnd};
      }
      return ScriptedAnswer{.bytes = kHead + chunk(initial_end("9"))};
    });
    EXPECT_EQ(history_of(server, "+a | -a "), "+a | -a ") << bad;
  }
}

TEST(ObjectWatch, ListsAgainWhenTheServerDoesNotTakeItsVersion) {
  std::atomic<int> lists = 0;
  const ScriptedServer server([&](const SeenRequest& request) {
    if (!has(request, "sendInitialEvents=true")) return answer(400, "{}");
    const std::string first = ++lists == 1 ? chunk(line("ADDED", "a", "1")) : "";
    return ScriptedAnswer{.bytes = kHead + first + chunk(initial_end("5")) + kEnd};
  });
  EXPECT_EQ(history_of(server, "+a | -a "), "+a | -a ");
}

// A server that does not know the parameter sends the events and no end.
TEST(ObjectWatch, ListsInPagesWhereTheInitialEventsHaveNoEnd) {
  const ScriptedServer server([&](const SeenRequest& request) {
    if (has(request, "sendInitialEvents=true")) {
      return ScriptedAnswer{.bytes = kHead + chunk(line("ADDED", "a", "1")) + kEnd};
    }
    return answer(200, R"({"metadata":{"resourceVersion":"5"},"items":[7]})");
  });
  EXPECT_EQ(history_of(server, "+a -a | "), "+a -a | ");
}

}  // namespace
}  // namespace tranche::kube
