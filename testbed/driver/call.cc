// SPDX-License-Identifier: Apache-2.0
#include "testbed/driver/call.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>

#include "testbed/driver/branch_limit.h"

namespace tranche::testbed::sim {
namespace {

// A body found that its call is blocked: wait for another world and run again.
constexpr abi::Return kBlocked = -1;
// The fault that it found, of this thread's call.
thread_local std::uint64_t blocking_fault = 0;

// The process's session. It is made by the first call and taken away when the
// library is unloaded, unless a call is still in it: then it is left behind,
// since the thread that is stuck would wake up in freed memory.
constinit std::atomic<Session*> the_session = nullptr;
constinit std::atomic<int> calls_inside = 0;
constinit std::atomic<bool> unloaded = false;

class Inside {
 public:
  Inside() { ++calls_inside; }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
  ~Inside() { --calls_inside; }

  Session* session() const {
    Session* current = the_session.load();
    if (current != nullptr || unloaded.load()) return current;
    auto fresh = std::make_unique<Session>();
    if (the_session.compare_exchange_strong(current, fresh.get())) return fresh.release();
    return current;
  }
};

[[gnu::destructor]] void unload() {
  unloaded.store(true);
  Session* last = the_session.exchange(nullptr);
  if (calls_inside.load() == 0) delete last;
}

// A session only knows the GPUs it began with, and each only until its reset.
bool is_known(const Call& call, const Gpu& gpu) {
  const auto seen = call.session.gpus();
  return std::ranges::any_of(*seen, [&](const SeenGpu& each) {
    return each.uuid == gpu.uuid && each.generation == gpu.generation;
  });
}

// Also where the fault blocks a number of calls, and later ones pass.
void wait_until_gone(LiveWorld& live, Snapshot seen, std::uint64_t fault) {
  while (std::ranges::count(seen->faults, fault, &CallFault::number) > 0) {
    live.wait(seen, LiveWorld::Time::max());
    const Result<Snapshot> now = live.now();
    if (!now) return;
    seen = *now;
  }
}

abi::Return run(Session& session, std::string_view function,
                const std::function<abi::Return(Call&)>& body) {
  while (true) {
    std::shared_ptr<LiveWorld> live = session.live();
    if (!live) return abi::kUninitialized;
    Result<Snapshot> snapshot = live->now();
    if (!snapshot) return abi::kUnknown;
    Call call{session, live, *snapshot, function};
    abi::Return result = kBlocked;
    const Session::Verdict verdict = session.judge(call.world(), function, {});
    if (verdict.blocks) blocking_fault = verdict.fault;
    if (!verdict.blocks) {
      result = verdict.code;
      if (result == abi::kSuccess && !call.world().driver.loaded) result = abi::kDriverNotLoaded;
      if (result == abi::kSuccess) result = body(call);
    }
    if (result != kBlocked) return result;
    wait_until_gone(*live, *snapshot, blocking_fault);
  }
}

// Fills the target's instances; false where the MIG device is no more.
bool find_mig(Target& target, const MigUuid& uuid) {
  for (const auto& [instance, compute] : list_mig_devices(target.gpu)) {
    if (compute->uuid != uuid) continue;
    target.gpu_instance = instance;
    target.compute_instance = compute;
    return true;
  }
  return false;
}

}  // namespace

unsigned Call::branch() const { return std::min(branch_of(world().driver), branch_limit()); }

abi::Return with_session(const std::function<abi::Return(Session&)>& body) noexcept {
  try {
    const Inside inside;
    Session* session = inside.session();
    return session == nullptr ? abi::kUninitialized : body(*session);
  } catch (...) {
    // Out of memory, at most. A C caller cannot be thrown at.
    return abi::kUnknown;
  }
}

abi::Return call(std::string_view function,
                 const std::function<abi::Return(Call&)>& body) noexcept {
  return with_session([&](Session& session) { return run(session, function, body); });
}

abi::Return reach(Call& call, const GpuUuid& uuid, const Gpu*& gpu) {
  const Session::Verdict verdict =
      call.session.judge(call.world(), call.function, std::span(&uuid, 1));
  if (verdict.blocks) {
    blocking_fault = verdict.fault;
    return kBlocked;
  }
  if (verdict.code != abi::kSuccess) return verdict.code;
  gpu = find_gpu(call.world(), uuid);
  if (gpu == nullptr || !is_known(call, *gpu)) return abi::kGpuIsLost;
  const bool gone = gpu->state == Gpu::State::kLost || gpu->state == Gpu::State::kOffBus;
  return gone ? abi::kGpuIsLost : abi::kSuccess;
}

abi::Return on_device(std::string_view function, abi::Device device, Need need,
                      const std::function<abi::Return(Target&)>& body) noexcept {
  return call(function, [&](Call& call) -> abi::Return {
    const DeviceName* name = call.session.devices.find(device);
    if (name == nullptr) return abi::kInvalidArgument;
    const Gpu* gpu = nullptr;
    if (const abi::Return reached = reach(call, name->gpu, gpu); reached != abi::kSuccess) {
      return reached;
    }
    Target target{call, *gpu};
    // Its instance was destroyed: the handle means nothing any more.
    if (!name->mig.empty() && !find_mig(target, name->mig)) return abi::kInvalidArgument;
    if (need != Need::kRemembered && gpu->state == Gpu::State::kUnreachable) {
      return abi::kGpuIsLost;
    }
    if (need == Need::kWork && gpu->state == Gpu::State::kResetRequired) {
      return abi::kResetRequired;
    }
    return body(target);
  });
}

abi::Return on_gpu(std::string_view function, abi::Device device, Need need,
                   const std::function<abi::Return(Target&)>& body) noexcept {
  return on_device(function, device, need, [&](Target& target) {
    return target.is_mig() ? abi::kNotSupported : body(target);
  });
}

abi::Return on_mig_device(std::string_view function, abi::Device device,
                          const std::function<abi::Return(Target&)>& body) noexcept {
  return on_device(function, device, Need::kIdentity, [&](Target& target) {
    return target.is_mig() ? body(target) : abi::kInvalidArgument;
  });
}

abi::Return on_pair(std::string_view function, abi::Device a, abi::Device b,
                    const std::function<abi::Return(Target&, const Gpu&)>& body) noexcept {
  return on_gpu(function, a, Need::kIdentity, [&](Target& target) -> abi::Return {
    const DeviceName* name = target.call.session.devices.find(b);
    if (name == nullptr) return abi::kInvalidArgument;
    if (!name->mig.empty()) return abi::kNotSupported;
    const Gpu* other = nullptr;
    const abi::Return reached = reach(target.call, name->gpu, other);
    return reached == abi::kSuccess ? body(target, *other) : reached;
  });
}

abi::Device handle_of(Call& call, const Gpu& gpu) {
  const DeviceName* name = call.session.devices.give({gpu.uuid, {}});
  // Opaque to the client, and never written through.
  return reinterpret_cast<abi::Device>(const_cast<DeviceName*>(name));
}

abi::Device handle_of(Call& call, const Gpu& gpu, const ComputeInstance& mig) {
  const DeviceName* name = call.session.devices.give({gpu.uuid, mig.uuid});
  return reinterpret_cast<abi::Device>(const_cast<DeviceName*>(name));
}

abi::Return copy_text(std::string_view text, char* to, unsigned length) {
  if (to == nullptr) return abi::kInvalidArgument;
  if (text.size() + 1 > length) return abi::kInsufficientSize;
  std::memcpy(to, text.data(), text.size());
  to[text.size()] = '\0';
  return abi::kSuccess;
}

}  // namespace tranche::testbed::sim
