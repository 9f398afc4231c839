// SPDX-License-Identifier: Apache-2.0
//
// The calls that the kubelet makes for its pods, each on the connection that
// its endpoint names and each with its place in the transcript.
//
// Thread-safe.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "testbed/kubelet/choice.h"
#include "testbed/kubelet/node_state.h"
#include "testbed/kubelet/random.h"
#include "testbed/kubelet/sessions.h"
#include "testbed/kubelet/transcript.h"

namespace tranche::testbed::standin {

class PluginCalls {
 public:
  PluginCalls(Sessions& sessions, Transcript& transcript, Random& random,
              std::chrono::milliseconds pre_start_patience);

  Result<Ids> preferred(const std::string& resource, const Endpoint& endpoint,
                        const PreferenceQuestion& question);
  Result<std::vector<ContainerResponse>> allocate(const std::string& resource,
                                                  const Endpoint& endpoint, const Ids& ids);
  Status pre_start(const std::string& resource, const Endpoint& endpoint, const Ids& ids);

 private:
  Result<std::shared_ptr<PluginClient>> running_client(const std::string& resource,
                                                       const Endpoint& endpoint) const;

  Sessions& sessions_;
  Transcript& transcript_;
  Random& random_;
  const std::chrono::milliseconds pre_start_patience_;
};

}  // namespace tranche::testbed::standin
