// SPDX-License-Identifier: Apache-2.0
#include "kube/object_watch.h"

#include <optional>
#include <utility>

#include "os/worker.h"

namespace tranche::kube {
namespace {

constexpr std::size_t kPage = 500;
// The server ends a watch after a time between these, so that not all end at once.
constexpr unsigned kLeastSeconds = 300, kMostSeconds = 600;
// How much longer than that we listen.
constexpr std::chrono::seconds kGrace{30};
// A watch that ends sooner without an event is not tried again at once.
constexpr std::chrono::seconds kShortest{1};

// As the API server compares versions: numbers without leading zeros. Others are not compared.
bool is_older(const std::string& version, const std::string& than) {
  const auto is_number = [](const std::string& text) {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
  };
  if (!is_number(version) || !is_number(than)) return false;
  return version.size() != than.size() ? version.size() < than.size() : version < than;
}

}  // namespace

ObjectWatch::ObjectWatch(ApiClient& client, WatchOptions options, WatchHandlers handlers)
    : client_(client),
      options_(std::move(options)),
      handlers_(std::move(handlers)),
      backoff_(options_.backoff) {}

void ObjectWatch::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    const Ended ended = step(stop);
    if (stop.stop_requested()) return;
    const bool failed = ended.outcome == Outcome::kFailed && options_.lists_after_failure;
    if (ended.outcome == Outcome::kExpired || ended.outcome == Outcome::kRelist || failed) {
      cache_.expire();
    }
    if (ended.outcome == Outcome::kRefused) has_watch_list_ = false;
    // One list after a version that has expired is usual; a second one without an event in
    // between is not.
    const bool is_usual = ended.outcome == Outcome::kGoOn || ended.outcome == Outcome::kRefused ||
                          (ended.outcome == Outcome::kExpired && !std::exchange(expired_, true));
    if (is_usual) continue;
    report(ended.problem);
    sleep_unless_stopped(
        stop, backoff_.next(Backoff::Clock::now(), handlers_.chance(), ended.retry_after));
  }
}

ObjectWatch::Ended ObjectWatch::step(const std::stop_token& stop) {
  if (!cache_.resource_version().empty()) return watch(false, stop);
  if (has_watch_list_) return watch(true, stop);
  return list(stop);
}

ObjectWatch::Ended ObjectWatch::list(const std::stop_token& stop) {
  cache_.begin_list();
  std::string next;
  while (true) {
    auto query = options_.query;
    query.emplace_back("limit", std::to_string(kPage));
    if (!next.empty()) query.emplace_back("continue", next);
    const Request request{.target = with_query(options_.path, query)};
    const Result<Response> response = client_.send(request, options_.patience, stop);
    if (Ended bad = ended(request, response); bad.outcome != Outcome::kGoOn) return bad;
    Json body = parse_json(response->body);
    const auto items = body.is_object() ? body.find("items") : body.end();
    if (!body.is_object() || items == body.end() || !items->is_array()) {
      return {Outcome::kFailed, "GET " + options_.path + ": the answer is no list", {}};
    }
    for (Json& item : *items) {
      if (!item.is_object() || !is_wanted(item)) continue;
      if (handlers_.strip) handlers_.strip(item);
      notify(cache_.take_listed(std::move(item)));
    }
    const Json metadata = body.value("metadata", Json::object());
    const auto more = metadata.find("continue");
    next = more != metadata.end() && more->is_string() ? more->get<std::string>() : "";
    if (!next.empty()) continue;
    const std::string version = resource_version_of(body);
    if (version.empty()) {
      return {Outcome::kFailed, "GET " + options_.path + ": the list has no version", {}};
    }
    notify(cache_.end_list(version));
    return {};
  }
}

