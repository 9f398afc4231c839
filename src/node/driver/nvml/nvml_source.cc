// SPDX-License-Identifier: Apache-2.0
#include "node/driver/nvml/nvml_source.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"
#include "node/driver/nvml/read_topology.h"

namespace tranche::node::nvml {
namespace {

using std::chrono::milliseconds;

// More than a node has, replaced cards included.
constexpr std::size_t kMostKnownGpus = 64;

Error not_returning(const std::string& what) {
  return {ErrorCode::kUnavailable, what + " does not return"};
}

std::string cuda_text(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

}  // namespace

NvmlSource::NvmlSource(DriverOptions options, KernelFiles kernel, Log& log)
    : options_(std::move(options)), kernel_(std::move(kernel)), log_(log) {}

Status NvmlSource::open() {
  close();
  if (stuck_.is_stuck()) return not_returning("an earlier driver call");
  using Opened = Result<std::shared_ptr<const Session>>;
  const std::string path = library_path();
  auto outcome = caller_.call<Opened>(
      [path]() -> Opened {
        Result<std::shared_ptr<const Library>> library = Library::open(path);
        if (!library) return library.error();
        return Session::open(*std::move(library));
      },
      options_.call_patience* kPatienceToOpen);
  if (!outcome.value) {
    stuck_ = outcome.stuck;
    return not_returning("opening the driver");
  }
  if (!*outcome.value) return outcome.value->error();
  session_ = **outcome.value;
  ++session_number_;
  for (auto& [index, place] : places_) {
    place.gpu.reset();
    place.handle = nullptr;
  }
  mark_changed(std::nullopt);
  topology_is_read_ = false;
  const std::string lacking = join(session_->library().lacking(), "; ");
  if (logged_.changed("lacking", lacking) && !lacking.empty()) {
    log_.warning("the driver's library is old", {{"lacks", lacking}});
  }
  read_versions();
  renew_events();
  return Done{};
}

void NvmlSource::close() {
  if (!session_) return;
  // Ending the session calls the driver too. If a stuck call holds the session, this only drops our
  // reference.
  struct Held {
    std::shared_ptr<const Session> session;
    std::shared_ptr<const EventSet> events;
  };
  auto held = std::make_shared<Held>(Held{std::move(session_), std::move(events_)});
  session_.reset();
  events_.reset();
  auto outcome = caller_.call<bool>(
      [held] {
        held->events.reset();
        held->session.reset();
        return true;
      },
      options_.call_patience * kPatienceToOpen);
  if (!outcome.value) stuck_ = outcome.stuck;
  const std::string open_calls = still_open();
  if (logged_.changed("open calls", open_calls) && !open_calls.empty()) {
    log_.warning("a driver call that does not return keeps the driver open",
                 {{"reason", open_calls}});
  }
}

std::string NvmlSource::still_open() const {
  std::vector<std::string> calls;
  for (const auto& [index, place] : places_) {
    if (!place.stuck.is_stuck()) continue;
    calls.push_back(place.gpu ? "one about " + place.gpu->text
                              : fmt::format("one about the GPU with the driver's index {}", index));
  }
  if (stuck_.is_stuck()) calls.emplace_back("one that concerns no single GPU");
  if (stuck_wait_.is_stuck()) calls.emplace_back("waiting for events");
  if (stuck_topology_.is_stuck()) calls.emplace_back("reading the topology");
  if (limits_.is_stuck()) calls.emplace_back("asking for memory limits");
  return calls.empty() ? "" : "a driver call of the agent has not returned: " + join(calls, "; ");
}

Result<DriverReading> NvmlSource::read(const ReadRequest& request) {
  if (!session_) return Error{ErrorCode::kUnavailable, "the driver is not open"};
  if (stuck_.is_stuck()) return not_returning("an earlier driver call");
  if (!events_) renew_events();
  Result<std::vector<GpuQuestion>> asked = questions(request);
  if (!asked) return asked.error();
  DriverReading reading{.kind = DriverKind::kNvml,
                        .driver_version = versions_.driver,
                        .cuda_version = versions_.cuda,
                        .session = session_number_};
  for (const GpuQuestion& question : *asked) reading.gpus.push_back(ask(question));
  ask_for_limits(reading);
  forget_unnamed_gpus();
  read_topology_if_changed(reading.gpus);
  reading.topology = topology_;
  return reading;
}

Result<std::vector<DriverEvent>> NvmlSource::wait(milliseconds at_most) {
  if (!session_) return Error{ErrorCode::kUnavailable, "the driver is not open"};
  if (stuck_wait_.is_stuck()) return not_returning("an earlier wait for events");
  if (!events_) {
    const bool too_old = why_no_events_.empty();
    return Error{too_old ? ErrorCode::kNotFound : ErrorCode::kUnavailable, why_no_events_};
  }
  struct Waited {
    abi::Return code = abi::kUnknown;
    abi::EventData data{};
  };
  const auto outcome = caller_.call<Waited>(
      [events = events_, at_most] {
        Waited waited;
        waited.code = events->wait(waited.data, static_cast<unsigned>(at_most.count()));
        return waited;
      },
      at_most + options_.call_patience, stop_waiting_.get_token());
  if (!outcome.value) {
    events_.reset();
    // Abandoned on purpose: it ends soon, or with the process.
    if (stop_waiting_.stop_requested()) return std::vector<DriverEvent>{};
    stuck_wait_ = outcome.stuck;
    return not_returning("waiting for events");
  }
  if (outcome.value->code == abi::kTimeout) return std::vector<DriverEvent>{};
  if (outcome.value->code != abi::kSuccess) {
    // A set with a lost GPU fails for all: the next reading creates a set of the GPUs that answer.
    events_.reset();
    return Error{ErrorCode::kUnavailable,
                 session_->library().describe("nvmlEventSetWait", outcome.value->code)};
  }
  DriverEvent event = translate(outcome.value->data);
  if (event.kind == DriverEvent::Kind::kMigChanged) mark_changed(event.gpu);
  return std::vector<DriverEvent>{std::move(event)};
}

std::string NvmlSource::library_path() const {
  const std::string found = find_below(options_.container_root);
  return found.empty() ? kSoname : found;
}

Result<std::vector<GpuQuestion>> NvmlSource::questions(const ReadRequest& request) {
  const Result<unsigned> gpus = count();
  if (!gpus) return gpus.error();
  // One with a call that does not return is asked again only when that has.
  std::erase_if(places_, [&](const auto& place) {
    return place.first >= *gpus && !place.second.stuck.is_stuck();
  });
  const auto known = std::make_shared<const KnownGpus>(known_);
  std::vector<GpuQuestion> asked;
  for (unsigned index = 0; index < *gpus; ++index) {
    const Place& place = places_[index];
    asked.push_back({.index = index,
                     .known = known,
                     // No event would have reported a change of its MIG devices.
                     .read_whole = !place.is_registered,
                     .events = events_,
                     .why_no_events = why_no_events_,
                     .is_registered = place.is_registered,
                     .request = request});
  }
  return asked;
}

Result<unsigned> NvmlSource::count() {
  struct Counted {
    abi::Return code = abi::kUnknown;
    unsigned count = 0;
  };
  const auto outcome = caller_.call<Counted>(
      [session = session_] {
        Counted counted;
        counted.code = session->api().device_count(&counted.count);
        return counted;
      },
      options_.call_patience);
  if (!outcome.value) {
    stuck_ = outcome.stuck;
    return not_returning("nvmlDeviceGetCount");
  }
  if (outcome.value->code != abi::kSuccess) {
    return Error{ErrorCode::kUnavailable,
                 session_->library().describe("nvmlDeviceGetCount", outcome.value->code)};
  }
  return outcome.value->count;
}

void NvmlSource::renew_events() {
  for (auto& [index, place] : places_) place.is_registered = false;
  why_no_events_.clear();
  // Keep polling; a stuck call cannot be attributed to one GPU.
  if (stuck_wait_.is_stuck()) return;
  using Created = Result<std::shared_ptr<const EventSet>>;
  auto outcome = caller_.call<Created>([session = session_] { return EventSet::create(session); },
                                       options_.call_patience);
  if (!outcome.value) {
    stuck_wait_ = outcome.stuck;
  } else if (*outcome.value) {
    events_ = **outcome.value;
  } else if (outcome.value->error().code != ErrorCode::kNotFound) {
    why_no_events_ = outcome.value->error().message;
  }
}

GpuReading NvmlSource::ask(const GpuQuestion& question) {
  std::optional<GpuAnswer> answer = ask_once(question);
  // A single transient failure does not make a GPU unhealthy.
  if (answer && answer->reading.failure && answer->reading.failure->kind == FailureKind::kOther) {
    GpuQuestion again = question;
    again.is_registered = answer->is_registered;
    answer = ask_once(again);
  }
  Place& place = places_[question.index];
  if (!answer) {
    return {.index = question.index,
            .gpu = known_at(place),
            .failure = GpuFailure{FailureKind::kHung, place.stuck_where}};
  }
  // A lost GPU has no handle any more, but events may still name it.
  if (answer->handle != nullptr) place.handle = answer->handle;
  place.is_registered = answer->is_registered;
  if (answer->reading.gpu) {
    place.gpu = answer->reading.gpu->uuid;
    log_unread(*place.gpu, answer->is_unread);
    known_[*place.gpu] = {*answer->reading.gpu, std::move(answer->slices), answer->is_complete};
  }
  return answer->reading;
}

void NvmlSource::log_unread(const GpuUuid& gpu, bool is_unread) {
  if (!logged_.changed("unread " + gpu.text, is_unread ? "yes" : "") || !is_unread) return;
  log_.warning(
      "gpu supports no value that is read from the card (temperature, power, PCIe replays, memory "
      "errors); a lost card is detected only if the driver notices it",
      {{"gpu", gpu.text}});
}

std::optional<Gpu> NvmlSource::known_at(const Place& place) const {
  const auto known = place.gpu ? known_.find(*place.gpu) : known_.end();
  return known == known_.end() ? std::nullopt : std::optional(known->second.gpu);
}

// A GPU that is missing for some sessions may come back: then its memory size is still known if the
// call fails.
void NvmlSource::forget_unnamed_gpus() {
  if (known_.size() <= kMostKnownGpus) return;
  std::erase_if(known_, [&](const auto& known) {
    return std::ranges::none_of(places_,
                                [&](const auto& place) { return place.second.gpu == known.first; });
  });
}

// Marks this GPU, or all if none is named, to be read completely.
void NvmlSource::mark_changed(const std::optional<GpuUuid>& gpu) {
  for (auto& [uuid, known] : known_) {
    if (!gpu || *gpu == uuid) known.is_current = false;
  }
}

// Empty: this or an earlier call has not returned.
std::optional<GpuAnswer> NvmlSource::ask_once(const GpuQuestion& question) {
  Place& place = places_[question.index];
  if (place.stuck.is_stuck()) return std::nullopt;
  auto outcome =
      caller_.call<GpuAnswer>([session = session_, kernel = kernel_,
                               question] { return read_gpu(*session, kernel, question); },
                              options_.call_patience);
  if (!outcome.value) {
    place.stuck = outcome.stuck;
    place.stuck_where = "a driver call for it does not return";
    place.is_registered = false;
  }
  return std::move(outcome.value);
}

void NvmlSource::read_versions() {
  const auto outcome = caller_.call<Versions>(
      [session = session_] {
        const Functions& api = session->api();
        Versions versions;
        std::array<char, abi::kVersionSize> driver{};
        if (api.driver_version != nullptr &&
            api.driver_version(driver.data(), static_cast<unsigned>(driver.size())) ==
                abi::kSuccess) {
          versions.driver = driver.data();
        }
        int cuda = 0;
        if (api.cuda_version != nullptr && api.cuda_version(&cuda) == abi::kSuccess) {
          versions.cuda = cuda_text(cuda);
        }
        return versions;
      },
      options_.call_patience);
  if (outcome.value) versions_ = *outcome.value;
}

// A separate call, so that a GPU that does not answer affects nothing else.
void NvmlSource::ask_for_limits(DriverReading& reading) {
  limits_.look(caller_, {.session = session_,
                         .session_number = session_number_,
                         .gpus = static_cast<unsigned>(reading.gpus.size()),
                         .patience = options_.call_patience});
  reading.limits_memory = limits_.limits_memory();
  reading.limits_unknown = limits_.unknown();
  if (logged_.changed("limits", limits_.unknown()) && !limits_.unknown().empty()) {
    log_.warning("unknown whether the driver can limit memory; retrying",
                 {{"reason", limits_.unknown()},
                  {"until-then", limits_.limits_memory() ? "it does, as before" : "no"}});
  }
  for (auto& [index, failure] : limits_.take_failures()) {
    GpuReading& one = reading.gpus.at(index);
    if (!one.failure) one.failure = std::move(failure);
  }
}

// Links do not change while the GPUs are the same, and reading them takes hundreds of calls.
void NvmlSource::read_topology_if_changed(const std::vector<GpuReading>& readings) {
  std::vector<PlacedGpu> gpus;
  std::vector<GpuUuid> uuids;
  for (const GpuReading& reading : readings) {
    if (reading.failure || !reading.gpu) continue;
    gpus.push_back({reading.gpu->uuid, places_[reading.index].handle, reading.gpu->pci});
    uuids.push_back(reading.gpu->uuid);
  }
  // A GPU that stopped answering keeps its row: it may come back.
  const bool all_known = std::ranges::all_of(
      uuids, [&](const GpuUuid& uuid) { return topology_.position(uuid) != Topology::kNowhere; });
  if ((topology_is_read_ && all_known) || stuck_topology_.is_stuck()) return;
  auto outcome = caller_.call<Topology>(
      [session = session_, gpus] { return read_topology(*session, gpus); }, options_.call_patience);
  topology_is_read_ = true;
  topology_ = outcome.value ? *std::move(outcome.value) : Topology(std::move(uuids));
  if (!outcome.value) stuck_topology_ = outcome.stuck;
}

DriverEvent NvmlSource::translate(const abi::EventData& data) const {
  DriverEvent event;
  for (const auto& [index, place] : places_) {
    if (place.handle == data.device && place.gpu) event.gpu = place.gpu;
  }
  if (data.event_type == abi::kEventXid) {
    event.kind = DriverEvent::Kind::kXid;
    event.xid = static_cast<unsigned>(data.event_data);
  } else if (data.event_type == abi::kEventMigConfigChange) {
    event.kind = DriverEvent::Kind::kMigChanged;
  }
  if (data.gpu_instance_id != abi::kNoInstance) event.gpu_instance = data.gpu_instance_id;
  if (data.compute_instance_id != abi::kNoInstance) {
    event.compute_instance = data.compute_instance_id;
  }
  return event;
}

}  // namespace tranche::node::nvml
