// SPDX-License-Identifier: Apache-2.0
#include "os/child_process.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/text.h"
#include "os/errno_error.h"
#include "os/files.h"

namespace tranche::os {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t kKeptOutput = 64 << 10;
// Poll interval on kernels without pidfd_open.
constexpr std::chrono::milliseconds kLookAgain{50};

// posix_spawn's two parameter blocks, freed with the scope.
class SpawnParameters {
 public:
  SpawnParameters() {
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawnattr_init(&attributes);
  }
  SpawnParameters(const SpawnParameters&) = delete;
  SpawnParameters& operator=(const SpawnParameters&) = delete;
  ~SpawnParameters() {
    ::posix_spawn_file_actions_destroy(&actions);
    ::posix_spawnattr_destroy(&attributes);
  }

  // Our threads block signals and gRPC ignores SIGPIPE: the program must inherit neither.
  void reset_signals(bool own_session) {
    sigset_t none;
    sigset_t all;
    sigemptyset(&none);
    sigfillset(&all);
    ::posix_spawnattr_setsigmask(&attributes, &none);
    ::posix_spawnattr_setsigdefault(&attributes, &all);
    const int session = own_session ? POSIX_SPAWN_SETSID : 0;
    ::posix_spawnattr_setflags(
        &attributes, static_cast<short>(session | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF));
  }

  void place(int fd, int as) {
    if (fd >= 0) {
      ::posix_spawn_file_actions_adddup2(&actions, fd, as);
    } else {
      ::posix_spawn_file_actions_addopen(&actions, as, "/dev/null", O_RDWR, 0);
    }
  }

  posix_spawn_file_actions_t actions{};
  posix_spawnattr_t attributes{};
};

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

int milliseconds_left(Clock::time_point deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
  return static_cast<int>(std::clamp<std::chrono::milliseconds::rep>(left.count(), 0, 1 << 30));
}

// Reads what is available; false when the other side has closed.
bool take(int fd, std::string& kept) {
  std::array<char, 4096> buffer{};
  const ssize_t count = ::read(fd, buffer.data(), buffer.size());
  if (count < 0) return errno == EINTR || errno == EAGAIN;
  if (count == 0) return false;
  const std::size_t room = kKeptOutput - std::min(kKeptOutput, kept.size());
  kept.append(buffer.data(), std::min(room, static_cast<std::size_t>(count)));
  return true;
}

// Reads both pipes until they are closed or the deadline has passed.
void drain(Pipe& out, Pipe& err, Finished& finished, Clock::time_point deadline) {
  while (out.read || err.read) {
    std::array<pollfd, 2> polled{pollfd{out.read.get(), POLLIN, 0},
                                 pollfd{err.read.get(), POLLIN, 0}};
    const int ready = ::poll(polled.data(), polled.size(), milliseconds_left(deadline));
    if (ready == 0) return;
    if (polled[0].revents != 0 && !take(out.read.get(), finished.out)) out.read.reset();
    if (polled[1].revents != 0 && !take(err.read.get(), finished.err)) err.read.reset();
  }
}

// A file of /proc that consists of zero-terminated strings.
std::vector<std::string> proc_texts(pid_t pid, const char* name) {
  const Result<std::string> content = read_file(fmt::format("/proc/{}/{}", pid, name), 1 << 20);
  return content ? split(*content, '\0') : std::vector<std::string>{};
}

}  // namespace

std::map<std::string, std::string> own_environment() {
  std::map<std::string, std::string> variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    variables.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return variables;
}

std::vector<std::string> environment_list(const std::map<std::string, std::string>& variables) {
  std::vector<std::string> list;
  for (const auto& [name, value] : variables) list.push_back(join({name, value}, "="));
  return list;
}

Result<Pipe> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return errno_error("pipe");
  return Pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

Result<Process> Process::spawn(const Command& command, const Streams& streams) {
  SpawnParameters parameters;
  parameters.reset_signals(command.own_session);
  parameters.place(streams.in, STDIN_FILENO);
  parameters.place(streams.out, STDOUT_FILENO);
  parameters.place(streams.err, STDERR_FILENO);
  Command copy = command;
  const std::vector<char*> words = pointers_to(copy.words);
  const std::vector<char*> environment = pointers_to(copy.environment);
  pid_t pid = 0;
  const int error = ::posix_spawnp(&pid, words[0], &parameters.actions, &parameters.attributes,
                                   words.data(), environment.data());
  if (error != 0) return errno_error("starting " + command.words[0], error);
  return of(pid);
}

