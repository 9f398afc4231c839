// SPDX-License-Identifier: Apache-2.0
//
// Plays the driver's MPS programs, by the name it is called: the control daemon
// and its client (nvidia-cuda-mps-control) and the server (…-server). It says
// and does what tests/mps/recorded has of the real ones; a test replays that.
//
// Trouble is ordered in a file `behave` beside the pipe folder, one word:
//   fault   servers say FAULT of themselves      hang    clients get no answer
//   mute    questions get no answer              refuse  clients get error 805
//   809     or another number: clients get this error
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/path.h"
#include "base/text.h"
#include "os/files.h"
#include "testbed/mps/standin_roles.h"
#include "testbed/mps/standin_settings.h"
#include "testbed/mps/standin_talk.h"

namespace tranche::testbed::mps_standin {
namespace {

using Clock = std::chrono::steady_clock;

void note(const std::string& text) {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  tm parts{};
  ::localtime_r(&now.tv_sec, &parts);
  char stamp[32] = {};
  std::strftime(stamp, sizeof(stamp), "%Y-%m-%d %H:%M:%S", &parts);
  std::printf("[%s.%03ld Control %5d] %s\n", stamp, now.tv_nsec / 1000000, ::getpid(),
              text.c_str());
  std::fflush(stdout);
}

class Daemon {
 public:
  Daemon(std::string folder, bool multiuser) : folder_(std::move(folder)), multiuser_(multiuser) {}

  int run() {
    if (!take_lock()) {
      std::puts("An instance of this daemon is already running");
      return 1;
    }
    make_files();
    note("Starting control daemon using socket " + folder_ + "/control");
    note("To connect CUDA applications to this daemon, set env CUDA_MPS_PIPE_DIRECTORY=" + folder_);
    note("CUDA MPS Control binary version: 13000");
    while (!quit_) {
      turn();
      go_on_quitting();
    }
    ::unlink((folder_ + "/nvidia-cuda-mps-control.pid").c_str());
    ::unlink((folder_ + "/log").c_str());
    note("Exit with status 0");
    return 0;
  }

 private:
  struct Server {
    int fd = -1;  // -1 until it has connected
    Settings settings;
  };
  struct Client {
    pid_t pid = 0;
    int number = 0;
    bool answered = false;
  };
  struct Quitting {
    int asker;
    Clock::time_point deadline;
    bool told = false;
  };

