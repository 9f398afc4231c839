// SPDX-License-Identifier: Apache-2.0
#include "os/trusted_folder.h"

#include <fcntl.h>
#include <fmt/core.h>

#include <array>
#include <deque>
#include <utility>

#include "base/text.h"
#include "os/errno_error.h"

namespace tranche::os {
namespace {

// The kernel's limit.
constexpr int kMostLinks = 40;
constexpr int kFolderFlags = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

Error refused(std::string message) { return {ErrorCode::kInvalidArgument, std::move(message)}; }

std::string owner_problem(const std::string& path, const struct stat& status) {
  if (is_owner_trusted(status)) return "";
  return fmt::format("{} belongs to user {}, and not to root", path, status.st_uid);
}

// Why another user could replace what is in a folder on the way; empty: none can.
std::string way_problem(const std::string& path, const struct stat& status) {
  if (std::string owner = owner_problem(path, status); !owner.empty()) return owner;
  const bool keeps_names = (status.st_mode & S_ISVTX) != 0;
  if (keeps_names || !may_others_write(status)) return "";
  return path + " may be written by others than root, who can replace what is in it";
}

class Walk {
 public:
  Walk(const std::string& path, Missing missing, const std::string& root)
      : path_(path), missing_(missing), root_(root) {
    add_names(path);
  }

  Result<TrustedFolder> run() {
    if (!path_.starts_with('/')) return refused(path_ + " is no absolute path");
    if (Status opened = go_to_root(); !opened) return opened.error();
    while (!names_.empty()) {
      const std::string name = std::move(names_.front());
      names_.pop_front();
      if (Status gone = step(name); !gone) return gone.error();
    }
    return TrustedFolder{std::move(at_), may_others_write(status_)};
  }

 private:
  void add_names(const std::string& path) {
    const std::vector<std::string> parts = split(path, '/');
    for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
      if (!part->empty() && *part != ".") names_.push_front(*part);
    }
  }

  Status go_to_root() {
    at_ = UniqueFd(::open(root_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!at_ || ::fstat(at_.get(), &status_) != 0) return errno_error("opening " + root_);
    here_.clear();
    return Done{};
  }

  Status step(const std::string& name) {
    const std::string here = fmt::format("{}/{}", here_, name);
    if (std::string problem = way_problem(here_.empty() ? "/" : here_, status_); !problem.empty()) {
      return refused(std::move(problem));
    }
    struct stat next = {};
    if (::fstatat(at_.get(), name.c_str(), &next, AT_SYMLINK_NOFOLLOW) != 0) {
      const bool is_made = errno == ENOENT && missing_ == Missing::kIsMade &&
                           ::mkdirat(at_.get(), name.c_str(), 0755) == 0;
      if (!is_made) {
        return errno == ENOENT ? Error{ErrorCode::kNotFound, "there is no " + here}
                               : errno_error("looking at " + here);
      }
    } else if (S_ISLNK(next.st_mode)) {
      return follow(name, here, next);
    }
    UniqueFd fd(::openat(at_.get(), name.c_str(), kFolderFlags));
    if (!fd && errno == ENOTDIR) return refused(here + " is no folder");
    if (!fd || ::fstat(fd.get(), &status_) != 0) return errno_error("opening " + here);
    at_ = std::move(fd);
    here_ = here;
    if (std::string problem = owner_problem(here, status_); !problem.empty()) {
      return refused(std::move(problem));
    }
    return Done{};
  }

  Status follow(const std::string& name, const std::string& here, const struct stat& link) {
    if (names_.empty()) return refused(here + " is a link; give the folder itself");
    if (std::string problem = owner_problem(here, link); !problem.empty()) {
      return refused(std::move(problem));
    }
    if (++links_ > kMostLinks) return refused(path_ + " has too many links on its way");
    std::array<char, 4096> text{};
    const ssize_t length = ::readlinkat(at_.get(), name.c_str(), text.data(), text.size());
    if (length < 0) return errno_error("reading the link " + here);
    const std::string target(text.data(), static_cast<std::size_t>(length));
    add_names(target);
    return target.starts_with('/') ? go_to_root() : Status(Done{});
  }

  const std::string path_;
  const Missing missing_;
  const std::string root_;
  std::deque<std::string> names_;  // still to go
  std::string here_;
  UniqueFd at_;
  struct stat status_ = {};  // of at_
  int links_ = 0;
};

}  // namespace

Result<TrustedFolder> open_trusted_folder(const std::string& path, Missing missing,
                                          const std::string& root) {
  return Walk(path, missing, root).run();
}

bool is_owner_trusted(const struct stat& status) {
  return status.st_uid == 0 || status.st_uid == ::geteuid();
}

bool may_others_write(const struct stat& status) {
  const bool by_group = (status.st_mode & S_IWGRP) != 0 && status.st_gid != 0;
  return by_group || (status.st_mode & S_IWOTH) != 0;
}

}  // namespace tranche::os
