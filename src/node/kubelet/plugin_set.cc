// SPDX-License-Identifier: Apache-2.0
#include "node/kubelet/plugin_set.h"

#include <fmt/core.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <set>
#include <utility>

#include "base/path.h"
#include "base/text.h"
#include "node/kubelet/socket_name.h"

namespace tranche::node {
namespace {

constexpr int kLookForFolderMs = 1000;
// A plugin that registers again has no socket for a moment. Without this pause, two running agents
// would register against each other for ever.
constexpr std::chrono::milliseconds kForRivalToComeBack{1000};
constexpr const char* kDefaultFolder = "/var/lib/kubelet/device-plugins";

std::string name_in_folder(const std::string& path) {
  return path.substr(path.find_last_of('/') + 1);
}

}  // namespace

PluginSet::PluginSet(KubeletOptions options, const NodeAccess& node, Log& log)
    : kubelet_socket_(std::move(options.socket)),
      folder_(kubelet_socket_.empty() ? kDefaultFolder : parent_of(kubelet_socket_)),
      kubelet_name_(name_in_folder(kubelet_socket_)),
      node_(node),
      log_(log) {
  if (const auto removed = remove_dead_sockets(folder_); removed && !removed->empty()) {
    log_.info("removed sockets of earlier agents", {{"names", join(*removed, ",")}});
  }
  thread_ = std::jthread([this](const std::stop_token& stop) { watch(stop); });
}

PluginSet::~PluginSet() {
  thread_.request_stop();
  wake_.ring();
  if (thread_.joinable()) thread_.join();
  std::vector<std::jthread> ends;
  {
    const std::lock_guard lock(mutex_);
    // In parallel: each waits a little for the kubelet to notice its end. A plugin that waits for
    // its predecessor never started.
    for (auto& [name, plugin] : plugins_) {
      ends.emplace_back([ending = std::move(plugin)]() mutable { ending.reset(); });
    }
    plugins_.clear();
    for (auto& [name, thread] : retiring_) ends.push_back(std::move(thread));
    retiring_.clear();
  }
}

void PluginSet::apply(std::vector<Serving> servings) {
  std::set<std::string> offered;
  for (const Serving& serving : servings) offered.insert(serving.offer.name.text);
  std::vector<std::jthread> retired;  // joined without the lock, because they take it
  const std::lock_guard lock(mutex_);
  retired.swap(retired_);
  // First, so that two configurations never grant at the same time.
  for (const auto& [name, plugin] : plugins_) {
    if (!offered.contains(name)) plugin->refuse();
  }
  for (Serving& serving : servings) {
    const std::string name = serving.offer.name.text;
    if (const auto known = plugins_.find(name); known != plugins_.end()) {
      known->second->update(std::move(serving));
    } else {
      add(name, std::move(serving));
    }
  }
  for (auto plugin = plugins_.begin(); plugin != plugins_.end();) {
    if (offered.contains(plugin->first)) {
      ++plugin;
      continue;
    }
    log_.info("resource is no longer offered", {{"resource", plugin->first}});
    retire(plugin->first, std::move(plugin->second));
    plugin = plugins_.erase(plugin);
  }
}

// mutex_ is held.
void PluginSet::add(const std::string& name, Serving serving) {
  const std::string run = fresh_run();
  runs_.insert(run);
  auto plugin = std::make_unique<ResourcePlugin>(
      std::move(serving), ServingPlace{folder_, kubelet_socket_, run}, node_, log_);
  if (!retiring_.contains(name)) plugin->start();
  if (const auto kubelet = file_identity(kubelet_socket_)) plugin->kubelet_came(*kubelet);
  plugins_.emplace(name, std::move(plugin));
}

// mutex_ is held.
void PluginSet::retire(const std::string& name, std::unique_ptr<ResourcePlugin> plugin) {
  // A predecessor still retires, so this plugin has not started.
  if (retiring_.contains(name)) return;
  retiring_.emplace(name, [this, name, ending = std::move(plugin)]() mutable {
    ending->retire();
    ending.reset();
    note_retired(name);
  });
}

void PluginSet::note_retired(const std::string& name) {
  const std::lock_guard lock(mutex_);
  const auto ended = retiring_.find(name);
  if (ended == retiring_.end()) return;  // the whole set ends
  retired_.push_back(std::move(ended->second));
  retiring_.erase(ended);
  if (const auto heir = plugins_.find(name); heir != plugins_.end()) heir->second->start();
}

void PluginSet::nudge() {
  const std::lock_guard lock(mutex_);
  for (const auto& [name, plugin] : plugins_) {
    if (plugin->list_again()) return;
  }
}

std::vector<ResourceStatus> PluginSet::status() const {
  const std::lock_guard lock(mutex_);
  std::vector<ResourceStatus> all;
  for (const auto& [name, plugin] : plugins_) all.push_back(plugin->status());
  return all;
}

void PluginSet::watch(const std::stop_token& stop) {
  std::optional<DirectoryWatch> folder;
  while (!stop.stop_requested()) {
    if (!folder) {
      Result<DirectoryWatch> opened = DirectoryWatch::open(folder_);
      if (opened) {
        folder = *std::move(opened);
        logged_.forget("folder");
        look_for_kubelet();  // it may have started before the watch
      } else if (logged_.changed("folder", opened.error().message)) {
        log_.warning("waiting for the kubelet's folder", {{"reason", opened.error().message}});
      }
    }
    std::array<pollfd, 2> fds{pollfd{wake_.fd(), POLLIN, 0},
                              pollfd{folder ? folder->fd() : -1, POLLIN, 0}};
    const int timeout = rivals_gone_.empty() ? -1 : static_cast<int>(kForRivalToComeBack.count());
    ::poll(fds.data(), fds.size(), folder ? timeout : kLookForFolderMs);
    if (!folder) continue;
    look_for_rivals();
    for (const DirectoryWatch::Event& event : folder->drain()) {
      if (event.kind == DirectoryWatch::Kind::kDirectoryGone) {
        folder.reset();
        break;
      }
      handle(event);
    }
  }
}

void PluginSet::look_for_kubelet() {
  const std::optional<FileIdentity> kubelet = file_identity(kubelet_socket_);
  if (!kubelet) {
    if (!kubelet_socket_.empty() && logged_.changed("kubelet", "none")) {
      log_.warning(fmt::format("no kubelet at {}; waiting for it", kubelet_socket_));
    }
    return;
  }
  logged_.forget("kubelet");
  const std::lock_guard lock(mutex_);
  for (const auto& [name, plugin] : plugins_) plugin->kubelet_came(*kubelet);
}

void PluginSet::handle(const DirectoryWatch::Event& event) {
  if (event.kind == DirectoryWatch::Kind::kAppeared && event.name == kubelet_name_) {
    log_.info("kubelet started", {{"socket", kubelet_socket_}});
    rivals_gone_.clear();  // every plugin registers again
    look_for_kubelet();
  }
  if (event.kind == DirectoryWatch::Kind::kVanished) note_vanished(event.name);
}

void PluginSet::note_vanished(const std::string& socket) {
  const std::lock_guard lock(mutex_);
  for (const auto& [name, plugin] : plugins_) {
    plugin->name_vanished(socket);
    if (is_own(socket) || !may_serve(socket, ResourceName(name))) continue;
    rivals_gone_[name] = std::chrono::steady_clock::now() + kForRivalToComeBack;
  }
}

// mutex_ is held.
bool PluginSet::is_own(const std::string& socket) const {
  return std::ranges::any_of(runs_, [&](const auto& run) { return is_of_run(socket, run); });
}

// The kubelet uses the last registration of a resource. When that plugin ends, the kubelet counts
// no devices although our stream is still open, and does not tell us.
void PluginSet::look_for_rivals() {
  const auto now = std::chrono::steady_clock::now();
  std::erase_if(rivals_gone_, [&](const auto& gone) {
    const auto& [name, due] = gone;
    if (now < due) return false;
    const std::lock_guard lock(mutex_);
    const auto plugin = plugins_.find(name);
    if (plugin == plugins_.end()) return true;
    const bool is_served_by_others =
        std::ranges::any_of(living_sockets(folder_, ResourceName(name)),
                            [&](const std::string& socket) { return !is_own(socket); });
    if (!is_served_by_others) plugin->second->rival_ended();
    return true;
  });
}

}  // namespace tranche::node