  bool take_lock() {
    ::umask(0);
    lock_ =
        UniqueFd(::open((folder_ + "/control_lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
    return lock_ && ::flock(lock_.get(), LOCK_EX | LOCK_NB) == 0;
  }

  UniqueFd listen_at(const std::string& name, mode_t mode) {
    const std::string path = folder_ + "/" + name;
    ::unlink(path.c_str());
    UniqueFd fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    const sockaddr_un address = address_of(path);
    if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
        ::chmod(path.c_str(), mode) != 0 || ::listen(fd.get(), 64) != 0) {
      std::perror(path.c_str());
      std::exit(1);  // NOLINT(concurrency-mt-unsafe): there is one thread
    }
    return fd;
  }

  void make_files() {
    ::unlink((folder_ + "/log").c_str());
    ::mkfifo((folder_ + "/log").c_str(), 0777);
    std::ofstream(folder_ + "/nvidia-cuda-mps-control.pid") << ::getpid();
    privileged_ = listen_at("control_privileged", 0755);
    control_ = listen_at("control", 0666);
  }

  std::string behaviour() const {
    const Result<std::string> text = read_file(parent_of(folder_) + "/behave");
    return text ? std::string(trim(*text)) : "";
  }

  void turn() {
    std::vector<pollfd> polled{{control_.get(), POLLIN, 0}};
    for (const auto& [fd, owned] : connections_) polled.push_back({fd, POLLIN, 0});
    ::poll(polled.data(), polled.size(), 50);
    reap();
    for (const pollfd& one : polled) {
      if (one.revents == 0) continue;
      if (one.fd == control_.get()) {
        take_connection();
      } else if (connections_.contains(one.fd)) {
        take_packet(one.fd);
      }
    }
    answer_pending();
  }

  // Recorded: it waits for the first packet of a connection, and serves no other until it
  // has come.
  void take_connection() {
    const int fd = ::accept4(control_.get(), nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) return;
    connections_[fd] = UniqueFd(fd);
    note("Accepting connection...");
    take_packet(fd);
  }

  void take_packet(int fd) {
    const std::string packet = hear(fd);
    if (packet == "\n") return forget(fd);
    if (packet == "server") return take_server(fd);
    if (packet == "client") return take_client(fd);
    note("NEW UI");
    take_command(fd, packet.substr(3));
    note("UI closed");
  }

  ucred peer_of(int fd) const {
    ucred peer{};
    socklen_t size = sizeof(peer);
    ::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size);
    return peer;
  }

  void take_server(int fd) {
    const pid_t pid = peer_of(fd).pid;
    if (!servers_.contains(pid)) return;
    servers_[pid].fd = fd;
    note("NEW SERVER " + std::to_string(pid) + ": Ready");
  }

  void take_client(int fd) {
    const pid_t pid = peer_of(fd).pid;
    clients_[fd] = {pid, ++client_numbers_, false};
    note("NEW CLIENT " + std::to_string(pid) + " from user 0: " +
         (servers_.empty() ? "Server is not ready, push client to pending list"
                           : "Server already exists"));
    if (servers_.empty()) start_server();
  }

  void start_server() {
    const pid_t pid = ::fork();
    if (pid == 0) {
      note("Starting new server " + std::to_string(::getpid()) + " for user 0");
      ::execlp("nvidia-cuda-mps-server", "nvidia-cuda-mps-server",
               multiuser_ ? "-multiuser-server" : nullptr, nullptr);
      ::_exit(1);
    }
    servers_[pid].settings = settings_;
  }

  void reap() {
    int status = 0;
    for (pid_t pid = ::waitpid(-1, &status, WNOHANG); pid > 0;
         pid = ::waitpid(-1, &status, WNOHANG)) {
      note("Server " + std::to_string(pid) + " exited with status " +
           std::to_string(WIFEXITED(status) ? WEXITSTATUS(status) : status));
      const bool never_came = servers_.contains(pid) && servers_[pid].fd < 0;
      servers_.erase(pid);
      if (!never_came) continue;
      // Recorded: six tries, then the client is told.
      if (++failed_starts_ < 6) {
        start_server();
      } else {
        failed_starts_ = 0;
        answer_all("805");
      }
    }
  }

  void answer_all(const std::string& code) {
    for (auto& [fd, client] : clients_) {
      if (client.answered) continue;
      // Recorded: a client's connection is with the server from then on.
      if (code == "0" && !servers_.empty()) hand_over(servers_.begin()->second.fd, fd);
      say(fd, code);
      client.answered = true;
    }
  }

  void answer_pending() {
    const bool served =
        std::ranges::any_of(servers_, [](const auto& entry) { return entry.second.fd >= 0; });
    const std::string behave = behaviour();
    if (!served || behave == "hang") return;
    answer_all(behave == "refuse" ? "805" : behave.empty() || behave == "fault" ? "0" : behave);
  }

  void forget(int fd) {
    std::erase_if(servers_, [&](const auto& entry) { return entry.second.fd == fd; });
    clients_.erase(fd);
    connections_.erase(fd);
  }

  void take_command(int fd, const std::string& line) {
    note("Cmd:" + line);
    const std::string behave = behaviour();
    if (behave == "mute") return;
    const std::vector<std::string> words = words_of(line);
    if (!words.empty() && words[0] == "quit") {
      const bool timed = words.size() == 3 && words[1] == "-t";
      const auto patience = std::chrono::seconds(timed ? std::atoi(words[2].c_str()) : 3600);
      quitting_ = Quitting{fd, Clock::now() + patience};
      return;
    }
    const ucred peer = peer_of(fd);
    const bool changes = line.starts_with("set_") || line.starts_with("terminate_client");
    if (changes && peer.uid != 0 && peer.uid != ::getuid()) {
      say(fd, "Insufficient privileges for UID " + std::to_string(peer.uid) +
                  ". Control deamon settings can only be modified by the user who started it or by "
                  "the root user.\n");
      return;
    }
    // A packet cannot be empty; an empty answer is the connection's end.
    const std::string text = answer(line, words, behave);
    if (!text.empty()) say(fd, text);
    forget(fd);
  }

  std::string answer(const std::string& line, const std::vector<std::string>& words,
                     const std::string& behave) {
    const std::string command = words.empty() ? "" : words[0];
    const auto word = [&](std::size_t i) { return i < words.size() ? words[i] : std::string(); };
    if (command == "get_default_active_thread_percentage") {
      return percentage_text(settings_.percentage);
    }
    if (command == "set_default_active_thread_percentage") {
      settings_.set_percentage(word(1));
      return percentage_text(settings_.percentage);
    }
    if (command == "get_default_device_pinned_mem_limit") {
      const auto limit = settings_.limits.find(word(1));
      return limit == settings_.limits.end() ? "" : limit_text(limit->second);
    }
    if (command == "set_default_device_pinned_mem_limit") {
      settings_.set_limit(word(1), word(2));
      return "";
    }
    if (command == "get_default_client_priority" || command == "terminate_client") return "0\n";
    if (command == "get_device_client_list" && servers_.empty()) return "";
    if (command == "get_server_list") return server_list();
    if (command == "ps") return snapshot();
    if (command.ends_with("_active_thread_percentage") || command.ends_with("_mem_limit") ||
        command == "get_server_status" || command == "get_client_list" ||
        command == "shutdown_server") {
      return answer_of_server(words, behave);
    }
    return "Unknown command \"" + line + "\"\n";
  }

  std::string answer_of_server(const std::vector<std::string>& words, const std::string& behave) {
    const std::string number = words.size() > 1 ? words[1] : "";
    const auto found = servers_.find(std::atoi(number.c_str()));
    if (found == servers_.end()) return "Server " + number + " not found\n";
    Server& server = found->second;
    if (words[0] == "get_server_status") return behave == "fault" ? "FAULT\n" : "ACTIVE\n";
    if (words[0] == "set_active_thread_percentage") {
      server.settings.set_percentage(words.at(2));
    }
    if (words[0].ends_with("et_active_thread_percentage")) {
      return percentage_text(server.settings.percentage);
    }
    if (words[0] == "get_device_pinned_mem_limit") {
      return limit_text(server.settings.limit_of(words.at(2)));
    }
    if (words[0] == "set_device_pinned_mem_limit") {
      server.settings.set_limit(words.at(2), words.at(3));
    }
    if (words[0] == "shutdown_server") {
      say(server.fd, "shutdown");
      servers_.erase(found);
    }
    return words[0] == "get_client_list" ? client_list() : "";
  }

  std::string server_list() const {
    std::string text;
    for (const auto& [pid, server] : servers_) {
      if (server.fd >= 0) text += std::to_string(pid) + "\n";
    }
    return text;
  }

  std::string client_list() const {
    std::string text;
    for (const auto& [fd, client] : clients_) text += std::to_string(client.pid) + "\n";
    return text;
  }

  std::string snapshot() const {
    if (servers_.empty()) return "Server not found\n";
    if (clients_.empty()) return "";
    char line[200] = {};
    const char* const format = "%-10s%-10s%-15s%-26s%-15s%-15s\n";
    std::snprintf(line, sizeof(line), format, "PID", "ID", "SERVER", "DEVICE", "NAMESPACE",
                  "COMMAND");
    std::string text = line;
    const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
    const std::string device = std::string(visible == nullptr ? "" : visible).substr(0, 22);
    for (const auto& [fd, client] : clients_) {
      const std::string program = "/proc/" + std::to_string(client.pid) + "/exe";  // whatever it is
      std::snprintf(line, sizeof(line), "%-10d%-10d%-15d%-26s%-15s%s\n", client.pid, client.number,
                    servers_.begin()->first, device.c_str(), "4026531836", program.c_str());
      text += line;
    }
    return text;
  }

  void go_on_quitting() {
    if (!quitting_) return;
    if (!clients_.empty() && Clock::now() < quitting_->deadline) return;
    if (!quitting_->told) {
      for (const auto& [pid, server] : servers_) say(server.fd, "shutdown");
      quitting_->told = true;
    }
    if (!servers_.empty()) return;
    quit_ = true;
  }

  const std::string folder_;
  const bool multiuser_;
  UniqueFd lock_;
  UniqueFd control_;
  UniqueFd privileged_;
  Settings settings_;
  std::map<pid_t, Server> servers_;
  std::map<int, Client> clients_;
  std::map<int, UniqueFd> connections_;
  std::optional<Quitting> quitting_;
  int client_numbers_ = 0;
  int failed_starts_ = 0;
  bool quit_ = false;
};

}  // namespace
}  // namespace tranche::testbed::mps_standin

int main(int argc, char** argv) {
  using namespace tranche::testbed::mps_standin;
  const std::vector<std::string> words(argv, argv + argc);
  const bool has = std::ranges::find(words, "-f") != words.end();
  const bool multiuser = std::ranges::find(words, "--multiuser-server") != words.end();
  if (words[0].ends_with("nvidia-cuda-mps-server")) return run_server();
  return has ? Daemon(pipe_folder(), multiuser).run() : run_client();
}
