// SPDX-License-Identifier: Apache-2.0
//
// Keeps the objects of one kind as they are in the cluster: lists them, watches from there, and
// lists again when the server has forgotten the version. The first list is a watch with initial
// events (WatchList) where the server has that. A connection that ends without an error goes on
// from the last version.
//
// A cluster that is restored from a backup has lower versions than before. A server does not
// refuse a version of the future: it is silent until its own have grown past it. So a watch with
// `lists_after_failure` lists again when the server was away, and learns it by the list's version.
//
// Not thread-safe: run() belongs to one thread, which calls the handlers.
#pragma once

#include <chrono>
#include <functional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "kube/api_client.h"
#include "kube/backoff.h"
#include "kube/line_splitter.h"
#include "kube/object_cache.h"

namespace tranche::kube {

struct WatchOptions {
  std::string path;  // "/api/v1/nodes"
  // fieldSelector, labelSelector.
  std::vector<std::pair<std::string, std::string>> query;
  std::size_t longest_line = 16U << 20U;  // etcd takes 1.5 MiB; JSON may be longer than that
  std::chrono::milliseconds patience{30'000};
  Backoff::Limits backoff;
  bool lists_after_failure = false;  // for few objects
  // Only the object with this name, which has no namespace, is kept, whatever the server sends.
  // Empty: all.
  std::string only_name;
};

struct WatchHandlers {
  // What changed, in order. `is_complete`: a list was completed, so what is not known is not there.
  std::function<void(const ObjectChanges& changes, bool is_complete)> changed;
  // Why the watch does not go on; empty: it does again. Called when that changes.
  std::function<void(const std::string& problem)> trouble;
  // A list is older than the one before: the cluster was restored from a backup. Called before
  // the list's last changes. May be empty.
  std::function<void()> rewound;
  // Takes what is not needed out of an object before it is kept; not set: it is kept whole.
  std::function<void(Json& object)> strip;
  std::function<double()> chance;  // from 0 to 1
};

class ObjectWatch {
 public:
  ObjectWatch(ApiClient& client, WatchOptions options, WatchHandlers handlers);

  void run(const std::stop_token& stop);

 private:
  // kRelist: this version leads nowhere, because of an event that is not understood, say.
  enum class Outcome { kGoOn, kExpired, kRefused, kRelist, kFailed };
  struct Ended {
    Outcome outcome = Outcome::kGoOn;
    std::string problem;
    std::optional<std::chrono::seconds> retry_after;
  };

  Ended step(const std::stop_token& stop);
  Ended list(const std::stop_token& stop);
  Ended watch(bool with_initial_events, const std::stop_token& stop);
  Ended take_line(const std::string& line);
  static Ended ended(const Request& request, const Result<Response>& response);
  bool is_wanted(const Json& object) const;
  void notify(const ObjectChanges& changes);
  void notice_version();
  void report(const std::string& problem);

  ApiClient& client_;
  const WatchOptions options_;
  const WatchHandlers handlers_;
  ObjectCache cache_;
  Backoff backoff_;
  bool has_watch_list_ = true;
  bool notified_complete_ = false;
  bool expired_ = false;  // and no event came since
  bool cut_off_ = false;  // the last initial events were
  std::string problem_;
  std::string newest_;  // the last version
};

}  // namespace tranche::kube
