// SPDX-License-Identifier: Apache-2.0
//
// Names of our sockets. Each registration has a fresh one: the kubelet mixes up
// two registrations of one name up to 1.36, and refuses the second in 1.37.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/sharing/resource_name.h"

namespace tranche::node {

// "tranche-nvidia.com_gpu-5f3a9c01-2.sock": the resource, whose it is (so that
// neither two agents at once meet nor a resource and its own earlier life), and
// which attempt. Fits a unix address below the kubelet's folder however long the
// resource's name is.
std::string socket_name(const ResourceName& resource, std::string_view run,
                        unsigned long long attempt);

// Whether an agent of ours made this name.
bool is_our_socket(std::string_view name);

// Whether a plugin may have registered this resource with a socket of this name: an
// agent of ours, also this one, NVIDIA's plugin or Google's.
bool may_serve(std::string_view socket, const ResourceName& resource);

// Whether this run made the name.
bool is_of_run(std::string_view socket, std::string_view run);

// Eight characters that no other run has.
std::string fresh_run();

// The sockets in the folder by which somebody may serve the resource right now.
std::vector<std::string> living_sockets(const std::string& folder, const ResourceName& resource);

// Removes sockets that agents before us left behind in the folder: those of our
// names that nobody listens on. Gives the names removed.
Result<std::vector<std::string>> remove_dead_sockets(const std::string& folder);

}  // namespace tranche::node
