// SPDX-License-Identifier: Apache-2.0
#include "testbed/kubelet/kubelet.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "base/path.h"
#include "os/errno_error.h"
#include "os/files.h"
#include "testbed/kubelet/checkpoint.h"
#include "testbed/kubelet/guarded_state.h"
#include "testbed/kubelet/plugin_calls.h"
#include "testbed/kubelet/pod_resources_server.h"
#include "testbed/kubelet/predicate.h"
#include "testbed/kubelet/sessions.h"

namespace tranche::testbed::standin {
namespace {

// Follows links, as the kubelet does: a link to a socket goes too.
Status remove_sockets(const std::string& directory) {
  const Result<std::vector<std::string>> names = list_directory(directory);
  if (!names) return names.error();
  for (const std::string& name : *names) {
    const std::string path = below(directory, name);
    struct stat status{};
    if (::stat(path.c_str(), &status) != 0 || !S_ISSOCK(status.st_mode)) continue;
    if (::unlink(path.c_str()) != 0) return errno_error("removing " + path);
  }
  return Done{};
}

Pod with_uid(Pod pod) {
  if (pod.uid.empty()) pod.uid = "uid-of-" + pod.ns + "-" + pod.name;
  return pod;
}

std::string name_of(const Pod& pod) { return pod.ns + "/" + pod.name; }

NodeView view_of(const NodeState& state, const NodeStatus& status) {
  NodeView view;
  for (const auto& [resource, count] : status) {
    ResourceView& shown = view.resources[resource];
    shown.capacity = count.capacity;
    shown.allocatable = count.allocatable;
    const auto endpoint = state.endpoints.find(resource);
    shown.connected = endpoint != state.endpoints.end() && !endpoint->second.stopped_at;
    const auto allocated = state.allocated.find(resource);
    if (allocated != state.allocated.end()) shown.allocated = allocated->second;
    const auto healthy = state.healthy.find(resource);
    const auto listed = state.listed.find(resource);
    if (healthy == state.healthy.end() || listed == state.listed.end()) continue;
    for (const auto& [id, device] : listed->second) {
      shown.devices[id] = {healthy->second.contains(id), device.numa_nodes};
    }
  }
  return view;
}

Pod with_running_containers(Pod pod) {
  for (Container& container : pod.init_containers) container.running = container.restartable;
  for (Container& container : pod.containers) container.running = true;
  return pod;
}

const Container* find_container(const Pod& pod, const std::string& name) {
  for (const auto* containers : {&pod.init_containers, &pod.containers}) {
    const auto found = std::ranges::find(*containers, name, &Container::name);
    if (found != containers->end()) return &*found;
  }
  return nullptr;
}

}  // namespace

struct Kubelet::Life {
  Life(const KubeletOptions& options, NodeState initial, Transcript& transcript, Pulse& changed,
       std::function<std::set<std::string>()> active_uids)
      : state(std::move(initial), changed),
        checkpoint(options.directory),
        random(options.seed),
        sessions({options.directory, options.version, options.dial_patience,
                  options.stream_before_answer},
                 state, checkpoint, transcript),
        calls(sessions, transcript, random, options.pre_start_patience),
        admission({state, checkpoint, calls, random, std::move(active_uids)}) {}

  // A dead process writes nothing and is connected to nobody.
  void end(SocketFile file) {
    checkpoint.close();
    sessions.close();
    if (server) server->stop(file);
    stop_pod_resources(file);
    sessions.join();
  }

  void stop_pod_resources(SocketFile file) {
    const std::lock_guard lock(pod_resources_mutex);
    if (pod_resources) pod_resources->stop(file);
    pod_resources.reset();
  }

