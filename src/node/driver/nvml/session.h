// SPDX-License-Identifier: Apache-2.0
//
// One session with the driver, from init to shutdown, and the sets in it that
// events come from. Each ends when its last user lets go of it; a call that
// never came back is such a user, and the library stays loaded under it.
#pragma once

#include <memory>
#include <utility>

#include "base/result.h"
#include "node/driver/nvml/library.h"

namespace tranche::node::nvml {

// Opening the driver wakes every GPU that is asleep, one after the other: it may
// take so many times as long as calls about one GPU.
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
  // kNotFound where the library knows no events.
  static Result<std::shared_ptr<const EventSet>> create(std::shared_ptr<const Session> session);

  EventSet(const EventSet&) = delete;
  EventSet& operator=(const EventSet&) = delete;
  ~EventSet();

  abi::EventSet handle() const { return handle_; }

  // Waits for one event. Instances are kNoInstance where none is named.
  abi::Return wait(abi::EventData& data, unsigned timeout_ms) const;

 private:
  EventSet(std::shared_ptr<const Session> session, abi::EventSet handle)
      : session_(std::move(session)), handle_(handle) {}

  const std::shared_ptr<const Session> session_;
  const abi::EventSet handle_;
};

}  // namespace tranche::node::nvml
