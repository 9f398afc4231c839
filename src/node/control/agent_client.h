// SPDX-License-Identifier: Apache-2.0
//
// Asks a running agent. kUnavailable: none runs. kInternal: one may run, but does not answer, does
// not know the call, or refuses us.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace tranche::node {

Result<std::string> ask_status(const std::string& socket);
Result<std::string> ask_release(const std::string& socket, const std::vector<std::string>& gpus);
Result<std::string> ask_resume(const std::string& socket);
Result<std::string> ask_forget_numbers(const std::string& socket,
                                       const std::vector<std::string>& numbers);

}  // namespace tranche::node
