// SPDX-License-Identifier: Apache-2.0
#include "node/driver/nvml/session.h"

namespace tranche::node::nvml {

Result<std::shared_ptr<const Session>> Session::open(std::shared_ptr<const Library> library) {
  const abi::Return code = library->api().init();
  if (code != abi::kSuccess) {
    return Error{ErrorCode::kUnavailable, library->describe("nvmlInit", code)};
  }
  // From here on, the destructor shuts the driver down.
  return std::shared_ptr<const Session>(new Session(std::move(library)));
}

Session::~Session() { api().shutdown(); }

Result<std::shared_ptr<const EventSet>> EventSet::create(std::shared_ptr<const Session> session) {
  const Functions& api = session->api();
  const bool has_wait = api.event_set_wait != nullptr || api.event_set_wait_v1 != nullptr;
  const bool has_all = api.event_set_create != nullptr && api.event_set_free != nullptr &&
                       api.supported_events != nullptr && api.register_events != nullptr;
  if (!has_wait || !has_all) {
    return Error{ErrorCode::kNotFound, "the driver's library has no events"};
  }
  abi::EventSet handle = nullptr;
  const abi::Return code = api.event_set_create(&handle);
  if (code != abi::kSuccess) {
    return Error{ErrorCode::kUnavailable, session->library().describe("nvmlEventSetCreate", code)};
  }
  return std::shared_ptr<const EventSet>(new EventSet(std::move(session), handle));
}

EventSet::~EventSet() { session_->api().event_set_free(handle_); }

abi::Return EventSet::wait(abi::EventData& data, unsigned timeout_ms) const {
  const Functions& api = session_->api();
  data.gpu_instance_id = abi::kNoInstance;
  data.compute_instance_id = abi::kNoInstance;
  const auto call = api.event_set_wait != nullptr ? api.event_set_wait : api.event_set_wait_v1;
  return call(handle_, &data, timeout_ms);
}

}  // namespace tranche::node::nvml
