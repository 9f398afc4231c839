// SPDX-License-Identifier: Apache-2.0
#include "node/api_server/node_reporter.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "core/report/names.h"
#include "formats/gpu_node_json.h"
#include "kube/watch_event.h"

namespace tranche::node {
namespace {

constexpr std::chrono::milliseconds kPatience{10'000};
// For the Node, before its first event.
constexpr std::chrono::seconds kLookAgain{1};
constexpr const char* kGpuNode = "GpuNode";

std::string wall_time() { return micro_time(std::chrono::system_clock::now()); }

// Kubernetes' Time has no fractions.
std::string seconds_of(const std::string& micro) { return micro.substr(0, 19) + "Z"; }

using NodeLabelMap = std::map<std::string, std::string>;

// Whether the same request can succeed later.
bool is_passing(const Result<Response>& response) {
  return !response || response->status == 429 || response->status >= 500 || response->status == 401;
}

std::string problem_of(const char* what, const Request& request, const Result<Response>& response) {
  if (!response) return response.error().message;
  const std::string problem = error_of(request, *response).message;
  // Of a missing object the answer is a Status that names it.
  const bool is_kind_missing = std::string_view(what) == kGpuNode && response->status == 404 &&
                               !response->body.starts_with('{');
  return is_kind_missing ? problem + "; is the CRD gpunodes.gpu.tranche.dev installed?" : problem;
}

}  // namespace

NodeReporter::NodeReporter(const Latest<OwnNodeState>& node, const std::string& node_name, Log& log,
                           std::chrono::milliseconds event_window)
    : node_(node),
      name_(node_name),
      log_(log),
      status_({.heartbeat = kHeartbeat}),
      node_status_({.heartbeat = kConditionHeartbeat}),
      book_({.controller = kEventController, .instance = node_name}, event_window),
      dice_(std::random_device{}()) {}

void NodeReporter::report(NodeReport report) {
  if (wanted_.publish(std::move(report))) wake();
}

void NodeReporter::note(NodeEvent event) {
  {
    const std::lock_guard lock(mutex_);
    if (events_.size() >= kMostEvents) events_.pop_front();
    events_.push_back({std::move(event), wall_time()});
  }
  wake();
}

void NodeReporter::wake() {
  {
    const std::lock_guard lock(mutex_);
    is_news_ = true;
  }
  changed_.notify_all();
}

void NodeReporter::run(ApiClient& client, const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    look();
    write_due(client, stop);
    send_events(client, stop);
    wait(stop);
  }
}

// Takes the newest report and Node, and notices what somebody else has changed in the Node.
void NodeReporter::look() {
  report_ = *wanted_.get().value;
  const auto node = node_.get();
  const bool is_known = node.value->node.has_value();
  const bool is_new = node.version > std::exchange(seen_version_, node.version);
  if (const std::optional<NodeView>& seen = node.value->node) view_ = *seen;
  const NodeIdentity identity =
      is_known ? NodeIdentity{view_.name, view_.uid} : NodeIdentity{name_, ""};
  const bool has_problem = !node.value->problem.empty();
  if (std::exchange(had_problem_, has_problem) && !has_problem) {
    // The API server answers again: nothing waits for the end of its pause.
    for (Publication* each : {&object_, &status_, &labels_, &node_status_}) each->retry_now();
    events_again_ = Clock::time_point();
  }
  const bool is_rewound = node.value->rewinds > std::exchange(seen_rewinds_, node.value->rewinds);
  if (identity.uid != identity_.uid || is_rewound) {
    // Another Node, none, or a restored one: nothing of what was written counts.
    for (Publication* each : {&object_, &status_, &labels_, &node_status_}) each->lost();
    identity_ = identity;
  }
  const bool is_there = !identity_.uid.empty();
  const auto if_there = [&](bool wanted, std::string content) {
    return is_there && wanted ? std::optional(std::move(content)) : std::nullopt;
  };
  object_.want(if_there(report_.gpu_node.has_value(), identity_.uid));
  // The status needs the object.
  status_.want(if_there(report_.gpu_node && object_.is_written(), report_.gpu_node.value_or("")));
  const NodeLabelMap labels = report_.labels.value_or(NodeLabelMap());
  had_labels_ = had_labels_ || !labels.empty();
  labels_.want(if_there(had_labels_ && report_.labels, apply_labels({}, labels).body));
  had_node_status_ = had_node_status_ || has_node_status();
  // Without the times, which change with each write.
  node_status_.want(if_there(had_node_status_, apply_node_status({}, report_, {}, "").body));
  if (!is_known || !is_new) return;
  if (!has_labels(view_, labels)) overwritten("labels", labels_);
  if (has_node_status() && !node::has_node_status(view_, report_)) {
    overwritten("node status", node_status_);
  }
}

// Somebody else, or an event from before our last write.
void NodeReporter::overwritten(const char* what, Publication& publication) {
  if (!publication.is_written()) return;
  if (!publication.overwritten(Clock::now(), chance())) return;
  log_.warning(
      "somebody else keeps changing what this agent writes into its Node; it is written again with "
      "longer pauses. Does NVIDIA's gpu-feature-discovery or a second agent run on this node?",
      {{"what", what}, {"node", name_}});
}

bool NodeReporter::has_node_status() const {
  return !report_.condition_type.empty() || report_.extended_resources;
}

void NodeReporter::write_due(ApiClient& client, const std::stop_token& stop) {
  const auto is_due = [](const Publication& each) {
    const auto due = each.due();
    return due && *due <= Clock::now();
  };
  if (is_due(object_) && write(client, kGpuNode, object_, apply_gpu_node(identity_), stop)) {
    look();
  }
  if (report_.gpu_node && is_due(status_)) {
    const std::string status = with_observed_at(*report_.gpu_node, seconds_of(wall_time()));
    write(client, kGpuNode, status_, apply_gpu_node_status(identity_.name, status), stop);
  }
  if (is_due(labels_)) {
    write(client, "labels", labels_,
          apply_labels(identity_, report_.labels.value_or(NodeLabelMap())), stop);
  }
  if (is_due(node_status_)) {
    write(client, "node status", node_status_,
          apply_node_status(identity_, report_, view_, seconds_of(wall_time())), stop);
  }
}

bool NodeReporter::write(ApiClient& client, const char* what, Publication& publication,
                         const Request& request, const std::stop_token& stop) {
  const std::string content = publication.wanted().value_or("");
  const Result<Response> response = client.send(request, kPatience, stop);
  if (stop.stop_requested()) return false;
  if (response && response->ok()) {
    publication.wrote(content, Clock::now());
    // The object is not worth much without its status.
    if (&publication != &object_ && logged_.changed(what, "")) {
      log_.info("published at the API server", {{"what", what}});
    }
    return true;
  }
  publication.failed(Clock::now(), chance(), response ? response->retry_after : std::nullopt);
  // Somebody deleted the object: it is made again.
  if (&publication == &status_ && response && response->status == 404) object_.lost();
  const std::string problem = problem_of(what, request, response);
  if (logged_.changed(what, problem)) {
    log_.warning("cannot publish at the API server; trying again",
                 {{"what", what}, {"reason", problem}});
  }
  return false;
}

void NodeReporter::send_events(ApiClient& client, const std::stop_token& stop) {
  while (!stop.stop_requested() && Clock::now() >= events_again_) {
    std::optional<TimedEvent> next;
    {
      const std::lock_guard lock(mutex_);
      if (events_.empty()) break;
      next = events_.front();
    }
    const NodeEvent& event = next->event;
    const bool is_of_pod = !event.pod.pod.empty();
    // Known soon, unless the Node cannot be read.
    if (!is_of_pod && identity_.uid.empty() && node_.get().value->problem.empty()) {
      events_again_ = Clock::now() + kLookAgain;
      return;
    }
    const ObjectReference regarding =
        is_of_pod ? ObjectReference{"v1", "Pod", event.pod.pod_namespace, event.pod.pod,
                                    event.pod.pod_uid}
                  : ObjectReference{"v1", "Node", "", name_,
                                    identity_.uid.empty() ? name_ : identity_.uid};
    const std::optional<Request> request = book_.note({.regarding = regarding,
                                                       .is_warning = event.is_warning,
                                                       .reason = event.reason,
                                                       .action = "Report",
                                                       .subject = event.subject,
                                                       .note = event.note},
                                                      moment(next->when));
    if (request && !send_event(client, *request, stop)) return;
    const std::lock_guard lock(mutex_);
    // Others may have pushed it out meanwhile.
    if (!events_.empty() && events_.front() == *next) events_.pop_front();
  }
  if (stop.stop_requested() || Clock::now() < events_again_) return;
  for (const Request& series : book_.due(moment(wall_time()))) {
    if (!send_event(client, series, stop)) return;
  }
}

// False: try again later.
bool NodeReporter::send_event(ApiClient& client, const Request& request,
                              const std::stop_token& stop) {
  const Result<Response> response = client.send(request, kPatience, stop);
  if (response && response->ok()) {
    logged_.changed("events", "");
    return true;
  }
  book_.lost(request);
  const std::string problem = problem_of("events", request, response);
  if (!stop.stop_requested() && logged_.changed("events", problem)) {
    log_.warning("cannot write an event at the API server", {{"reason", problem}});
  }
  // It would be refused again. But a server that starts refuses all, also the watch of our Node.
  if (!is_passing(response) && node_.get().value->problem.empty()) return true;
  events_again_ =
      Clock::now() +
      event_backoff_.next(Clock::now(), chance(), response ? response->retry_after : std::nullopt);
  return false;
}

EventBook::Moment NodeReporter::moment(std::string when) {
  const auto ticks = std::chrono::system_clock::now().time_since_epoch().count();
  return {.now = Clock::now(),
          .wall = std::move(when),
          .name_tag = fmt::format("{:x}.{}", ticks, ++tag_)};
}

std::optional<NodeReporter::Clock::time_point> NodeReporter::next_due() {
  std::optional<Clock::time_point> next;
  // While an event waits for its next attempt, a series does too.
  if (const auto series = book_.next_due()) next = std::max(*series, events_again_);
  const auto consider = [&](std::optional<Clock::time_point> due) {
    if (due) next = next ? std::min(*next, *due) : *due;
  };
  for (const Publication* each : {&object_, &status_, &labels_, &node_status_}) {
    consider(each->due());
  }
  const std::lock_guard lock(mutex_);
  if (!events_.empty()) consider(events_again_);
  return next;
}

void NodeReporter::wait(const std::stop_token& stop) {
  const std::optional<Clock::time_point> due = next_due();
  std::unique_lock lock(mutex_);
  const auto is_news = [this] { return is_news_; };
  if (due) {
    changed_.wait_until(lock, stop, *due, is_news);
  } else {
    changed_.wait(lock, stop, is_news);
  }
  is_news_ = false;
}

double NodeReporter::chance() { return std::uniform_real_distribution<>()(dice_); }

}  // namespace tranche::node
