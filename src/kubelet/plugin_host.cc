// SPDX-License-Identifier: Apache-2.0
#include "kubelet/plugin_host.h"

#include <poll.h>
#include <sys/stat.h>

#include <array>
#include <functional>
#include <optional>
#include <set>
#include <utility>

#include "base/files.h"
#include "base/text.h"
#include "kubelet/socket_name.h"

namespace tranche {
namespace {

constexpr int kLookForFolderMs = 1000;
constexpr const char* kDefaultFolder = "/var/lib/kubelet/device-plugins";

// Tells one kubelet's socket from the next one's: a file made anew differs in
// number or time. Empty: there is none.
std::string identity_of(const std::string& socket) {
  struct stat status{};
  if (socket.empty() || ::stat(socket.c_str(), &status) != 0) return {};
  return std::to_string(status.st_ino) + "@" + std::to_string(status.st_ctim.tv_sec) + "." +
         std::to_string(status.st_ctim.tv_nsec);
}

// All at once: each waits a little for a kubelet that does not let go of it.
void end(std::vector<std::unique_ptr<ResourcePlugin>> plugins,
         const std::function<void(ResourcePlugin&)>& last_words) {
  std::vector<std::jthread> ends;
  ends.reserve(plugins.size());
  for (auto& plugin : plugins) {
    ends.emplace_back([&last_words, ending = std::move(plugin)]() mutable {
      last_words(*ending);
      ending.reset();
    });
  }
}

std::string name_in_folder(const std::string& path) {
  return path.substr(path.find_last_of('/') + 1);
}

}  // namespace

PluginHost::PluginHost(KubeletOptions options, const NodeAccess& node, Log& log)
    : kubelet_socket_(std::move(options.socket)),
      folder_(kubelet_socket_.empty() ? kDefaultFolder : parent_of(kubelet_socket_)),
      kubelet_name_(name_in_folder(kubelet_socket_)),
      node_(node),
      log_(log) {
  if (const auto removed = remove_dead_sockets(folder_); removed && !removed->empty()) {
    log_.info("sockets of agents before us removed", {{"names", join(*removed, ",")}});
  }
  thread_ = std::jthread([this](const std::stop_token& stop) { watch(stop); });
}

PluginHost::~PluginHost() {
  thread_.request_stop();
  wake_.ring();
  if (thread_.joinable()) thread_.join();
  std::vector<std::unique_ptr<ResourcePlugin>> rest;
  for (auto& [name, plugin] : plugins_) rest.push_back(std::move(plugin));
  end(std::move(rest), [](ResourcePlugin&) {});
}

void PluginHost::serve(std::vector<Serving> servings) {
  std::set<std::string> offered;
  for (const Serving& serving : servings) offered.insert(serving.offer.name.text);
  std::vector<ResourcePlugin*> started;
  std::vector<std::unique_ptr<ResourcePlugin>> retired;
  {
    const std::lock_guard lock(mutex_);
    // First: nothing is to be granted by two configurations at once.
    for (const auto& [name, plugin] : plugins_) {
      if (!offered.contains(name)) plugin->refuse();
    }
    for (Serving& serving : servings) {
      const std::string name = serving.offer.name.text;
      if (const auto known = plugins_.find(name); known != plugins_.end()) {
        known->second->serve(std::move(serving));
        continue;
      }
      auto plugin = std::make_unique<ResourcePlugin>(
          std::move(serving), ServingPlace{folder_, kubelet_socket_, fresh_run()}, node_, log_);
      plugin->start();
      started.push_back(plugin.get());
      plugins_.emplace(name, std::move(plugin));
    }
    for (auto plugin = plugins_.begin(); plugin != plugins_.end();) {
      if (offered.contains(plugin->first)) {
        ++plugin;
        continue;
      }
      log_.info("resource is no longer offered", {{"resource", plugin->first}});
      retired.push_back(std::move(plugin->second));
      plugin = plugins_.erase(plugin);
    }
    if (const std::string kubelet = identity_of(kubelet_socket_); !kubelet.empty()) {
      for (ResourcePlugin* plugin : started) plugin->kubelet_came(kubelet);
    }
  }
  // Outside the lock: it waits for the kubelet.
  end(std::move(retired), [](ResourcePlugin& plugin) { plugin.retire(); });
}

void PluginHost::nudge() {
  const std::lock_guard lock(mutex_);
  for (const auto& [name, plugin] : plugins_) {
    if (plugin->list_again()) return;
  }
}

std::vector<ResourceStatus> PluginHost::status() const {
  const std::lock_guard lock(mutex_);
  std::vector<ResourceStatus> all;
  for (const auto& [name, plugin] : plugins_) all.push_back(plugin->status());
  return all;
}

void PluginHost::watch(const std::stop_token& stop) {
  std::optional<DirectoryWatch> folder;
  while (!stop.stop_requested()) {
    if (!folder) {
      Result<DirectoryWatch> opened = DirectoryWatch::open(folder_);
      if (opened) {
        folder = *std::move(opened);
        said_.forget("folder");
        look_for_kubelet();  // it may have come before we watched
      } else if (said_.changed("folder", opened.error().message)) {
        log_.warning("waiting for the kubelet's folder", {{"reason", opened.error().message}});
      }
    }
    std::array<pollfd, 2> fds{pollfd{wake_.fd(), POLLIN, 0},
                              pollfd{folder ? folder->fd() : -1, POLLIN, 0}};
    ::poll(fds.data(), fds.size(), folder ? -1 : kLookForFolderMs);
    if (!folder) continue;
    for (const DirectoryWatch::Event& event : folder->drain()) {
      if (event.kind == DirectoryWatch::Kind::kDirectoryGone) {
        folder.reset();
        break;
      }
      tell(event);
    }
  }
}

void PluginHost::look_for_kubelet() {
  const std::string kubelet = identity_of(kubelet_socket_);
  if (kubelet.empty()) return;
  const std::lock_guard lock(mutex_);
  for (const auto& [name, plugin] : plugins_) plugin->kubelet_came(kubelet);
}

void PluginHost::tell(const DirectoryWatch::Event& event) {
  if (event.kind == DirectoryWatch::Kind::kAppeared && event.name == kubelet_name_) {
    log_.info("kubelet came", {{"socket", kubelet_socket_}});
    look_for_kubelet();
  }
  if (event.kind == DirectoryWatch::Kind::kVanished) {
    const std::lock_guard lock(mutex_);
    for (const auto& [name, plugin] : plugins_) plugin->name_vanished(event.name);
  }
}

}  // namespace tranche
