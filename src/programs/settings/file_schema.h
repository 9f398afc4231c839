// SPDX-License-Identifier: Apache-2.0
//
// Every key of the agent's configuration file. Constant data: any thread.
#pragma once

#include "os/settings/schema.h"

namespace tranche::programs {

const Schema& file_schema();

}  // namespace tranche::programs