  GuardedState state;
  CheckpointFile checkpoint;
  Random random;
  Sessions sessions;
  PluginCalls calls;
  Admission admission;
  std::unique_ptr<RegistrationServer> server;
  // Whether it has heard of its pods: a kubelet that has just come has not.
  std::atomic<bool> knows_pods = false;
  std::mutex pod_resources_mutex;
  std::unique_ptr<PodResourcesServer> pod_resources;  // guarded by pod_resources_mutex
};

std::int64_t NodeView::capacity(const std::string& resource) const {
  const auto found = resources.find(resource);
  return found == resources.end() ? 0 : found->second.capacity;
}

std::int64_t NodeView::allocatable(const std::string& resource) const {
  const auto found = resources.find(resource);
  return found == resources.end() ? 0 : found->second.allocatable;
}

Kubelet::Kubelet(KubeletOptions options, Transcript::Sink sink)
    : options_(std::move(options)), transcript_(std::move(sink)) {}

Kubelet::~Kubelet() { stop(); }

std::string Kubelet::socket_path() const { return below(options_.directory, "kubelet.sock"); }

std::string Kubelet::pod_resources_path() const {
  return below(options_.pod_resources_directory, "kubelet.sock");
}

Status Kubelet::start() {
  if (life()) return Error{ErrorCode::kInvalidArgument, "the kubelet runs already"};
  if (Status made = make_directories(options_.directory, 0755); !made) return made;

  Event started{.kind = EventKind::kKubeletStarted};
  Result<Checkpoint> checkpoint = CheckpointFile(options_.directory).read();
  const bool is_missing = !checkpoint && checkpoint.error().code == ErrorCode::kNotFound;
  // The kubelet, too, goes on without a checkpoint that it cannot read.
  if (!checkpoint && !is_missing) started.error = checkpoint.error().message;
  if (!checkpoint) checkpoint = Checkpoint{};
  std::set<std::string> resources;
  for (const auto& [resource, ids] : checkpoint->registered) resources.insert(resource);

  if (Status removed = remove_sockets(options_.directory); !removed) return removed;
  auto begun = std::make_shared<Life>(
      options_, state_after_restart(std::move(checkpoint->pods), resources, Clock::now()),
      transcript_, changed_, [this] { return active_uids(); });
  transcript_.add(std::move(started));
  Result<std::unique_ptr<RegistrationServer>> server =
      RegistrationServer::listen(socket_path(), [sessions = &begun->sessions](auto registration) {
        sessions->begin(std::move(registration));
      });
  if (!server) return server.error();
  begun->server = std::move(*server);
  if (Status served = serve_pod_resources(*begun); !served) return served;
  {
    const std::lock_guard lock(mutex_);
    life_ = std::move(begun);
    // No checkpoint means a new node to the kubelet: nothing on it is known.
    if (is_missing) std::ranges::for_each(status_, [](auto& entry) { entry.second = {}; });
  }
  changed_.beat();
  return Done{};
}

void Kubelet::stop(SocketFile file) {
  std::shared_ptr<Life> ended;
  {
    const std::lock_guard lock(mutex_);
    ended.swap(life_);
  }
  if (!ended) return;
  ended->end(file);
  transcript_.add({.kind = EventKind::kKubeletStopped});
  changed_.beat();
}

Status Kubelet::restart(SocketFile file) {
  stop(file);
  return start();
}

AdmissionResult Kubelet::admit(const Pod& pod) {
  const Pod arrived = with_uid(pod);
  const std::shared_ptr<Life> running = life();
  if (!running) return {.reason = "KubeletStopped", .message = "the kubelet does not run"};
  {
    const std::lock_guard lock(mutex_);
    const auto [known, is_new] =
        active_pods_.try_emplace(arrived.uid, ActivePod{arrived, pods_that_came_});
    if (is_new) ++pods_that_came_;
    known->second.pod = arrived;
  }
  return admit_to(running, arrived);
}

std::vector<FoundPod> Kubelet::admit_found_pods() {
  const std::shared_ptr<Life> running = life();
  if (!running) return {};
  running->knows_pods = true;
  std::vector<FoundPod> found;
  for (const Pod& pod : pods_in_order()) {
    found.push_back({pod, admit_to(running, with_running_containers(pod))});
  }
  return found;
}

AdmissionResult Kubelet::admit_to(const std::shared_ptr<Life>& running, const Pod& arrived) {
  running->knows_pods = true;
  AdmissionResult result = admit_into(*running, arrived);
  // A process that died in the middle of it rejected nothing.
  if (life() != running) result = {.reason = "KubeletStopped", .message = "the kubelet stopped"};
  if (!result.admitted) {
    const std::lock_guard lock(mutex_);
    active_pods_.erase(arrived.uid);
  }
  transcript_.add({.kind = result.admitted ? EventKind::kAdmitted : EventKind::kRejected,
                   .pod = name_of(arrived),
                   .error = result.admitted ? "" : result.reason + ": " + result.message});
  return result;
}

AdmissionResult Kubelet::admit_into(Life& life, const Pod& pod) {
  refresh_status(life);
  AdmissionResult result = life.admission.admit(pod);
  if (!result.admitted) return result;

  refresh_status(life);
  std::vector<Pod> others;
  NodeStatus status;
  {
    const std::lock_guard lock(mutex_);
    status = status_;
    for (const auto& [uid, other] : active_pods_) {
      if (uid != pod.uid) others.push_back(other.pod);
    }
  }
  const std::optional<Shortage> shortage = life.state.read(
      [&](const NodeState& state) { return find_shortage(state, status, pod, others); });
  if (shortage) return {.reason = shortage->reason, .message = shortage->message};
  return result;
}

Result<ContainerResponse> Kubelet::start_container(const Pod& pod, const std::string& container) {
  const Pod known = with_uid(pod);
  const std::shared_ptr<Life> running = life();
  if (!running) return Error{ErrorCode::kUnavailable, "the kubelet does not run"};
  const Container* found = find_container(known, container);
  if (found == nullptr) {
    return Error{ErrorCode::kNotFound, "pod " + name_of(pod) + " has no container " + container};
  }
  return running->admission.start_container(known, *found);
}

void Kubelet::remove(const Pod& pod) {
  {
    const std::lock_guard lock(mutex_);
    if (active_pods_.erase(with_uid(pod).uid) == 0) return;
  }
  transcript_.add({.kind = EventKind::kRemoved, .pod = name_of(pod)});
}

void Kubelet::free_ended_pods() {
  const std::shared_ptr<Life> running = life();
  if (!running) return;
  const std::set<std::string> active = active_uids();
  running->state.update([&](NodeState& state) { free_inactive(state, active); });
}

NodeView Kubelet::node() {
  const std::shared_ptr<Life> running = life();
  if (running) refresh_status(*running);
  const std::lock_guard lock(mutex_);
  if (!running) return view_of({}, status_);
  return running->state.read([&](const NodeState& state) { return view_of(state, status_); });
}

bool Kubelet::wait_until(const std::function<bool(const NodeView&)>& holds,
                         std::chrono::milliseconds patience) {
  const Clock::time_point deadline = Clock::now() + patience;
  while (true) {
    const std::uint64_t seen = changed_.count();
    if (holds(node())) return true;
    if (Clock::now() >= deadline) return false;
    // The end of a grace period comes without an event.
    changed_.wait_past(seen, std::min(deadline, next_expiry().value_or(deadline)));
  }
}

bool Kubelet::wait_for_allocatable(const std::string& resource, std::int64_t count,
                                   std::chrono::milliseconds patience) {
  return wait_until([&](const NodeView& view) { return view.allocatable(resource) == count; },
                    patience);
}

bool Kubelet::break_stream(const std::string& resource) {
  const std::shared_ptr<Life> running = life();
  return running && running->sessions.break_stream(resource);
}

void Kubelet::hold_stream_ends() {
  if (const std::shared_ptr<Life> running = life()) running->sessions.hold_stream_ends();
}

void Kubelet::release_stream_ends() {
  if (const std::shared_ptr<Life> running = life()) running->sessions.release_stream_ends();
}

Status Kubelet::serve_pod_resources(bool serves) {
  const std::shared_ptr<Life> running = life();
  if (!running) return Error{ErrorCode::kUnavailable, "the kubelet does not run"};
  if (serves) return serve_pod_resources(*running);
  running->stop_pod_resources(SocketFile::kRemoved);
  return Done{};
}

Status Kubelet::serve_pod_resources(Life& life) {
  if (options_.pod_resources_directory.empty()) return Done{};
  if (Status made = make_directories(options_.pod_resources_directory, 0750); !made) return made;
  const std::lock_guard lock(life.pod_resources_mutex);
  if (life.pod_resources) return Done{};
  ::unlink(pod_resources_path().c_str());  // of a kubelet that was killed
  auto server = PodResourcesServer::listen(
      pod_resources_path(), {.list = [this] { return list_pods(); },
                             .get = [this](const std::string& ns,
                                           const std::string& name) { return get_pod(ns, name); }});
  if (!server) return server.error();
  life.pod_resources = *std::move(server);
  return Done{};
}

PodResourcesCounts Kubelet::pod_resources_counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

Result<std::vector<ListedPod>> Kubelet::list_pods() {
  const bool during_call = transcript_.wait_until(
      [](const std::vector<Event>& events) {
        return std::ranges::any_of(events, [](const Event& event) {
          return !event.finished && (event.kind == EventKind::kAllocate ||
                                     event.kind == EventKind::kGetPreferredAllocation);
        });
      },
      std::chrono::milliseconds(0));
  {
    const std::lock_guard lock(mutex_);
    ++counts_.lists;
    if (during_call) ++counts_.lists_during_calls;
  }
  const std::shared_ptr<Life> running = life();
  if (!running) return Error{ErrorCode::kUnavailable, "the kubelet stopped"};
  // No pods are taken for ended then, nor are they listed.
  if (!running->knows_pods) return std::vector<ListedPod>{};
  const std::vector<Pod> pods = pods_in_order();
  free_ended_pods();
  return running->state.read([&](const NodeState& state) {
    std::vector<ListedPod> listed;
    for (const Pod& pod : pods) listed.push_back(list_pod(state, pod));
    return listed;
  });
}

Result<ListedPod> Kubelet::get_pod(const std::string& ns, const std::string& name) {
  const std::shared_ptr<Life> running = life();
  {
    const std::lock_guard lock(mutex_);
    ++counts_.gets;
  }
  const std::vector<Pod> pods = pods_in_order();
  const auto found =
      std::ranges::find_if(pods, [&](const Pod& pod) { return pod.ns == ns && pod.name == name; });
  if (!running) return Error{ErrorCode::kUnavailable, "the kubelet stopped"};
  if (found == pods.end()) {
    return Error{ErrorCode::kNotFound, "pod " + name + " in namespace " + ns + " not found"};
  }
  return running->state.read([&](const NodeState& state) { return list_pod(state, *found); });
}

std::vector<Pod> Kubelet::pods_in_order() const {
  std::map<std::uint64_t, Pod> ordered;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [uid, active] : active_pods_) ordered[active.number] = active.pod;
  }
  std::vector<Pod> pods;
  for (auto& [number, pod] : ordered) pods.push_back(std::move(pod));
  return pods;
}

std::shared_ptr<Kubelet::Life> Kubelet::life() const {
  const std::lock_guard lock(mutex_);
  return life_;
}

std::set<std::string> Kubelet::active_uids() const {
  std::set<std::string> uids;
  const std::lock_guard lock(mutex_);
  for (const auto& [uid, pod] : active_pods_) uids.insert(uid);
  return uids;
}

void Kubelet::refresh_status(Life& life) {
  bool has_forgotten = false;
  {
    const std::lock_guard lock(mutex_);
    has_forgotten = life.state.update_quietly([&](NodeState& state) {
      return update_status(state, status_, Clock::now(), options_.grace);
    });
  }
  if (!has_forgotten) return;
  // The kubelet only logs a checkpoint that it could not write.
  static_cast<void>(write_checkpoint(life.checkpoint, life.state));
}

std::optional<Clock::time_point> Kubelet::next_expiry() const {
  const std::shared_ptr<Life> running = life();
  if (!running) return std::nullopt;
  return running->state.read(
      [&](const NodeState& state) { return standin::next_expiry(state, options_.grace); });
}

}  // namespace tranche::testbed::standin
