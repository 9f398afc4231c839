// SPDX-License-Identifier: Apache-2.0
//
// Which resource names the kubelet lets a plugin register. Pure.
#pragma once

#include <string_view>

namespace tranche::testbed::standin {

// An extended resource name: it has a domain, the domain is not Kubernetes'
// own, and the name is still a qualified name as the quota `requests.<name>`.
bool is_extended_resource_name(std::string_view name);

}  // namespace tranche::testbed::standin
