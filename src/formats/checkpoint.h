// SPDX-License-Identifier: Apache-2.0
//
// Reads the kubelet's own record of devices, kubelet_internal_checkpoint in its
// device-plugins folder: which container of which pod holds what, init
// containers included. The pod's uid is all it has of the pod's identity.
//
// The file's checksum is not checked. It is a hash of what Go prints for the
// kubelet's private structures, and these differ between versions; what it would
// tell, a torn file, the text tells by itself, and the kubelet replaces the file
// in one step anyway.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/ledger/ledger.h"

namespace tranche::formats {

// What containers hold of these resources, of all where none is named; sorted.
// Text that is not a whole checkpoint is an error, never a shorter list.
Result<std::vector<Holding>> parse_checkpoint(std::string_view text,
                                              const std::set<std::string>& resources);

// Paths below `folder`, on the host, that are mounted into containers by what
// plugins answered for them.
Result<std::set<std::string>> parse_checkpoint_mounts(std::string_view text,
                                                      const std::string& folder);
}  // namespace tranche::formats
