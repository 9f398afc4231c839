// SPDX-License-Identifier: Apache-2.0
//
// Log level and format.
#pragma once

namespace tranche::base {

enum class LogLevel { kDebug, kInfo, kWarning, kError };
enum class LogFormat { kText, kJson };

}  // namespace tranche::base
