// SPDX-License-Identifier: Apache-2.0
//
// Against a server with one Lease in it. The real one is in tests/e2e/stories/test_api_client.py.
#include "kube/lease_holder.h"

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "kube/testing/scripted_server.h"

namespace tranche::kube {
namespace {

using std::chrono_literals::operator""h;
using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

// As the API server: a write with an old version is a conflict.
class OneLease {
 public:
  ScriptedAnswer take(const SeenRequest& request) {
    const std::lock_guard lock(mutex_);
    if (is_hanging_) return {.hangs = true};
    if (request.line.starts_with("GET")) {
      return lease_.is_null() ? answer(404, "{}") : answer(200, lease_.dump());
    }
    if (std::exchange(is_failing_, false)) return answer(500, "{}");
    Json sent = Json::parse(request.body);
    const bool is_current = lease_.is_null()
                                ? request.line.starts_with("POST")
                                : resource_version_of(sent) == resource_version_of(lease_);
    if (!is_current) return answer(409, "{}");
    sent["metadata"]["resourceVersion"] = std::to_string(++version_);
    lease_ = sent;
    return answer(200, lease_.dump());
  }
  // The next write fails, and changes nothing.
  void fail_once() {
    const std::lock_guard lock(mutex_);
    is_failing_ = true;
  }
  void change(const std::function<void(Json&)>& change) {
    const std::lock_guard lock(mutex_);
    change(lease_);
    lease_["metadata"]["resourceVersion"] = std::to_string(++version_);
  }
  Json lease() {
    const std::lock_guard lock(mutex_);
    return lease_;
  }
  void hang() {
    const std::lock_guard lock(mutex_);
    is_hanging_ = true;
  }
  LeaseRecord record() {
    const std::lock_guard lock(mutex_);
    return lease_record(lease_);
  }

 private:
  std::mutex mutex_;
  Json lease_;
  int version_ = 0;
  bool is_hanging_ = false;
  bool is_failing_ = false;
};

// A candidate in a thread of its own.
class Candidate {
 public:
  Candidate(const Access& access, const std::string& identity,
            std::chrono::milliseconds deadline = 500ms)
      : client_(access, {.user_agent = identity, .calls_a_second = 1000, .burst = 1000}),
        holder_(client_, {"default", "l"}, identity,
                {.duration = 1s, .renew_deadline = deadline, .retry = 20ms},
                {.changed = [this](bool leads) { set(leads); },
                 .trouble = [](const std::string&) {},
                 .wall = [] { return "t"; },
                 .chance = [] { return 0.5; }}),
        thread_([this](const std::stop_token& stop) { holder_.run(stop); }) {}

  void until(bool leads) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, 30s, [&] { return leads_ == leads; }));
  }
  bool leads() {
    const std::lock_guard lock(mutex_);
    return leads_;
  }
  int changes() {
    const std::lock_guard lock(mutex_);
    return changes_;
  }
  void request_stop() { thread_.request_stop(); }
  void join() { thread_.join(); }
  void end() {
    request_stop();
    join();
  }

 private:
  void set(bool leads) {
    const std::lock_guard lock(mutex_);
    leads_ = leads;
    ++changes_;
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool leads_ = false;
  int changes_ = 0;
  ApiClient client_;
  LeaseHolder holder_;
  std::jthread thread_;
};

TEST(LeaseHolder, GivesItsLeaseUpAtTheEnd) {
  OneLease lease;
  const ScriptedServer server([&](const SeenRequest& request) { return lease.take(request); });
  Candidate a(server.access(), "a");
  a.until(true);
  Candidate b(server.access(), "b");
  a.end();
  EXPECT_FALSE(a.leads());
  b.until(true);
  EXPECT_EQ(lease.record().holder, "b");
  EXPECT_EQ(lease.record().transitions, 1U);
  b.end();
  EXPECT_EQ(lease.record().holder, "");
}

// The write that the stop cuts off may have been done.
TEST(LeaseHolder, GivesItsLeaseUpWhenItIsStoppedInTheMiddleOfAWrite) {
  OneLease lease;
  std::atomic<Candidate*> candidate = nullptr;
  const ScriptedServer server([&](const SeenRequest& request) {
    ScriptedAnswer answer = lease.take(request);
    Candidate* const writer =
        request.line.starts_with("PUT") ? candidate.exchange(nullptr) : nullptr;
    if (writer != nullptr) {
      writer->request_stop();
      answer = {.hangs = true};
    }
    return answer;
  });
  Candidate a(server.access(), "a");
  a.until(true);
  candidate = &a;
  a.join();
  EXPECT_EQ(lease.record().holder, "");
}

TEST(LeaseHolder, KeepsItsLeaseWhenOneWriteFails) {
  OneLease lease;
  const ScriptedServer server([&](const SeenRequest& request) { return lease.take(request); });
  Candidate a(server.access(), "a", 24h);
  a.until(true);
  lease.fail_once();
  const std::string before = lease.record().resource_version;
  while (lease.record().resource_version == before) std::this_thread::yield();
  EXPECT_TRUE(a.leads());
  EXPECT_EQ(a.changes(), 1);
}

// As `kubectl edit` does to force another holder.
TEST(LeaseHolder, LeadsNoLongerAtOnceWhenTheLeaseIsAnothers) {
  OneLease lease;
  const ScriptedServer server([&](const SeenRequest& request) { return lease.take(request); });
  Candidate a(server.access(), "a", 24h);
  a.until(true);
  lease.change([](Json& each) { each["spec"]["holderIdentity"] = "b"; });
  a.until(false);
}

TEST(LeaseHolder, KeepsWhatOthersPutIntoTheLease) {
  OneLease lease;
  const ScriptedServer server([&](const SeenRequest& request) { return lease.take(request); });
  Candidate a(server.access(), "a");
  a.until(true);
  lease.change([](Json& each) { each["metadata"]["labels"]["team"] = "x"; });
  const std::string before = lease.record().resource_version;
  while (lease.record().resource_version == before) std::this_thread::yield();
  EXPECT_EQ(lease.lease()["metadata"]["labels"]["team"], "x");
}

TEST(LeaseHolder, SaysThatItLeadsNoLongerWhenTheServerIsSilent) {
  OneLease lease;
  const ScriptedServer server([&](const SeenRequest& request) { return lease.take(request); });
  Candidate a(server.access(), "a");
  a.until(true);
  lease.hang();
  a.until(false);
}

}  // namespace
}  // namespace tranche::kube
