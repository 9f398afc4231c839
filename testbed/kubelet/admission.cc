// SPDX-License-Identifier: Apache-2.0
#include "testbed/kubelet/admission.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "testbed/kubelet/merge.h"

namespace tranche::testbed::standin {
namespace {

constexpr std::string_view kPanic =
    "a device left the list while it was being allocated: the real kubelet reads through a null "
    "pointer here and crashes";

std::optional<Endpoint> find_endpoint(const NodeState& state, const std::string& resource) {
  const auto found = state.endpoints.find(resource);
  if (found == state.endpoints.end()) return std::nullopt;
  return found->second;
}

void reserve(NodeState& state, const std::string& resource, const Ids& ids) {
  state.allocated[resource].insert(ids.begin(), ids.end());
}

bool is_init_container(const Pod& pod, const std::string& name) {
  return std::ranges::find(pod.init_containers, name, &Container::name) !=
         pod.init_containers.end();
}

Error not_in_cache(const std::string& resource) {
  return {ErrorCode::kNotFound,
          "endpoint not found in cache for a registered resource: " + resource};
}

AdmissionResult rejection(const Error& error) {
  if (error.code == ErrorCode::kInternal) {
    return {.reason = "KubeletPanic", .message = error.message};
  }
  return {.reason = "UnexpectedAdmissionError",
          .message = "Allocate failed due to " + error.message + ", which is unexpected"};
}

}  // namespace

const ContainerGrant* AdmissionResult::find(const std::string& name) const {
  const auto found = std::ranges::find(containers, name, &ContainerGrant::name);
  return found == containers.end() ? nullptr : &*found;
}

AdmissionResult Admission::admit(const Pod& pod) {
  std::vector<Container> containers = pod.init_containers;
  containers.insert(containers.end(), pod.containers.begin(), pod.containers.end());
  const std::lock_guard lock(mutex_);
  for (const Container& container : containers) {
    if (Status allocated = allocate(pod, container); !allocated) {
      return rejection(allocated.error());
    }
  }
  AdmissionResult result{.admitted = true};
  for (const Container& container : containers) {
    result.containers.push_back(grant_of(pod, container));
  }
  return result;
}

Result<ContainerResponse> Admission::start_container(const Pod& pod, const Container& container) {
  bool is_missing = false;
  for (const std::string& resource : plugin_resources(container)) {
    if (container.limits.at(resource) == 0) continue;
    if (Status called = call_pre_start(pod, container, resource); !called) return called.error();
    if (!parts_.active_uids().contains(pod.uid)) continue;
    is_missing |= parts_.state.read([&](const NodeState& state) {
      return find_allocation(state, pod.uid, container.name, resource) == nullptr;
    });
  }
  if (is_missing) {
    const std::lock_guard lock(mutex_);
    if (Status allocated = allocate(pod, container); !allocated) return allocated.error();
  }
  return grant_of(pod, container).response;
}

Status Admission::allocate(const Pod& pod, const Container& container) {
  std::erase_if(reusable_, [&](const auto& entry) { return entry.first != pod.uid; });
  Reusable& reusable = reusable_[pod.uid];
  if (Status allocated = allocate_resources(pod, container, reusable); !allocated) {
    return allocated;
  }
  offer_or_keep(pod, container, reusable);
  return Done{};
}

// A plain init container ends before the next container starts, and its
// devices go to those that follow. Everyone else keeps them.
void Admission::offer_or_keep(const Pod& pod, const Container& container, Reusable& reusable) {
  const bool offers = is_init_container(pod, container.name) && !container.restartable;
  const auto given = parts_.state.read([&](const NodeState& state) -> ContainerAllocations {
    const auto containers = state.pods.find(pod.uid);
    if (containers == state.pods.end()) return {};
    const auto resources = containers->second.find(container.name);
    return resources == containers->second.end() ? ContainerAllocations{} : resources->second;
  });
  for (const auto& [resource, allocation] : given) {
    for (const std::string& id : ids_of(allocation.devices)) {
      if (offers) reusable[resource].insert(id);
      if (!offers) reusable[resource].erase(id);
    }
  }
}

Status Admission::allocate_resources(const Pod& pod, const Container& container,
                                     const Reusable& reusable) {
  const std::vector<std::string> resources = plugin_resources(container);
  if (resources.empty()) return Done{};
  const std::set<std::string> active = parts_.active_uids();
  parts_.state.update([&](NodeState& state) { free_inactive(state, active); });

  bool has_allocated = false;
  for (const std::string& resource : resources) {
    ChoiceRequest request{.pod_uid = pod.uid,
                          .container = container.name,
                          .resource = resource,
                          .required = container.limits.at(resource),
                          .running = container.running,
                          .affinity = container.numa_affinity};
    const auto offered = reusable.find(resource);
    if (offered != reusable.end()) request.reusable = offered->second;
    const Result<bool> allocated = allocate_resource(request);
    if (!allocated) return allocated.error();
    has_allocated |= *allocated;
  }
  if (!has_allocated) return Done{};
  return write_checkpoint(parts_.checkpoint, parts_.state);
}

Result<bool> Admission::allocate_resource(const ChoiceRequest& request) {
  const Result<Ids> chosen = choose(request);
  if (!chosen) return chosen.error();
  if (chosen->empty()) return false;

  const std::optional<Endpoint> endpoint = parts_.state.read(
      [&](const NodeState& state) { return find_endpoint(state, request.resource); });
  if (!endpoint) {
    parts_.state.update(recount_allocated);
    return Error{ErrorCode::kNotFound, "unknown Device Plugin " + request.resource};
  }
  const auto responses = parts_.calls.allocate(request.resource, *endpoint, *chosen);
  if (!responses) {
    parts_.state.update(recount_allocated);
    return responses.error();
  }
  // Here the kubelet does not take its reservation back: the devices stay
  // allocated to nobody until a pod ends or another allocation fails.
  if (responses->empty()) {
    return Error{ErrorCode::kUnavailable, "no containers return in allocation response "};
  }
  if (Status recorded = record(request, *chosen, responses->front()); !recorded) {
    return recorded.error();
  }
  return true;
}

Result<Ids> Admission::choose(const ChoiceRequest& request) {
  const Result<Choice> begun = parts_.state.update([&](NodeState& state) {
    Result<Choice> choice = begin_choice(state, request, parts_.random);
    if (choice) reserve(state, request.resource, choice->picked);
    return choice;
  });
  if (!begun) return begun.error();
  const std::optional<PreferenceQuestion>& question = begun->question;
  if (!question) return begun->picked;

  const Result<Ids> preferred = ask_preference(request.resource, *question);
  if (!preferred) return preferred.error();
  Result<Ids> chosen = finish_choice(*begun, *preferred, request.required, parts_.random);
  if (chosen) {
    parts_.state.update([&](NodeState& state) { reserve(state, request.resource, *chosen); });
  }
  return chosen;
}

Result<Ids> Admission::ask_preference(const std::string& resource,
                                      const PreferenceQuestion& question) {
  const std::optional<Endpoint> endpoint =
      parts_.state.read([&](const NodeState& state) { return find_endpoint(state, resource); });
  if (!endpoint) return not_in_cache(resource);
  if (!endpoint->options || !endpoint->options->preferred_allocation_available) return Ids{};
  return parts_.calls.preferred(resource, *endpoint, question);
}

Status Admission::record(const ChoiceRequest& request, const Ids& ids,
                         const ContainerResponse& response) {
  return parts_.state.update([&](NodeState& state) -> Status {
    const auto devices = group_by_numa(state, request.resource, ids);
    if (!devices) return Error{ErrorCode::kInternal, std::string(kPanic)};
    state.pods[request.pod_uid][request.container][request.resource] = {*devices, response};
    return Done{};
  });
}

Status Admission::call_pre_start(const Pod& pod, const Container& container,
                                 const std::string& resource) {
  const std::optional<Endpoint> endpoint =
      parts_.state.read([&](const NodeState& state) { return find_endpoint(state, resource); });
  if (!endpoint) return not_in_cache(resource);
  if (!endpoint->options || !endpoint->options->pre_start_required) return Done{};

  const auto ids = parts_.state.read([&](const NodeState& state) -> std::optional<Ids> {
    const Allocation* given = find_allocation(state, pod.uid, container.name, resource);
    if (given == nullptr) return std::nullopt;
    return ids_of(given->devices);
  });
  if (!ids) {
    return Error{ErrorCode::kNotFound, "no devices found allocated in local cache for pod " +
                                           pod.uid + ", container " + container.name +
                                           ", resource " + resource};
  }
  return parts_.calls.pre_start(resource, *endpoint, *ids);
}

std::vector<std::string> Admission::plugin_resources(const Container& container) {
  std::vector<std::string> resources;
  for (const auto& [resource, count] : container.limits) resources.push_back(resource);
  std::vector<std::string> shuffled = parts_.random.shuffled(resources);
  parts_.state.read([&](const NodeState& state) {
    std::erase_if(shuffled, [&](const std::string& resource) {
      return !is_plugin_resource(state, resource);
    });
  });
  return shuffled;
}

ContainerGrant Admission::grant_of(const Pod& pod, const Container& container) {
  ContainerGrant grant{container.name, {}, {}};
  std::vector<ContainerResponse> responses;
  for (const std::string& resource : plugin_resources(container)) {
    parts_.state.read([&](const NodeState& state) {
      const Allocation* given = find_allocation(state, pod.uid, container.name, resource);
      if (given == nullptr) return;
      grant.devices[resource] = ids_of(given->devices);
      responses.push_back(given->response);
    });
  }
  grant.response = merge_responses(responses);
  return grant;
}

}  // namespace tranche::testbed::standin
