// SPDX-License-Identifier: Apache-2.0
#include "bench/measure.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "base/path.h"
#include "bench/contender.h"
#include "bench/node_folder.h"
#include "bench/samples.h"
#include "deviceplugin_v1beta1.pb.h"
#include "os/files.h"

namespace tranche::bench {
namespace {

using Requests = std::vector<grpc::ByteBuffer>;

// Different ones, as pods come; made before anything is timed.
constexpr std::size_t kDifferentRequests = 64;
constexpr int kWarmUp = 10;

double ms(std::chrono::nanoseconds time) { return static_cast<double>(time.count()) / 1e6; }
double us(std::chrono::nanoseconds time) { return static_cast<double>(time.count()) / 1e3; }

template <typename T>
struct Pair {
  T agent;
  T floor;
};

struct StartTimes {
  std::vector<double> to_registered;
  std::vector<double> to_list;

  void add(const Contender& contender) {
    to_registered.push_back(ms(contender.start_to_registered()));
    to_list.push_back(ms(contender.registered_to_list()));
  }
};

Result<double> time_call(RawClient& client, const std::string& method,
                         const grpc::ByteBuffer& request) {
  const Clock::time_point begun = Clock::now();
  const Result<grpc::ByteBuffer> answer = client.call(method, request);
  const double took = us(Clock::now() - begun);
  if (!answer) return answer.error();
  return took;
}

Timing timing_of(const std::vector<double>& samples) {
  return {median(samples), percentile(samples, 0.99)};
}

class Bout {
 public:
  Bout(const Programs& programs, const Scenario& scenario, std::string folder)
      : scenario_(scenario),
        folder_(std::move(folder)),
        agent_program_{
            agent_command(programs.agent, scenario, folder_, kubelet_socket(below(folder_, "a"))),
            below(folder_, "a")},
        floor_program_{{programs.floor, kubelet_socket(below(folder_, "f")), answers()},
                       below(folder_, "f")} {}

  Result<Measurement> run() {
    for (const auto step : {&Bout::prepare, &Bout::start, &Bout::allocate, &Bout::look_at_memory,
                            &Bout::prefer, &Bout::rest, &Bout::stop}) {
      if (Status done = (this->*step)(); !done) return done.error().in(scenario_.name);
    }
    return std::move(measured_);
  }

 private:
  std::string answers() const { return below(folder_, "answers"); }

  Status prepare() {
    if (Status made = make_directories(answers()); !made) return made;
    return make_node(scenario_, folder_);
  }

  // The agent comes first, once, to be asked what the floor is to answer.
  Status start() {
    Result<std::unique_ptr<Contender>> first = Contender::start(agent_program_);
    if (!first) return first.error();
    if (Status made = make_requests((*first)->list()); !made) return made;
    if (Status recorded = record(**first); !recorded) return recorded;
    if (auto stopped = (*first)->stop(); !stopped) return stopped.error();

    for (int i = 0; i < scenario_.starts; ++i) {
      if (i > 0) {
        if (Status stopped = stop(); !stopped) return stopped;
      }
      if (Status started = start_both(); !started) return started;
    }
    return to_text(agent_->list()) == to_text(floor_->list())
               ? Status(Done{})
               : Error{ErrorCode::kInternal, "the floor lists other devices than the agent"};
  }

  Status start_both() {
    for (const auto& [program, contender, times, side] :
         {std::tuple{&agent_program_, &agent_, &times_.agent, &measured_.agent},
          std::tuple{&floor_program_, &floor_, &times_.floor, &measured_.floor}}) {
      Result<std::unique_ptr<Contender>> started = Contender::start(*program);
      if (!started) return started.error();
      *contender = *std::move(started);
      times->add(**contender);
      side->start_to_registered_ms = median(times->to_registered);
      side->registered_to_list_ms = median(times->to_list);
    }
    return Done{};
  }

  Status make_requests(const grpc::ByteBuffer& list) {
    v1beta1::ListAndWatchResponse message;
    const std::string text = to_text(list);
    if (!message.ParseFromString(text)) return Error{ErrorCode::kInternal, "no list"};
    measured_.scenario = scenario_.name;
    measured_.replicated = scenario_.replicas > 0;
    measured_.devices = static_cast<std::size_t>(message.devices_size());
    measured_.list_bytes = text.size();

    std::vector<std::string> ids;
    for (const auto& device : message.devices()) ids.push_back(device.id());
    // The kubelet's sets have no order; the same disorder in every run.
    std::mt19937 random(1);  // NOLINT(cert-msc51-cpp,bugprone-random-generator-seed)
    std::ranges::shuffle(ids, random);
    for (std::size_t i = 0; i < std::min(ids.size(), kDifferentRequests); ++i) {
      v1beta1::AllocateRequest request;
      request.add_container_requests()->add_devices_ids(ids[i]);
      allocations_.push_back(to_bytes(request));
    }
    v1beta1::PreferredAllocationRequest request;
    auto& container = *request.add_container_requests();
    for (const std::string& id : ids) container.add_available_deviceids(id);
    container.set_allocation_size(scenario_.wanted);
    preferences_.push_back(to_bytes(request));
    return Done{};
  }

