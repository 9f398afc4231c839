// SPDX-License-Identifier: Apache-2.0
//
// Between the wire's messages and our values. Pure.
#pragma once

#include <grpcpp/support/status.h>

#include <string>
#include <vector>

#include "base/result.h"
#include "deviceplugin_v1beta1.pb.h"
#include "testbed/kubelet/values.h"

namespace tranche::testbed::standin {

ContainerResponse from_wire(const v1beta1::ContainerAllocateResponse& message);
v1beta1::ContainerAllocateResponse to_wire(const ContainerResponse& response);

std::vector<Device> from_wire(const v1beta1::ListAndWatchResponse& message);

// Go's name of the code: "DeadlineExceeded".
std::string code_name(grpc::StatusCode code);

// "rpc error: code = Unavailable desc = …": how errors of calls read in the
// kubelet's log, in events and in the status of a rejected pod.
std::string rpc_error_text(const grpc::Status& status);
Error rpc_error(const grpc::Status& status);

}  // namespace tranche::testbed::standin
