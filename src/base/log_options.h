// SPDX-License-Identifier: Apache-2.0
//
// How much is logged, and in which form.
#pragma once

namespace tranche::base {

enum class LogLevel { kDebug, kInfo, kWarning, kError };
enum class LogFormat { kText, kJson };

}  // namespace tranche::base