  Status record(Contender& agent) {
    const auto keep = [&](const std::string& method, const grpc::ByteBuffer& answer) {
      return write_atomically(below(answers(), method), to_text(answer));
    };
    if (Status kept = keep("ListAndWatch", agent.list()); !kept) return kept;
    for (const auto& [method, request] : {std::pair{"Allocate", &allocations_.front()},
                                          {"GetPreferredAllocation", &preferences_.front()}}) {
      const Result<grpc::ByteBuffer> answer = agent.client().call(method, *request);
      if (!answer) return answer.error();
      if (Status kept = keep(method, *answer); !kept) return kept;
    }
    return Done{};
  }

  Result<Pair<Timing>> alternate(const std::string& method, const Requests& requests, int times) {
    Pair<std::vector<double>> samples;
    for (int i = -std::min(kWarmUp, times); i < times; ++i) {
      const auto& request = requests[static_cast<std::size_t>(i + kWarmUp) % requests.size()];
      Pair<double> took{};
      // Neither always comes second.
      for (const bool is_agent : {i % 2 == 0, i % 2 != 0}) {
        const Result<double> one =
            time_call((is_agent ? agent_ : floor_)->client(), method, request);
        if (!one) return one.error().in(is_agent ? "the agent" : "the floor");
        (is_agent ? took.agent : took.floor) = *one;
      }
      if (i < 0) continue;
      samples.agent.push_back(took.agent);
      samples.floor.push_back(took.floor);
    }
    return Pair<Timing>{timing_of(samples.agent), timing_of(samples.floor)};
  }

  Status allocate() {
    const auto timed = alternate("Allocate", allocations_, scenario_.allocations);
    if (!timed) return timed.error();
    measured_.agent.allocate = timed->agent;
    measured_.floor.allocate = timed->floor;
    return Done{};
  }

  Status look_at_memory() { return memories(measured_.agent.listed, measured_.floor.listed); }

  Status memories(MemoryFigures& agent, MemoryFigures& floor) const {
    std::this_thread::sleep_for(scenario_.settle);
    for (const auto& [contender, figures] :
         {std::pair{agent_.get(), &agent}, {floor_.get(), &floor}}) {
      const Result<MemoryFigures> read = memory_of(contender->pid());
      if (!read) return read.error();
      *figures = *read;
    }
    return Done{};
  }

  Status prefer() {
    const auto timed = alternate("GetPreferredAllocation", preferences_, scenario_.preferences);
    if (!timed) return timed.error();
    measured_.agent.prefer = timed->agent;
    measured_.floor.prefer = timed->floor;
    return memories(measured_.agent.worked, measured_.floor.worked);
  }

  // Both at once: neither does anything.
  Status rest() {
    if (scenario_.rest.count() == 0) return Done{};
    const Result<Pair<ActivityFigures>> before = activities();
    if (!before) return before.error();
    std::this_thread::sleep_for(scenario_.rest);
    const Result<Pair<ActivityFigures>> after = activities();
    if (!after) return after.error();
    measured_.agent.rest = rest_between(before->agent, after->agent, scenario_.rest);
    measured_.floor.rest = rest_between(before->floor, after->floor, scenario_.rest);
    return Done{};
  }

  Result<Pair<ActivityFigures>> activities() const {
    const Result<ActivityFigures> agent = activity_of(agent_->pid());
    if (!agent) return agent.error();
    const Result<ActivityFigures> floor = activity_of(floor_->pid());
    if (!floor) return floor.error();
    return Pair<ActivityFigures>{*agent, *floor};
  }

  Status stop() {
    if (Status restarted = restart_kubelets(); !restarted) return restarted;
    for (const auto& [contender, times, side] :
         {std::tuple{&agent_, &stops_.agent, &measured_.agent},
          std::tuple{&floor_, &stops_.floor, &measured_.floor}}) {
      const Result<std::chrono::nanoseconds> took = (*contender)->stop();
      if (!took) return took.error();
      times->push_back(ms(*took));
      side->stop_ms = median(*times);
      contender->reset();
    }
    return Done{};
  }

  Status restart_kubelets() {
    for (const auto& [contender, times, side] :
         {std::tuple{&agent_, &restarts_.agent, &measured_.agent},
          std::tuple{&floor_, &restarts_.floor, &measured_.floor}}) {
      const Result<std::chrono::nanoseconds> took = (*contender)->restart_kubelet();
      if (!took) return took.error();
      times->push_back(ms(*took));
      side->restart_to_registered_ms = median(*times);
    }
    return Done{};
  }

  const Scenario& scenario_;
  const std::string folder_;
  const Program agent_program_;
  const Program floor_program_;
  Requests allocations_;
  Requests preferences_;
  std::unique_ptr<Contender> agent_;
  std::unique_ptr<Contender> floor_;
  Pair<StartTimes> times_;
  Pair<std::vector<double>> restarts_;
  Pair<std::vector<double>> stops_;
  Measurement measured_;
};

}  // namespace

Result<Measurement> measure(const Programs& programs, const Scenario& scenario,
                            const std::string& folder) {
  return Bout(programs, scenario, folder).run();
}

}  // namespace tranche::bench