ObjectWatch::Ended ObjectWatch::watch(bool with_initial_events, const std::stop_token& stop) {
  const auto seconds =
      kLeastSeconds + static_cast<unsigned>(handlers_.chance() * (kMostSeconds - kLeastSeconds));
  auto query = options_.query;
  query.emplace_back("watch", "1");
  query.emplace_back("allowWatchBookmarks", "true");
  query.emplace_back("timeoutSeconds", std::to_string(seconds));
  if (with_initial_events) {
    query.emplace_back("sendInitialEvents", "true");
    query.emplace_back("resourceVersionMatch", "NotOlderThan");
    cache_.begin_list();
  } else {
    query.emplace_back("resourceVersion", cache_.resource_version());
  }
  const Request request{.target = with_query(options_.path, query)};
  LineSplitter lines(options_.longest_line);
  Ended result;
  bool is_silent = true;
  const auto began = Backoff::Clock::now();
  const Result<Response> response = client_.stream(
      request, {options_.patience, std::chrono::seconds(seconds) + kGrace},
      [&](std::string_view chunk) {
        const Result<std::vector<std::string>> complete = lines.take(chunk);
        if (!complete) {
          result = {Outcome::kRelist, complete.error().message, {}};
          return false;
        }
        for (const std::string& line : *complete) {
          is_silent = false;
          result = take_line(line);
          if (result.outcome != Outcome::kGoOn) return false;
        }
        return true;
      },
      stop);
  if (result.outcome != Outcome::kGoOn) return result;
  result = ended(request, response);
  // A server without WatchList refuses the query.
  const bool is_refused = response && (response->status == 400 || response->status == 422);
  if (with_initial_events && is_refused) return {.outcome = Outcome::kRefused};
  // The server does not take our version, or not us: a list says which.
  const bool is_final = response && response->status >= 400 && response->status < 500;
  if (!with_initial_events && is_final && response->status != 410 && response->status != 429) {
    result.outcome = Outcome::kRelist;
  }
  if (result.outcome != Outcome::kGoOn) return result;
  // Cut off while it was sending the initial events: they begin again from the front. Twice:
  // perhaps the server does not know them, and sends no end.
  if (cache_.is_listing()) {
    has_watch_list_ = !std::exchange(cut_off_, true);
    return {Outcome::kFailed, "the watch ended before all objects were listed", {}};
  }
  cut_off_ = false;
  if (is_silent && Backoff::Clock::now() - began < kShortest) {
    return {Outcome::kFailed, "the server ends the watch at once", {}};
  }
  return result;
}

ObjectWatch::Ended ObjectWatch::take_line(const std::string& line) {
  Result<WatchEvent> event = parse_watch_event(line);
  if (!event) return {Outcome::kRelist, event.error().message, {}};
  if (event->type == WatchEventType::kError) {
    if (event->error_code == 410) {
      return {Outcome::kExpired, "GET " + options_.path + ": 410: the version is too old", {}};
    }
    const Response status{
        .status = event->error_code,
        .body = event->object.dump(-1, ' ', false, Json::error_handler_t::replace)};
    const bool is_busy = event->error_code == 429 || event->error_code == 504;
    return {is_busy ? Outcome::kFailed : Outcome::kRelist,
            error_of({.target = options_.path}, status).message,
            {}};
  }
  if (event->type != WatchEventType::kBookmark && !cache_.is_listing()) expired_ = false;
  if (event->type != WatchEventType::kBookmark) {
    // Its version counts, as that of a bookmark.
    if (!is_wanted(event->object)) event->type = WatchEventType::kBookmark;
    if (handlers_.strip) handlers_.strip(event->object);
  }
  notify(cache_.take(*std::move(event)));
  return {};
}

ObjectWatch::Ended ObjectWatch::ended(const Request& request, const Result<Response>& response) {
  if (!response) return {Outcome::kFailed, response.error().message, {}};
  if (response->status == 410) {
    return {Outcome::kExpired, error_of(request, *response).message, {}};
  }
  if (!response->ok()) {
    return {Outcome::kFailed, error_of(request, *response).message, response->retry_after};
  }
  return {};
}

bool ObjectWatch::is_wanted(const Json& object) const {
  return options_.only_name.empty() || key_of(object) == options_.only_name;
}

void ObjectWatch::notify(const ObjectChanges& changes) {
  report("");
  notice_version();
  const bool is_news = cache_.is_complete() && !cache_.is_listing() && !notified_complete_;
  notified_complete_ = notified_complete_ || is_news;
  if (!changes.empty() || is_news) handlers_.changed(changes, cache_.is_complete());
}

void ObjectWatch::notice_version() {
  const std::string version = cache_.resource_version();
  if (version.empty() || cache_.is_listing()) return;
  if (is_older(version, newest_) && handlers_.rewound) handlers_.rewound();
  newest_ = version;
}

void ObjectWatch::report(const std::string& problem) {
  if (problem == problem_) return;
  problem_ = problem;
  if (handlers_.trouble) handlers_.trouble(problem);
}

}  // namespace tranche::kube
