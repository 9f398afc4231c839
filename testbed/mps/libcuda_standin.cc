// SPDX-License-Identifier: Apache-2.0
//
// A libcuda.so.1 for a canary on a machine without a GPU: as much of it as a
// client of MPS does that asks for a context and some memory.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "testbed/mps/standin_talk.h"

namespace {

constexpr int kMpsConnectionFailed = 805;

// The connection is the client's life, and the process's.
tranche::testbed::UniqueFd& connection() {
  static tranche::testbed::UniqueFd fd;
  return fd;
}

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): the driver's names
extern "C" {

int cuInit(unsigned) {
  const char* folder = std::getenv("CUDA_MPS_PIPE_DIRECTORY");
  connection() = tranche::testbed::mps_standin::connect_to(
      std::string(folder == nullptr ? "/tmp/nvidia-mps" : folder) + "/control");
  // As the real one: no daemon is there, so it runs without.
  if (!connection()) return 0;
  tranche::testbed::mps_standin::say(connection().get(), "client");
  const std::string answer = tranche::testbed::mps_standin::hear(connection().get());
  return answer == "\n" ? kMpsConnectionFailed : std::atoi(answer.c_str());
}

int cuDeviceGetCount(int* count) {
  *count = 1;
  return 0;
}

int cuDeviceGet(int* device, int ordinal) {
  *device = ordinal;
  return 0;
}

int cuCtxCreate_v2(void** context, unsigned, int) {
  *context = &connection();
  return 0;
}

int cuCtxDestroy_v2(void*) { return 0; }

int cuMemAlloc_v2(std::uint64_t* pointer, std::size_t) {
  *pointer = 1;
  return 0;
}

int cuMemFree_v2(std::uint64_t) { return 0; }

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
