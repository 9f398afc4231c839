// SPDX-License-Identifier: Apache-2.0
//
// Result<T>: either a T, or an Error that says what failed.
//
// Functions report a failure that can happen on a healthy node (driver missing, socket gone, bad
// YAML) only in this way. Result is [[nodiscard]], so dropping one does not compile. Bugs are
// asserted; nothing here throws.
#pragma once

#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace tranche::base {

enum class ErrorCode { kInvalidArgument, kNotFound, kUnavailable, kInternal };

struct Error {
  ErrorCode code;
  std::string message;  // no full stop: it gets joined with others

  // Says what the caller was doing: error.in("reading /etc/tranche.yaml").
  [[nodiscard]] Error in(std::string_view doing) const {
    return {code, std::string(doing) + ": " + message};
  }
};

template <typename T>
class [[nodiscard]] Result {
 public:
  // Implicit, so that a function can `return value;` or `return Error{…};`.
  // NOLINTBEGIN(google-explicit-constructor)
  Result(T value) : state_(std::in_place_index<kValue>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<kError>, std::move(error)) {}
  // NOLINTEND(google-explicit-constructor)

  explicit operator bool() const { return state_.index() == kValue; }

  const T& operator*() const& {
    require(kValue);
    return *std::get_if<kValue>(&state_);
  }
  T& operator*() & {
    require(kValue);
    return *std::get_if<kValue>(&state_);
  }
  // By value: `for (auto& x : *list())` must not iterate over a destroyed list.
  T operator*() && {
    require(kValue);
    return std::move(*std::get_if<kValue>(&state_));
  }
  const T* operator->() const { return &**this; }
  T* operator->() { return &**this; }

  const Error& error() const {
    require(kError);
    return *std::get_if<kError>(&state_);
  }

 private:
  static constexpr std::size_t kValue = 0, kError = 1;

  // Reading the wrong side is a bug: stop here, in release builds too.
  void require(std::size_t side) const {
    if (state_.index() != side) std::abort();
  }

  std::variant<T, Error> state_;
};

struct Done {
  bool operator==(const Done&) const = default;
};
using Status = Result<Done>;

}  // namespace tranche::base
