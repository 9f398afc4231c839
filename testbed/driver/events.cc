// SPDX-License-Identifier: Apache-2.0
//
// Event sets: made, filled with GPUs, waited on.
#include <algorithm>
#include <chrono>
#include <vector>

#include "testbed/driver/call.h"

using namespace tranche::testbed::sim;  // NOLINT(google-build-using-namespace)
using tranche::testbed::GpuUuid;

namespace {

// By what the GPU is and how old the driver.
unsigned long long supported_events(const Target& target) {
  const Model& model = target.gpu.model;
  // Performance state, clock and power source, which nobody raises here.
  unsigned long long types = abi::kEventXid | 0x4 | 0x10 | 0x80;
  if (model.ecc) types |= abi::kEventSingleBitEcc | abi::kEventDoubleBitEcc;
  if (!model.mig.empty()) types |= abi::kEventMigConfigChange;
  // Error storms, memory retirement, poison.
  if (target.call.branch() >= 560 && model.ecc) types |= 0x3E00;
  if (target.call.branch() >= 565) types |= abi::kEventGpuUnavailable | abi::kEventRecoveryAction;
  return types;
}

// One look at the set: an event, a failure, or kTimeout for nothing yet.
abi::Return look(Call& call, EventSet& set, abi::EventData& data) {
  if (const auto event = set.next(call.world())) {
    const Gpu* gpu = find_gpu(call.world(), event->gpu);
    data = {.device = gpu == nullptr ? nullptr : handle_of(call, *gpu),
            .event_type = event->type,
            .event_data = event->data,
            .gpu_instance_id = event->gpu_instance.value_or(abi::kNoInstance),
            .compute_instance_id = event->compute_instance.value_or(abi::kNoInstance)};
    return abi::kSuccess;
  }
  // A GPU that went away spoils the whole set.
  for (const GpuUuid& uuid : set.gpus()) {
    const Gpu* gpu = nullptr;
    if (const abi::Return reached = reach(call, uuid, gpu); reached != abi::kSuccess) {
      return reached;
    }
  }
  return abi::kTimeout;
}

// Each look is a call of its own, so that faults which come meanwhile strike.
abi::Return wait_for_event(std::string_view function, abi::EventSet handle, abi::EventData& data,
                           unsigned timeout_ms) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout_ms);
  while (true) {
    Snapshot seen;
    std::shared_ptr<LiveWorld> live;
    const abi::Return looked = call(function, [&](Call& call) -> abi::Return {
      const std::shared_ptr<EventSet> set = call.session.event_sets.find(handle);
      if (!set) return abi::kInvalidArgument;
      seen = call.snapshot;
      live = call.live;
      return look(call, *set, data);
    });
    if (looked != abi::kTimeout || !live) return looked;
    if (std::chrono::steady_clock::now() >= until) return abi::kTimeout;
    live->wait(seen, until);
  }
}

}  // namespace

extern "C" {

abi::Return nvmlEventSetCreate(abi::EventSet* set) {
  return call(__func__, [&](Call& call) -> abi::Return {
    if (set == nullptr) return abi::kInvalidArgument;
    *set = static_cast<abi::EventSet>(call.session.event_sets.create());
    return abi::kSuccess;
  });
}

abi::Return nvmlEventSetFree(abi::EventSet set) {
  return call(__func__, [&](Call& call) {
    return call.session.event_sets.free(set) ? abi::kSuccess : abi::kInvalidArgument;
  });
}

abi::Return nvmlDeviceGetSupportedEventTypes(abi::Device device, unsigned long long* types) {
  return on_gpu(__func__, device, Need::kRemembered,
                [&](Target& target) { return answer(types, supported_events(target)); });
}

abi::Return nvmlDeviceRegisterEvents(abi::Device device, unsigned long long types,
                                     abi::EventSet set) {
  return on_gpu(__func__, device, Need::kRemembered, [&](Target& target) -> abi::Return {
    const std::shared_ptr<EventSet> known = target.call.session.event_sets.find(set);
    if (!known) return abi::kInvalidArgument;
    if ((types & ~supported_events(target)) != 0) return abi::kNotSupported;
    known->add({target.gpu.uuid, types, target.world().next_number});
    return abi::kSuccess;
  });
}

abi::Return nvmlEventSetWait_v2(abi::EventSet set, abi::EventData* data, unsigned timeout_ms) {
  if (data == nullptr) return call(__func__, [](Call&) { return abi::kInvalidArgument; });
  return wait_for_event(__func__, set, *data, timeout_ms);
}

abi::Return nvmlEventSetWait(abi::EventSet set, abi::EventDataV1* data, unsigned timeout_ms) {
  if (data == nullptr) return call(__func__, [](Call&) { return abi::kInvalidArgument; });
  abi::EventData made{};
  const abi::Return result = wait_for_event(__func__, set, made, timeout_ms);
  if (result == abi::kSuccess) *data = {made.device, made.event_type, made.event_data};
  return result;
}

}  // extern "C"
