// SPDX-License-Identifier: Apache-2.0
//
// The modes of the program.
#pragma once

#include <stop_token>

#include "kube/api_client.h"
#include "kube/json.h"
#include "testbed/api_client/flags.h"

namespace tranche::testbed::api_client {

// Until the end of standard input.
void make_calls(ApiClient& client);
void make_events(ApiClient& client);
void print_changes(ApiClient& client, const Flags& flags, const std::stop_token& stop);
void keep_lease(ApiClient& client, const Flags& flags, const std::stop_token& stop);

// One line of standard output, at once.
void print(const Json& line);
// The next line of standard input; false: there is none. What is no JSON ends the program.
bool next_line(Json& line);

}  // namespace tranche::testbed::api_client
