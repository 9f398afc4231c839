// SPDX-License-Identifier: Apache-2.0
#include "testbed/process/agent_process.h"

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <optional>
#include <regex>
#include <utility>

#include "base/text.h"
#include "os/child_process.h"
#include "os/errno_error.h"

namespace tranche::testbed::standin {
namespace {

constexpr std::size_t kReadSize = 4096;

std::vector<std::string> environment_of(const AgentProcess::Options& options) {
  std::map<std::string, std::string> variables = options.environment;
  if (options.inherits_environment) variables.merge(own_environment());
  return environment_list(variables);
}

// For the input: unlike a pipe it can be written to without SIGPIPE.
Result<Pipe> make_socket_pair() {
  std::array<int, 2> fds{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds.data()) != 0) {
    return errno_error("socketpair");
  }
  return Pipe{UniqueFd(fds[0]), UniqueFd(fds[1])};
}

ProcessEnd end_from(const siginfo_t& info) {
  if (info.si_code == CLD_EXITED) return {.exit_code = info.si_status};
  return {.signal = info.si_status};
}

// Cuts what a stream brings into lines.
class LineReader {
 public:
  LineReader(int fd, AgentProcess::Stream stream) : fd_(fd), stream_(stream) {}

  // What has come, in whole lines. Empty: the stream has ended, and `rest()`
  // is a last line without its newline.
  std::optional<std::vector<AgentProcess::Line>> read() {
    std::array<char, kReadSize> buffer{};
    const ssize_t count = ::read(fd_, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) return std::vector<AgentProcess::Line>{};
    if (count <= 0) return std::nullopt;
    partial_.append(buffer.data(), static_cast<std::size_t>(count));
    std::vector<std::string> texts = split(partial_, '\n');
    partial_ = std::move(texts.back());
    texts.pop_back();
    std::vector<AgentProcess::Line> lines;
    lines.reserve(texts.size());
    for (std::string& text : texts) lines.push_back({stream_, std::move(text)});
    return lines;
  }

  std::vector<AgentProcess::Line> rest() const {
    if (partial_.empty()) return {};
    return {{stream_, partial_}};
  }

 private:
  const int fd_;
  const AgentProcess::Stream stream_;
  std::string partial_;
};

}  // namespace

std::string to_string(const ProcessEnd& end) {
  if (end.signal != 0) return "ended by signal " + std::to_string(end.signal);
  return "ended with code " + std::to_string(end.exit_code);
}

Result<std::unique_ptr<AgentProcess>> AgentProcess::start(const Options& options) {
  if (options.command.empty()) {
    return Error{ErrorCode::kInvalidArgument, "starting a process: no program was named"};
  }
  Result<Pipe> input = make_socket_pair();
  if (!input) return input.error();
  Result<Pipe> output = make_pipe();
  if (!output) return output.error();
  Result<Pipe> error = make_pipe();
  if (!error) return error.error();

  // In a session of its own, so that its children can be killed with it.
  const Result<Process> process = Process::spawn(
      {.words = options.command, .environment = environment_of(options)},
      {.in = input->read.get(), .out = output->write.get(), .err = error->write.get()});
  if (!process) return process.error();
  return std::unique_ptr<AgentProcess>(new AgentProcess(
      process->pid(), std::move(input->write), std::move(output->read), std::move(error->read)));
}

AgentProcess::AgentProcess(pid_t pid, UniqueFd input, UniqueFd output, UniqueFd error)
    : pid_(pid),
      output_(std::move(output)),
      error_(std::move(error)),
      input_(std::move(input)),
      reader_([this] { read_streams(); }),
      waiter_([this] { wait_until_ended(); }) {}

AgentProcess::~AgentProcess() {
  // The whole group: its children may outlive it.
  ::kill(-pid_, SIGKILL);
  waiter_.join();
  ::waitpid(pid_, nullptr, 0);
  // A child that left the group may hold the streams open for ever.
  stop_reading_.ring();
  reader_.join();
}

