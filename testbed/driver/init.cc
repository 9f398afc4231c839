// SPDX-License-Identifier: Apache-2.0
//
// Beginning and ending a session, and what codes mean.
#include "testbed/driver/call.h"

using namespace tranche::testbed::sim;  // NOLINT(google-build-using-namespace)

extern "C" {

abi::Return nvmlInit() {
  return with_session([](Session& session) { return session.begin("nvmlInit"); });
}

abi::Return nvmlInit_v2() {
  return with_session([](Session& session) { return session.begin("nvmlInit_v2"); });
}

// The flags only keep the call from failing or from touching GPUs, and this one
// does neither.
abi::Return nvmlInitWithFlags(unsigned) {
  return with_session([](Session& session) { return session.begin("nvmlInitWithFlags"); });
}

abi::Return nvmlShutdown() {
  return with_session([](Session& session) { return session.end("nvmlShutdown"); });
}

const char* nvmlErrorString(abi::Return code) {
  switch (code) {
    case abi::kSuccess: return "The operation was successful";
    case abi::kUninitialized: return "NVML was not first initialized with nvmlInit()";
    case abi::kInvalidArgument: return "A supplied argument is invalid";
    case abi::kNotSupported: return "The requested operation is not available on the target device";
    case abi::kNoPermission: return "The current user does not have permission for the operation";
    case abi::kNotFound: return "A query to find an object was unsuccessful";
    case abi::kInsufficientSize: return "An input argument is not large enough";
    case abi::kDriverNotLoaded: return "The NVIDIA driver is not loaded";
    case abi::kTimeout: return "User provided timeout passed";
    case abi::kLibraryNotFound: return "The NVML shared library could not be found or loaded";
    case abi::kFunctionNotFound:
      return "The local version of NVML does not implement this function";
    case abi::kCorruptedInforom: return "The infoROM is corrupted";
    case abi::kGpuIsLost: return "The GPU has fallen off the bus or has become inaccessible";
    case abi::kResetRequired: return "The GPU requires a reset before it can be used again";
    case abi::kOperatingSystem:
      return "The GPU control device has been blocked by the operating system";
    case abi::kLibRmVersionMismatch: return "RM detects a driver/library version mismatch";
    case abi::kInUse: return "The GPU is currently in use";
    case abi::kInsufficientResources: return "Ran out of critical resources, other than memory";
    case abi::kArgumentVersionMismatch: return "The provided version is invalid or unsupported";
    default: return "Unknown Error";
  }
}

}  // extern "C"
