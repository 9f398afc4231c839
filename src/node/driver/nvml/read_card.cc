// SPDX-License-Identifier: Apache-2.0
#include "node/driver/nvml/read_card.h"

#include <array>

namespace tranche::node::nvml {
namespace {

struct Value {
  const char* function;
  abi::Return (*read)(const Functions&, abi::Device);
};

constexpr int kGpuSensor = 0;
constexpr int kUncorrected = 1;
constexpr int kSinceReset = 0;

// The driver or the card's firmware reads each of these from the card, in a fraction of a
// millisecond. Those that most cards have come first.
constexpr std::array<Value, 4> kValues = {{
    {"nvmlDeviceGetTemperature",
     [](const Functions& api, abi::Device handle) {
       unsigned celsius = 0;
       return api.temperature == nullptr ? abi::kFunctionNotFound
                                         : api.temperature(handle, kGpuSensor, &celsius);
     }},
    {"nvmlDeviceGetPowerUsage",
     [](const Functions& api, abi::Device handle) {
       unsigned milliwatts = 0;
       return api.power_usage == nullptr ? abi::kFunctionNotFound
                                         : api.power_usage(handle, &milliwatts);
     }},
    {"nvmlDeviceGetPcieReplayCounter",
     [](const Functions& api, abi::Device handle) {
       unsigned replays = 0;
       return api.pcie_replays == nullptr ? abi::kFunctionNotFound
                                          : api.pcie_replays(handle, &replays);
     }},
    {"nvmlDeviceGetTotalEccErrors",
     [](const Functions& api, abi::Device handle) {
       unsigned long long errors = 0;
       return api.ecc_errors == nullptr
                  ? abi::kFunctionNotFound
                  : api.ecc_errors(handle, kUncorrected, kSinceReset, &errors);
     }},
}};

bool is_unsupported(abi::Return code) {
  return code == abi::kNotSupported || code == abi::kFunctionNotFound ||
         code == abi::kNoPermission || code == abi::kInvalidArgument;
}

}  // namespace

CardReading read_card(const Session& session, abi::Device handle, Witness& witness) {
  CardReading reading;
  for (const Value& value : kValues) {
    const abi::Return code = witness.hear(value.function, value.read(session.api(), handle));
    if (code == abi::kSuccess) return {.answered = true};
    if (is_unsupported(code)) continue;
    // Perhaps only this value fails: try the next.
    if (!reading.failure) reading.failure = failure_of(session.library(), value.function, code);
  }
  return reading;
}

}  // namespace tranche::node::nvml
