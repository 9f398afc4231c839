// SPDX-License-Identifier: Apache-2.0
//
// Names of our sockets. Each registration has a fresh one: kubelets up to 1.36 mix up two
// registrations of one name, and 1.37 refuses the second.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/sharing/resource_name.h"

namespace tranche::node {

// "tranche-nvidia.com_gpu-5f3a9c01-2.sock": resource, run and attempt. The run keeps two agents,
// and two lives of one resource, apart. Fits a unix address below the kubelet's folder for any
// resource name.
std::string socket_name(const ResourceName& resource, std::string_view run,
                        unsigned long long attempt);

// Whether the name is a Tranche agent's.
bool is_our_socket(std::string_view name);

// Whether a plugin may have registered this resource with a socket of this name: a Tranche agent
// (this one, too), NVIDIA's plugin or Google's.
bool may_serve(std::string_view socket, const ResourceName& resource);

// Whether this run made the name.
bool is_of_run(std::string_view socket, std::string_view run);

// Eight characters that no other run has.
std::string fresh_run();

// Sockets in the folder whose plugin is running and may serve the resource.
std::vector<std::string> living_sockets(const std::string& folder, const ResourceName& resource);

// Removes sockets that earlier agents left in the folder and nobody listens on. Returns their
// names.
Result<std::vector<std::string>> remove_dead_sockets(const std::string& folder);

}  // namespace tranche::node