Process Process::of(pid_t pid) {
  Process process;
  process.pid_ = pid;
  process.fd_ = UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  return process;
}

bool Process::has_ended() {
  if (ended_) return true;
  int status = 0;
  const pid_t reaped = ::waitpid(pid_, &status, WNOHANG);
  if (reaped == pid_) {
    ended_ = true;
    if (WIFEXITED(status)) exit_code_ = WEXITSTATUS(status);
    ending_ = WIFEXITED(status) ? fmt::format("exit code {}", WEXITSTATUS(status))
                                : fmt::format("signal {}", WTERMSIG(status));
  } else if (reaped < 0) {
    // Not our child: an earlier agent started it.
    pollfd polled{fd_.get(), POLLIN, 0};
    ended_ = fd_ ? ::poll(&polled, 1, 0) > 0 : ::kill(pid_, 0) != 0;
  }
  return ended_;
}

bool Process::wait(std::chrono::milliseconds patience) {
  const Clock::time_point deadline = Clock::now() + patience;
  while (!has_ended()) {
    const int left = milliseconds_left(deadline);
    if (left == 0) return false;
    pollfd polled{fd_.get(), POLLIN, 0};
    ::poll(&polled, 1, fd_ ? left : std::min<int>(left, kLookAgain.count()));
  }
  return true;
}

void Process::kill(int signal) const {
  if (pid_ <= 0 || ended_) return;
  if (fd_) {
    ::syscall(SYS_pidfd_send_signal, fd_.get(), signal, nullptr, 0);
  } else {
    ::kill(pid_, signal);
  }
}

Result<Finished> run_program(const Command& command, const std::string& input,
                             std::chrono::milliseconds patience) {
  const Clock::time_point deadline = Clock::now() + patience;
  Result<Pipe> in = make_pipe();
  if (!in) return in.error();
  Result<Pipe> out = make_pipe();
  if (!out) return out.error();
  Result<Pipe> err = make_pipe();
  if (!err) return err.error();
  // It fits the pipe's buffer, and we still hold the reading end: the write neither blocks nor
  // raises SIGPIPE.
  if (!input.empty() && ::write(in->write.get(), input.data(), input.size()) < 0) {
    return errno_error("writing to " + command.words[0]);
  }
  Result<Process> process = Process::spawn(
      command, {.in = in->read.get(), .out = out->write.get(), .err = err->write.get()});
  if (!process) return process.error();
  *in = {};
  out->write.reset();
  err->write.reset();
  Finished finished;
  drain(*out, *err, finished, deadline);
  const auto left = std::chrono::milliseconds(milliseconds_left(deadline));
  if (!process->wait(left)) {
    process->kill();
    // A process in an uninterruptible wait (a driver call) survives even SIGKILL, so do not wait
    // for it. It becomes our zombie if it ever ends.
    process->wait(std::chrono::seconds(1));
    return finished;
  }
  finished.exit_code = process->exit_code();
  return finished;
}

std::vector<pid_t> find_processes(const std::string& variable, const std::string& word) {
  std::vector<pid_t> found;
  const Result<std::vector<std::string>> names = list_directory("/proc");
  if (!names) return found;
  for (const std::string& name : *names) {
    const std::optional<pid_t> pid = parse_number<pid_t>(name);
    if (pid && is_process(*pid, variable, word)) found.push_back(*pid);
  }
  return found;
}

bool is_process(pid_t pid, const std::string& variable, const std::string& word) {
  const std::vector<std::string> words = proc_texts(pid, "cmdline");
  const bool has_word = std::ranges::any_of(
      words, [&](const std::string& text) { return text.find(word) != std::string::npos; });
  if (!has_word) return false;
  const std::vector<std::string> environment = proc_texts(pid, "environ");
  return std::ranges::find(environment, variable) != environment.end();
}

std::optional<Process> open_process(pid_t pid, const std::string& variable,
                                    const std::string& word) {
  Process process = Process::of(pid);
  if (!is_process(pid, variable, word) || process.has_ended()) return std::nullopt;
  return process;
}

std::optional<std::string> variable_of(pid_t pid, const std::string& name) {
  for (const std::string& entry : proc_texts(pid, "environ")) {
    if (entry.starts_with(name + "=")) return entry.substr(name.size() + 1);
  }
  return std::nullopt;
}

}  // namespace tranche::os
