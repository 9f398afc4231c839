// SPDX-License-Identifier: Apache-2.0
//
// One registration's socket in the kubelet's folder, behind which lies the
// plugin's own: every call is passed on, its answer is passed back, and both
// are recorded. What ends on one side ends on the other.
//
// Messages have no limit here; the limits are the kubelet's and the plugin's to
// enforce.
//
// Thread-safe, except that retire() and end() come one after the other.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "os/file_identity.h"
#include "testbed/kubelet/socket_server.h"
#include "testbed/recorder/recording.h"

namespace tranche::testbed::recorder {

class Endpoint {
 public:
  struct Names {
    std::string resource;
    std::string endpoint;       // the plugin's, as it registered
    std::string socket;         // ours, the file's name
    std::string plugin_socket;  // its path
    std::string own_socket;     // its path
  };

  // Serves at once.
  static Result<std::unique_ptr<Endpoint>> open(const Names& names, Recording& recording);
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;
  ~Endpoint();

  // Whether the plugin's socket was there when it registered, and no longer is.
  bool has_lost_plugin() const;

  // Takes no new connections, as the plugin does not.
  void retire();

  // Ends all calls on both sides. `why` is written down with the ends of streams.
  void end(const std::string& why);

 private:
  class Forwarder;

  explicit Endpoint(const Names& names);

  const std::string plugin_socket_;
  const std::optional<FileIdentity> identity_;
  std::unique_ptr<Forwarder> forwarder_;
  std::unique_ptr<standin::SocketServer> server_;
};

}  // namespace tranche::testbed::recorder
