// SPDX-License-Identifier: Apache-2.0
#include "kube/lease_holder.h"

#include <algorithm>
#include <utility>

#include "os/worker.h"

namespace tranche::kube {
namespace {

// Candidates wait up to this much longer, in parts of the retry period, so that they do not all
// come at once.
constexpr double kJitter = 1.2;

std::string path_of(const LeasePlace& place) {
  return "/apis/coordination.k8s.io/v1/namespaces/" + url_escaped(place.space) + "/leases";
}

}  // namespace

LeaseHolder::LeaseHolder(ApiClient& client, LeasePlace place, const std::string& identity,
                         LeaseTimes times, LeaseHooks hooks)
    : client_(client),
      place_(std::move(place)),
      times_(times),
      hooks_(std::move(hooks)),
      election_(identity, times) {}

void LeaseHolder::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    const Status done = step(stop);
    if (stop.stop_requested()) break;
    const std::string problem = done ? "" : done.error().message;
    if (problem != std::exchange(problem_, problem)) hooks_.trouble(problem);
    notify();
    sleep_unless_stopped(stop, pause());
    notify();
  }
  give_up();
}

// Not longer than the lease may be counted on.
std::chrono::milliseconds LeaseHolder::pause() const {
  using std::chrono::duration_cast, std::chrono::milliseconds;
  const auto now = Clock::now();
  const auto until = election_.leads_until();
  if (until && *until > now) {
    return std::min(times_.retry, duration_cast<milliseconds>(*until - now) + milliseconds(1));
  }
  return duration_cast<milliseconds>(times_.retry * (1 + kJitter * hooks_.chance()));
}

Status LeaseHolder::step(const std::stop_token& stop) {
  // Who holds it knows what is written there, unless the last write failed.
  if (!election_.leads(Clock::now()) || !election_.is_known()) {
    if (Status known = read(stop); !known) return known;
  }
  const auto record = election_.next(Clock::now(), hooks_.wall());
  return record ? write(*record, stop) : Status(Done{});
}

Status LeaseHolder::read(const std::stop_token& stop) {
  const Request request{.target = path_of(place_) + "/" + url_escaped(place_.name)};
  const Result<Response> response = send(request, stop);
  if (response && response->status == 404) {
    election_.saw(std::nullopt, Clock::now());
    return Done{};
  }
  if (!response || !response->ok()) {
    election_.failed();
    return response ? error_of(request, *response) : response.error();
  }
  read_ = parse_json(response->body);
  election_.saw(lease_record(read_), Clock::now());
  return Done{};
}

Status LeaseHolder::write(const LeaseRecord& record, const std::stop_token& stop) {
  const bool is_new = record.resource_version.empty();
  Json lease = lease_object(place_.space, place_.name, record);
  if (!is_new) lease = with_lease(std::move(read_), lease);
  const Request request{.verb = is_new ? Verb::kPost : Verb::kPut,
                        .target = path_of(place_) + (is_new ? "" : "/" + url_escaped(place_.name)),
                        .content_type = kJson,
                        .body = lease.dump(-1, ' ', false, Json::error_handler_t::replace)};
  const Clock::time_point asked = Clock::now();
  const Result<Response> response = send(request, stop);
  if (response && response->ok()) {
    read_ = parse_json(response->body);
    election_.wrote(lease_record(read_), asked);
    return Done{};
  }
  read_ = {};
  election_.failed();
  // Somebody else was faster, or deleted it. That is no trouble, but must be known at once: the
  // lease may be another's.
  if (response && (response->status == 409 || response->status == 404)) return read(stop);
  return response ? error_of(request, *response) : response.error();
}

Result<Response> LeaseHolder::send(const Request& request, const std::stop_token& stop) {
  const auto now = Clock::now();
  const auto leads_until = election_.leads_until();
  const std::chrono::milliseconds patience =
      leads_until && *leads_until > now
          ? std::chrono::duration_cast<std::chrono::milliseconds>(*leads_until - now)
          : times_.renew_deadline;
  return client_.send(request, patience, stop);
}

// So that the next one need not wait until it expires.
void LeaseHolder::give_up() {
  // First: from now on another may lead.
  if (std::exchange(notified_, false)) hooks_.changed(false);
  Status done = Done{};
  // The stop may have cut off a write, and then we do not know what is there.
  if (!election_.is_known()) done = read({});
  const auto record = election_.release(hooks_.wall());
  if (done && record) done = write(*record, {});
  if (!done) hooks_.trouble(done.error().message);
}

void LeaseHolder::notify() {
  const bool leads = election_.leads(Clock::now());
  if (leads != std::exchange(notified_, leads)) hooks_.changed(leads);
}

}  // namespace tranche::kube
