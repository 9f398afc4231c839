// SPDX-License-Identifier: Apache-2.0
#include "programs/device_plugin/config_source.h"

#include <utility>

#include "programs/device_plugin/config_choice.h"
#include "programs/device_plugin/config_reload.h"

namespace tranche::programs {
namespace {

// Where the folder cannot be watched, it is listed this often.
constexpr std::chrono::seconds kListAgain{30};
// Differs from every file, so that a watch which begins with it gives the file.
const std::string kNotLoaded(1, '\0');

}  // namespace

ConfigSource::ConfigSource(const Loaded& in_force, const ApiLink* link, Log& log)
    : options_(in_force.settings.named_configs),
      state_dir_(in_force.settings.state_dir),
      file_(in_force.settings.config_file),
      link_(options_.folder.empty() ? nullptr : link),
      log_(log),
      wanted_(in_force.choice),
      in_force_(in_force.choice),
      in_force_text_(in_force.file_text) {
  watch_.emplace(file_, in_force_text_);
  if (link_ == nullptr) return;
  folder_.set({options_.folder});
}

void ConfigSource::follow(Loop& loop, Handlers handlers) {
  handlers_ = std::move(handlers);
  // Before the file: a file that is gone is then a choice that is refused, and not a file that
  // cannot be read.
  if (link_ != nullptr) {
    loop.on_ring(link_->news(), [] {});
    loop.add({.fd = [this] { return folder_.fd(); },
              .look = [this](Clock::time_point now) { look(now); }});
    choose();
  }
  loop.add({.fd = [this] { return watch_ ? watch_->fd() : -1; },
            .due = [this] { return watch_ ? watch_->due() : std::nullopt; },
            .look =
                [this](auto) {
                  if (!watch_) return;
                  if (const auto reading = take_change(*watch_, log_)) handlers_.changed(*reading);
                }});
}

void ConfigSource::insist() {
  if (link_ != nullptr) {
    problem_.clear();
    choose();
  }
  if (watch_) watch_->insist();
}

Result<Loaded> ConfigSource::load(const Sources& sources, const ConfigReading& reading) const {
  return load_reading(sources, path(), reading, wanted_);
}

void ConfigSource::took(const Loaded& loaded) {
  in_force_ = loaded.choice;
  in_force_text_ = loaded.file_text;
  remember();
}

std::string ConfigSource::reason() const {
  return in_force_ ? reason_text(options_, *in_force_) : std::string();
}

void ConfigSource::look(Clock::time_point now) {
  const std::uint64_t version = link_->own_node().get().version;
  const bool has_news = std::exchange(seen_, version) != version;
  // Each is asked: events that are not taken would wake us again.
  if (folder_.drain() || has_news || now - listed_ >= kListAgain) choose();
}

void ConfigSource::choose() {
  listed_ = Clock::now();
  folder_.set({options_.folder});
  const std::optional<std::string> value = label();
  if (!value) return;
  const Result<ConfigNames> names = list_configs(options_.folder);
  if (!names) return refuse(names.error().message);
  const Result<ConfigChoice> choice = choose_config(options_, *value, *names);
  if (!choice) return refuse(choice.error().message);
  choose(*choice);
}

void ConfigSource::choose(const ConfigChoice& choice) {
  const bool was_refused = !std::exchange(problem_, {}).empty();
  if (wanted_ == choice && !was_refused) {
    if (in_force_ == choice) remember();
    return;
  }
  const bool is_watched = wanted_ && wanted_->name == choice.name;
  const bool is_loaded = in_force_ && in_force_->name == choice.name;
  wanted_ = choice;
  if (!is_watched) {
    watch_.emplace(path(), is_loaded ? in_force_text_ : kNotLoaded);
    if (choice.name.empty() && !is_loaded) watch_->insist();
  }
  if (!is_loaded) {
    log_.info("another configuration is chosen",
              {{"configuration", choice.name}, {"reason", reason_text(options_, choice)}});
    return;
  }
  in_force_ = choice;
  remember();
  log_.info("the configuration stays in force",
            {{"configuration", choice.name}, {"reason", reason()}});
  if (handlers_.chosen) handlers_.chosen();
}

void ConfigSource::refuse(const std::string& reason) {
  wanted_.reset();
  watch_.reset();
  if (std::exchange(problem_, reason) != reason && handlers_.refused) handlers_.refused(reason);
}

// Called for what the label chose, so that a start without the API server has the same. What a
// start falls back to, because the label is not known or its file is bad, is not remembered.
void ConfigSource::remember() {
  if (!in_force_ || !label()) return;
  ConfigChoice choice = *in_force_;
  choice.is_remembered = false;
  if (remembered_ == choice) return;
  const Status written = remember_choice(state_dir_, choice);
  if (written) {
    remembered_ = choice;
    return logged_.forget("memory");
  }
  if (logged_.changed("memory", written.error().message)) {
    log_.warning("the chosen configuration is not kept over a restart",
                 {{"reason", written.error().message}});
  }
}

std::optional<std::string> ConfigSource::label() const {
  return link_ == nullptr ? std::nullopt
                          : label_value(*link_->own_node().get().value, options_.label);
}

std::string ConfigSource::path() const {
  if (link_ == nullptr) return file_;
  return wanted_ ? chosen_path(options_, *wanted_) : std::string();
}

}  // namespace tranche::programs
