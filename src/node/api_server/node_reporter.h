// SPDX-License-Identifier: Apache-2.0
//
// Writes what the agent wants the API server to have of this node: GpuNode, labels, condition,
// extended resources, events. Decides only when to write (publication.h) and what to retry; a part
// that cannot be written does not hold up the others.
//
// Thread-safe: run() belongs to one thread, everything else may be called from any.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <random>
#include <stop_token>
#include <string>

#include "core/report/node_events.h"
#include "kube/api_client.h"
#include "kube/event_book.h"
#include "node/api_server/node_report.h"
#include "node/api_server/own_node.h"
#include "node/api_server/publication.h"
#include "os/latest.h"
#include "os/log.h"

namespace tranche::node {

class NodeReporter {
 public:
  using Clock = std::chrono::steady_clock;

  // `event_window`: see EventBook.
  NodeReporter(const Latest<OwnNodeState>& node, const std::string& node_name, Log& log,
               std::chrono::milliseconds event_window = EventBook::kWindow);

  void report(NodeReport report);
  // While the API server is away, the last kMostEvents are kept.
  void note(NodeEvent event);
  // The Node or something else to look at has changed.
  void wake();

  void run(ApiClient& client, const std::stop_token& stop);

  // When run() looks again without being woken; empty: never. For the thread of run().
  std::optional<Clock::time_point> next_due();

  static constexpr std::size_t kMostEvents = 256;
  static constexpr std::chrono::minutes kHeartbeat{3};
  // Of the Node's condition. Longer, because every watcher of Nodes gets each write.
  static constexpr std::chrono::minutes kConditionHeartbeat{5};

 private:
  struct TimedEvent {
    NodeEvent event;
    std::string when;  // MicroTime

    bool operator==(const TimedEvent&) const = default;
  };

  void look();
  bool has_node_status() const;
  void write_due(ApiClient& client, const std::stop_token& stop);
  bool write(ApiClient& client, const char* what, Publication& publication, const Request& request,
             const std::stop_token& stop);
  void send_events(ApiClient& client, const std::stop_token& stop);
  bool send_event(ApiClient& client, const Request& request, const std::stop_token& stop);
  EventBook::Moment moment(std::string when);
  void overwritten(const char* what, Publication& publication);
  void wait(const std::stop_token& stop);
  double chance();

  const Latest<OwnNodeState>& node_;
  const std::string name_;
  Log& log_;
  Latest<NodeReport> wanted_;

  // Of the running thread.
  NodeReport report_;
  NodeView view_;
  NodeIdentity identity_;  // without a uid: the Node is not known
  // Once written, a part that is switched off is removed, and not left behind.
  bool had_labels_ = false;
  bool had_node_status_ = false;
  std::uint64_t seen_version_ = 0;
  bool had_problem_ = false;  // with the watch of the Node
  unsigned seen_rewinds_ = 0;
  Publication object_;
  Publication status_;
  Publication labels_;
  Publication node_status_;
  EventBook book_;
  Backoff event_backoff_;
  Clock::time_point events_again_;
  OnChange logged_;
  std::uint64_t tag_ = 0;
  std::minstd_rand dice_;

  std::mutex mutex_;
  std::condition_variable_any changed_;
  // Guarded by mutex_.
  bool is_news_ = false;
  std::deque<TimedEvent> events_;
};

}  // namespace tranche::node
