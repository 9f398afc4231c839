// SPDX-License-Identifier: Apache-2.0
//
// The wire's messages as the transcript writes them: everything that is in
// them, in the order in which it was sent. Pure.
#pragma once

#include <grpcpp/support/status.h>

#include <nlohmann/json.hpp>

#include "deviceplugin_v1beta1.pb.h"

namespace tranche::testbed::recorder {

// Keeps its fields in the order in which they were written.
using Json = nlohmann::ordered_json;

// The fields that a request adds to its event.
Json question(const v1beta1::Empty& request);
Json question(const v1beta1::RegisterRequest& request);
Json question(const v1beta1::PreferredAllocationRequest& request);
Json question(const v1beta1::AllocateRequest& request);
Json question(const v1beta1::PreStartContainerRequest& request);

// The value of the field "answer".
Json answer(const v1beta1::Empty& response);
Json answer(const v1beta1::DevicePluginOptions& response);
Json answer(const v1beta1::PreferredAllocationResponse& response);
Json answer(const v1beta1::AllocateResponse& response);
Json answer(const v1beta1::PreStartContainerResponse& response);

// The value of the field "devices". A device without topology has no field
// "numa"; one with an empty topology, which the kubelet treats differently, has
// an empty one.
Json devices(const v1beta1::ListAndWatchResponse& list);

// The value of the field "error": Go's name of the code, and the message.
Json error(const grpc::Status& status);

}  // namespace tranche::testbed::recorder
