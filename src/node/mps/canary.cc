// SPDX-License-Identifier: Apache-2.0
#include "node/mps/canary.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string_view>

#include "core/mps/control_words.h"

namespace tranche::node {
namespace {

// The part of cuda.h that is called.
using CuResult = int;
constexpr CuResult kOutOfMemory = 2;
constexpr CuResult kMpsServerNotReady = 807;
constexpr CuResult kMpsMaxClientsReached = 808;
constexpr CuResult kMpsMaxConnectionsReached = 809;
constexpr CuResult kMpsClientTerminated = 810;
constexpr std::size_t kMiB = 1 << 20;
// The parent kills us earlier, unless it has died.
constexpr unsigned kLastResortSeconds = 60;

struct Cuda {
  CuResult (*init)(unsigned) = nullptr;
  CuResult (*device_count)(int*) = nullptr;
  CuResult (*device)(int*, int) = nullptr;
  CuResult (*create_context)(void**, unsigned, int) = nullptr;
  CuResult (*destroy_context)(void*) = nullptr;
  CuResult (*allocate)(std::uint64_t*, std::size_t) = nullptr;
  CuResult (*free)(std::uint64_t) = nullptr;
};

template <typename Function>
bool find(void* library, const char* name, Function& place) {
  place = reinterpret_cast<Function>(::dlsym(library, name));
  return place != nullptr;
}

bool find_all(void* library, Cuda& cuda) {
  return find(library, "cuInit", cuda.init) &&
         find(library, "cuDeviceGetCount", cuda.device_count) &&
         find(library, "cuDeviceGet", cuda.device) &&
         find(library, "cuCtxCreate_v2", cuda.create_context) &&
         find(library, "cuCtxDestroy_v2", cuda.destroy_context) &&
         find(library, "cuMemAlloc_v2", cuda.allocate) && find(library, "cuMemFree_v2", cuda.free);
}

// The exit code for a call's result; prints failures.
int judge(std::string_view call, CuResult code) {
  if (code == 0) return kCanaryThrough;
  // Served, but full: caused by other clients, no fault.
  if (code == kOutOfMemory || code == kMpsMaxClientsReached || code == kMpsMaxConnectionsReached) {
    return kCanaryFull;
  }
  // Served, until it was terminated with permission; the server reports faults itself.
  if (code == kMpsClientTerminated) return kCanaryFull;
  std::printf("%.*s: CUDA error %d\n", static_cast<int>(call.size()), call.data(), code);
  // The server recovers from a fault or has just started.
  return code == kMpsServerNotReady ? kCanaryNotReady : kCanaryFailed;
}

int try_device(const Cuda& cuda, int ordinal) {
  int device = 0;
  if (const int code = judge("cuDeviceGet", cuda.device(&device, ordinal)); code != 0) return code;
  void* context = nullptr;
  if (const int code = judge("cuCtxCreate", cuda.create_context(&context, 0, device)); code != 0) {
    return code;
  }
  std::uint64_t pointer = 0;
  if (const int code = judge("cuMemAlloc", cuda.allocate(&pointer, kMiB)); code != 0) return code;
  if (const int code = judge("cuMemFree", cuda.free(pointer)); code != 0) return code;
  return judge("cuCtxDestroy", cuda.destroy_context(context));
}

}  // namespace

int run_mps_canary(const std::string& libcuda) {
  ::alarm(kLastResortSeconds);
  void* library = ::dlopen(libcuda.empty() ? "libcuda.so.1" : libcuda.c_str(), RTLD_NOW);
  Cuda cuda;
  if (library == nullptr || !find_all(library, cuda)) {
    const char* reason = ::dlerror();  // NOLINT(concurrency-mt-unsafe): glibc's is per thread
    std::printf("%s\n", reason == nullptr ? "a function is missing" : reason);
    return kCanaryNoLibrary;
  }
  if (const int code = judge("cuInit", cuda.init(0)); code != 0) return code;
  int count = 0;
  if (const int code = judge("cuDeviceGetCount", cuda.device_count(&count)); code != 0) return code;
  int worst = kCanaryThrough;
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    const int code = try_device(cuda, ordinal);
    if (code == kCanaryFailed || code == kCanaryNotReady) return code;
    if (code != 0) worst = code;
  }
  if (count == 0) std::puts("cuDeviceGetCount: no device");
  return count == 0 ? kCanaryFailed : worst;
}

}  // namespace tranche::node
