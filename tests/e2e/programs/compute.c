// SPDX-License-Identifier: Apache-2.0
//
// Computes something small on the first GPU it is given, and checks it. Loads the
// driver by name, so that it is built without CUDA; the kernel is PTX, which the
// driver compiles.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

enum { kNumbers = 1 << 20, kThreads = 256 };

static const char kKernel[] =
    ".version 7.0\n"
    ".target sm_50\n"
    ".address_size 64\n"
    ".visible .entry twice_plus_one(.param .u64 numbers, .param .u32 count) {\n"
    "  .reg .pred %p; .reg .b32 %r<6>; .reg .b64 %d<4>;\n"
    "  mov.u32 %r0, %ctaid.x; mov.u32 %r1, %ntid.x; mov.u32 %r2, %tid.x;\n"
    "  mad.lo.s32 %r3, %r0, %r1, %r2;\n"
    "  ld.param.u32 %r4, [count];\n"
    "  setp.ge.u32 %p, %r3, %r4;\n"
    "  @%p bra end;\n"
    "  ld.param.u64 %d0, [numbers]; cvta.to.global.u64 %d1, %d0;\n"
    "  mul.wide.u32 %d2, %r3, 4; add.s64 %d3, %d1, %d2;\n"
    "  ld.global.u32 %r5, [%d3]; mad.lo.s32 %r5, %r5, 2, 1; st.global.u32 [%d3], %r5;\n"
    "end: ret;\n"
    "}\n";

static void* driver;

// Calls a function of the driver; all of them answer 0 for success.
#define CALL(name, types, ...)                                       \
  do {                                                               \
    int(*function) types = (int(*) types)dlsym(driver, name);        \
    const int answer = function ? function(__VA_ARGS__) : -1;        \
    if (answer != 0) {                                               \
      printf("%s failed with %d\n", name, answer);                   \
      return 1;                                                      \
    }                                                                \
  } while (0)

int main(void) {
  driver = dlopen("libcuda.so.1", RTLD_NOW);
  if (driver == NULL) {
    printf("%s\n", dlerror());
    return 1;
  }
  int count = 0;
  int device = 0;
  char name[96] = "";
  void *context = NULL, *module = NULL, *kernel = NULL;
  unsigned long long memory = 0;
  CALL("cuInit", (unsigned), 0);
  CALL("cuDeviceGetCount", (int*), &count);
  CALL("cuDeviceGet", (int*, int), &device, 0);
  CALL("cuDeviceGetName", (char*, int, int), name, sizeof name, device);
  CALL("cuDevicePrimaryCtxRetain", (void**, int), &context, device);
  CALL("cuCtxSetCurrent", (void*), context);
  CALL("cuModuleLoadData", (void**, const void*), &module, kKernel);
  CALL("cuModuleGetFunction", (void**, void*, const char*), &kernel, module, "twice_plus_one");

  unsigned* numbers = calloc(kNumbers, sizeof *numbers);
  for (unsigned i = 0; i < kNumbers; ++i) numbers[i] = i;
  const size_t bytes = kNumbers * sizeof *numbers;
  unsigned how_many = kNumbers;
  void* arguments[] = {&memory, &how_many};
  CALL("cuMemAlloc_v2", (unsigned long long*, size_t), &memory, bytes);
  CALL("cuMemcpyHtoD_v2", (unsigned long long, const void*, size_t), memory, numbers, bytes);
  CALL("cuLaunchKernel",
       (void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**,
        void**),
       kernel, kNumbers / kThreads, 1, 1, kThreads, 1, 1, 0, NULL, arguments, NULL);
  CALL("cuCtxSynchronize", (void));
  CALL("cuMemcpyDtoH_v2", (void*, unsigned long long, size_t), numbers, memory, bytes);
  for (unsigned i = 0; i < kNumbers; ++i) {
    if (numbers[i] != 2 * i + 1) {
      printf("number %u is %u\n", i, numbers[i]);
      return 1;
    }
  }
  printf("computed on %s, 1 of %d\n", name, count);
  return 0;
}
