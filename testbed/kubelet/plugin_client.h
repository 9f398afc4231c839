// SPDX-License-Identifier: Apache-2.0
//
// One connection from the kubelet to a plugin, with the kubelet's settings: a
// connection of its own even to a socket that is already connected, authority
// "localhost", at most 4 MiB in a received message, no time limit on calls
// except PreStartContainer's.
//
// Thread-safe. Errors read as they do in the kubelet: "rpc error: code = …".
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "testbed/kubelet/values.h"

namespace grpc {
class Channel;
class ClientContext;
}  // namespace grpc

namespace tranche::testbed::standin {

inline constexpr int kLargestReceivedMessage = 4 << 20;

class PluginClient {
 public:
  PluginClient(std::string resource, const std::string& socket);
  PluginClient(const PluginClient&) = delete;
  PluginClient& operator=(const PluginClient&) = delete;
  ~PluginClient();

  const std::string& resource() const { return resource_; }
  const std::string& socket() const { return socket_; }
  std::string endpoint() const;  // the socket's file name

  // Blocks until connected. Tries again while the socket is not there.
  Status connect(std::chrono::system_clock::time_point deadline,
                 const std::function<bool()>& is_cancelled);

  // `context` belongs to the Register call that this is a part of.
  Result<PluginOptions> options(std::unique_ptr<grpc::ClientContext> context);

  // Blocks until the stream ends, and returns why.
  Error list_and_watch(const std::function<void(const std::vector<Device>&)>& on_list);

  Result<IdList> preferred(const IdList& available, const IdList& must_include, std::int64_t size);
  // One container in, any number of responses out.
  Result<std::vector<ContainerResponse>> allocate(const IdList& ids);
  Status pre_start(const IdList& ids, std::chrono::milliseconds patience);

  // Ends the connection: calls under way fail, and so do all later ones. While
  // the plugin is still being dialled this does nothing, as in the kubelet.
  void disconnect();

  // The same at any time: the kubelet's process ends.
  void close();

  // Ends the stream alone, as a lost connection would.
  void break_stream();

 private:
  class Scope;  // one call, as long as it can be cancelled

  std::shared_ptr<grpc::Channel> channel();

  template <typename Call>
  Status run(grpc::ClientContext& context, Call call);

  const std::string resource_;
  const std::string socket_;
  std::mutex mutex_;
  // Guarded by mutex_.
  std::shared_ptr<grpc::Channel> channel_;  // null: closed
  bool is_connected_ = false;
  std::set<grpc::ClientContext*> running_;
  grpc::ClientContext* stream_ = nullptr;
};

}  // namespace tranche::testbed::standin
