// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cerrno>
#include <string>
#include <string_view>
#include <system_error>

#include "base/result.h"

namespace tranche::os {

// The error of the system call that just failed: "opening /x: No such file or
// directory".
inline Error errno_error(std::string_view doing, int error = errno) {
  const ErrorCode code = error == ENOENT ? ErrorCode::kNotFound : ErrorCode::kUnavailable;
  return Error{code, std::generic_category().message(error)}.in(doing);
}

}  // namespace tranche::os
