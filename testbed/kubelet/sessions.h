// SPDX-License-Identifier: Apache-2.0
//
// The kubelet's side of its plugins: each registration becomes a session, which
// dials the plugin, reads its options, answers, and then reads the plugin's
// lists until the stream ends. An ended stream is never opened again.
//
// Thread-safe; a thread for each session.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "testbed/kubelet/checkpoint.h"
#include "testbed/kubelet/client_table.h"
#include "testbed/kubelet/guarded_state.h"
#include "testbed/kubelet/plugin_client.h"
#include "testbed/kubelet/registration_server.h"
#include "testbed/kubelet/transcript.h"

namespace tranche::testbed::standin {

struct SessionOptions {
  std::string directory;
  KubeletVersion version = KubeletVersion::k136;
  std::chrono::milliseconds dial_patience{10'000};
  // In the kubelet the answer to Register and the opening of ListAndWatch race.
  // False: the stream is opened when the answer has left. True: the answer
  // leaves when the first list has come.
  bool stream_before_answer = false;
};

class Sessions {
 public:
  Sessions(SessionOptions options, GuardedState& state, CheckpointFile& checkpoint,
           Transcript& transcript);
  Sessions(const Sessions&) = delete;
  Sessions& operator=(const Sessions&) = delete;
  ~Sessions();

  void begin(std::shared_ptr<PendingRegistration> registration);

  // Null when there never was such a client.
  std::shared_ptr<PluginClient> client(ClientId id) const;

  // Cuts the stream of the resource's newest connection. False: it has none.
  bool break_stream(const std::string& resource);

  // Between the end of a stream and the moment when the kubelet looks whose it
  // was, a new registration can slip in. This stretches that moment.
  void hold_stream_ends();
  void release_stream_ends();

  // Ends all connections, and lets no session change anything any more. Those
  // that are not answered yet still must be: join() waits for that.
  void close();
  void join();

 private:
  struct Connected {
    ClientId id = 0;
    std::shared_ptr<PluginClient> client;
  };

  void serve(PendingRegistration& registration);
  // Puts it into the table, then opens the connection.
  Result<Connected> enter(const PendingRegistration& registration);
  Result<Connected> connect(PendingRegistration& registration, const Connected& entered);
  Status open(PendingRegistration& registration, const Connected& connected);
  Result<PluginOptions> ask_options(PendingRegistration& registration, PluginClient& client);
  void take_list(const PluginClient& client, const std::vector<Device>& devices);
  void end(const PluginClient& client, const Error& why);
  std::shared_ptr<PluginClient> take_from_table(const PluginClient& client);

  const SessionOptions options_;
  GuardedState& state_;
  CheckpointFile& checkpoint_;
  Transcript& transcript_;

  std::atomic<bool> is_closed_ = false;
  mutable std::mutex mutex_;
  // Guarded by mutex_. The kubelet forgets connections without closing them;
  // they stay open here as they do there.
  ClientTable table_;
  std::map<ClientId, std::shared_ptr<PluginClient>> clients_;
  std::vector<std::thread> threads_;
  bool holds_stream_ends_ = false;
  std::condition_variable released_;
};

}  // namespace tranche::testbed::standin