void AgentProcess::read_streams() {
  std::array<LineReader, 2> readers = {
      {{output_.get(), Stream::kOutput}, {error_.get(), Stream::kError}}};
  std::array<pollfd, 3> waited = {
      {{output_.get(), POLLIN, 0}, {error_.get(), POLLIN, 0}, {stop_reading_.fd(), POLLIN, 0}}};
  // poll() passes over a negative fd.
  while (waited[2].revents == 0 && (waited[0].fd >= 0 || waited[1].fd >= 0)) {
    if (::poll(waited.data(), waited.size(), -1) < 0) continue;  // interrupted
    for (std::size_t i = 0; i < readers.size(); ++i) {
      if (waited[i].fd < 0 || waited[i].revents == 0) continue;
      const auto read = readers[i].read();
      if (!read) waited[i].fd = -1;
      const std::vector<Line> lines = read ? *read : readers[i].rest();
      const std::lock_guard lock(mutex_);
      lines_.insert(lines_.end(), lines.begin(), lines.end());
    }
    changed_.notify_all();
  }
  {
    const std::lock_guard lock(mutex_);
    is_drained_ = true;
  }
  changed_.notify_all();
}

void AgentProcess::wait_until_ended() {
  siginfo_t info{};
  while (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT) != 0) {
    if (errno != EINTR) return;
  }
  {
    const std::lock_guard lock(mutex_);
    end_ = end_from(info);
  }
  changed_.notify_all();
}

std::vector<AgentProcess::Line> AgentProcess::lines() const {
  const std::lock_guard lock(mutex_);
  return lines_;
}

std::string AgentProcess::output() const {
  std::string text;
  for (const Line& line : lines()) text += line.text + "\n";
  return text;
}

std::optional<AgentProcess::Match> AgentProcess::find_line(const std::regex& expression,
                                                           std::size_t from) const {
  for (std::size_t i = from; i < lines_.size(); ++i) {
    std::smatch found;
    if (!std::regex_search(lines_[i].text, found, expression)) continue;
    Match match{i, {}};
    for (const auto& group : found) match.groups.push_back(group.str());
    return match;
  }
  return std::nullopt;
}

Result<AgentProcess::Match> AgentProcess::wait_for_line(const std::string& regex,
                                                        std::chrono::milliseconds patience,
                                                        std::size_t from) const {
  std::regex expression;
  try {
    expression = regex;
  } catch (const std::regex_error& problem) {
    return Error{ErrorCode::kInvalidArgument, "\"" + regex + "\": " + problem.what()};
  }
  std::optional<Match> match;
  bool has_ended = false;
  {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, patience, [&] {
      match = find_line(expression, from);
      has_ended = is_drained_;
      return match || has_ended;
    });
  }
  if (match) return *match;
  return Error{ErrorCode::kNotFound, "no line matches \"" + regex + "\"" +
                                         (has_ended ? " and the process has ended" : "") +
                                         "; its output:\n" + output()};
}

Status AgentProcess::write_line(const std::string& text) {
  const std::string line = text + "\n";
  const std::lock_guard lock(input_mutex_);
  std::size_t written = 0;
  while (written < line.size()) {
    const ssize_t count =
        ::send(input_.get(), line.data() + written, line.size() - written, MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno_error("writing to process " + std::to_string(pid_));
    written += static_cast<std::size_t>(count);
  }
  return Done{};
}

void AgentProcess::close_input() {
  const std::lock_guard lock(input_mutex_);
  input_.reset();
}

Status AgentProcess::signal(int number) const {
  const std::lock_guard lock(mutex_);
  if (end_) {
    return Error{ErrorCode::kNotFound,
                 "process " + std::to_string(pid_) + " has " + to_string(*end_)};
  }
  if (::kill(pid_, number) != 0) return errno_error("kill");
  return Done{};
}

Result<ProcessEnd> AgentProcess::wait_for_end(std::chrono::milliseconds patience) const {
  {
    std::unique_lock lock(mutex_);
    // Its last words too, unless somebody else keeps the streams open.
    changed_.wait_for(lock, patience, [&] { return end_.has_value() && is_drained_; });
    if (end_) return *end_;
  }
  return Error{ErrorCode::kUnavailable,
               "process " + std::to_string(pid_) + " still runs; its output:\n" + output()};
}

}  // namespace tranche::testbed::standin
