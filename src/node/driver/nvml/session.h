// SPDX-License-Identifier: Apache-2.0
//
// A driver session, from init to shutdown, and its event sets. Each ends with its last user. A call
// that never returned is one, and keeps the library loaded.
#pragma once

#include <memory>
#include <utility>

#include "base/result.h"
#include "node/driver/nvml/library.h"

namespace tranche::node::nvml {

// Opening the driver wakes every GPU, one after the other, so its deadline is this many times
// longer than that of calls for one GPU.
inline constexpr int kPatienceToOpen = 3;

class Session {
 public:
  static Result<std::shared_ptr<const Session>> open(std::shared_ptr<const Library> library);

  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session();

  const Library& library() const { return *library_; }
  const Functions& api() const { return library_->api(); }

 private:
  explicit Session(std::shared_ptr<const Library> library) : library_(std::move(library)) {}

  const std::shared_ptr<const Library> library_;
};

class EventSet {
 public:
  // kNotFound: the library has no events.
  static Result<std::shared_ptr<const EventSet>> create(std::shared_ptr<const Session> session);

  EventSet(const EventSet&) = delete;
  EventSet& operator=(const EventSet&) = delete;
  ~EventSet();

  abi::EventSet handle() const { return handle_; }

  // Waits for one event. Instances are kNoInstance if the event names none.
  abi::Return wait(abi::EventData& data, unsigned timeout_ms) const;

 private:
  EventSet(std::shared_ptr<const Session> session, abi::EventSet handle)
      : session_(std::move(session)), handle_(handle) {}

  const std::shared_ptr<const Session> session_;
  const abi::EventSet handle_;
};

}  // namespace tranche::node::nvml
