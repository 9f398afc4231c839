// SPDX-License-Identifier: Apache-2.0
//
// What is said of the driver as a whole.
#include <algorithm>
#include <string>

#include "testbed/driver/call.h"

using namespace tranche::testbed::sim;  // NOLINT(google-build-using-namespace)

extern "C" {

abi::Return nvmlSystemGetDriverVersion(char* version, unsigned length) {
  return call(__func__,
              [&](Call& call) { return copy_text(call.world().driver.version, version, length); });
}

// The CUDA generation and the driver's version: "13.580.105.08".
abi::Return nvmlSystemGetNVMLVersion(char* version, unsigned length) {
  return call(__func__, [&](Call& call) {
    const Driver& driver = call.world().driver;
    return copy_text(std::to_string(driver.cuda_major) + "." + driver.version, version, length);
  });
}

abi::Return nvmlSystemGetCudaDriverVersion(int* version) {
  return call(__func__, [&](Call& call) {
    const Driver& driver = call.world().driver;
    return answer(version, driver.cuda_major * 1000 + driver.cuda_minor * 10);
  });
}

abi::Return nvmlSystemGetCudaDriverVersion_v2(int* version) {
  return call(__func__, [&](Call& call) {
    const Driver& driver = call.world().driver;
    return answer(version, driver.cuda_major * 1000 + driver.cuda_minor * 10);
  });
}

abi::Return nvmlSystemGetProcessName(unsigned pid, char* name, unsigned length) {
  return call(__func__, [&](Call& call) -> abi::Return {
    for (const Gpu& gpu : call.world().gpus) {
      const auto process = std::ranges::find(gpu.processes, pid, &Process::pid);
      if (process != gpu.processes.end()) return copy_text(process->name, name, length);
    }
    return abi::kNotFound;
  });
}

}  // extern "C"
