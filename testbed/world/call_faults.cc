// SPDX-License-Identifier: Apache-2.0
//
// Calls that fail or do not return.
#include <utility>

#include "testbed/world/changes.h"

namespace tranche::testbed::sim {
namespace {

Change add_fault(CallFault fault, std::optional<GpuRef> gpu) {
  return [fault = std::move(fault), gpu = std::move(gpu)](World world) mutable -> Result<World> {
    if (!fault.call.starts_with("nvml")) {
      return Error{ErrorCode::kInvalidArgument,
                   "'" + fault.call + "' is no function of the driver's library: nvml…"};
    }
    if (fault.field && fault.call != kFieldCall) {
      return Error{ErrorCode::kInvalidArgument, "a field fails in nvmlDeviceGetFieldValues"};
    }
    if (gpu) {
      const Result<std::size_t> position = gpu->position_in(world);
      if (!position) return position.error();
      fault.gpu = world.gpus[*position].uuid;
    }
    fault.number = world.next_number++;
    world.faults.push_back(fault);
    return world;
  };
}

}  // namespace

Change block_call(std::string call, std::optional<GpuRef> gpu, std::optional<unsigned> times) {
  return add_fault({.call = std::move(call), .blocks = true, .times = times}, std::move(gpu));
}

Change fail_call(Failure failure) {
  return add_fault({.call = std::move(failure.call),
                    .field = failure.field,
                    .code = failure.code,
                    .times = failure.times},
                   std::move(failure.gpu));
}

Change clear_faults(std::string call) {
  return [call = std::move(call)](World world) -> Result<World> {
    std::erase_if(world.faults,
                  [&](const CallFault& fault) { return call.empty() || fault.call == call; });
    return world;
  };
}

}  // namespace tranche::testbed::sim
