// SPDX-License-Identifier: Apache-2.0
//
// Compares the stand-in with the recording of a real control daemon: asks every question of the
// first episode again, and compares the files.
#include <fcntl.h>
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "core/mps/control_words.h"
#include "fixture.h"
#include "node/mps/driver_programs.h"
#include "os/files.h"
#include "testbed/mps/standin_talk.h"

namespace tranche::tests {
namespace {

using nlohmann::json;

json recorded(const std::string& episode) {
  std::ifstream file(MPS_RECORDED);
  const json all = json::parse(file);
  for (const json& one : all.at("episodes")) {
    if (one.at("name") == episode) return one.at("steps");
  }
  return {};
}

// "srw-rw-rw-", the recorder's format of modes.
std::string mode_of(const std::string& path) {
  struct stat status = {};
  ::lstat(path.c_str(), &status);
  const mode_t mode = status.st_mode;
  std::string text = S_ISSOCK(mode) ? "s" : S_ISFIFO(mode) ? "p" : S_ISREG(mode) ? "-" : "?";
  for (int shift = 6; shift >= 0; shift -= 3) {
    const mode_t bits = (mode >> shift) & 7;
    text += std::string(bits & 4 ? "r" : "-") + (bits & 2 ? "w" : "-") + (bits & 1 ? "x" : "-");
  }
  return text;
}

// A stand-in daemon that starts servers through the trial program.
class Standin {
 public:
  Standin() {
    std::filesystem::create_directories(pipe());
    ::chmod(dir_.path().c_str(), 0755);
    for (const char* name : {kControlProgram, kServerProgram}) {
      std::filesystem::copy_file(CONTROL_STANDIN, dir_.path(name));
    }
    out_ = UniqueFd(::open(dir_.path("out").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600));
  }
  ~Standin() {
    for (const pid_t pid : find_processes("CUDA_MPS_PIPE_DIRECTORY=" + pipe(), "mps-")) {
      ::kill(pid, SIGKILL);
    }
  }
  Standin(const Standin&) = delete;
  Standin& operator=(const Standin&) = delete;

  std::string pipe() const { return dir_.path("pipe"); }
  Command command(const std::vector<std::string>& flags) const {
    Command command{
        .words = {dir_.path(kControlProgram)},
        .environment = {"CUDA_MPS_PIPE_DIRECTORY=" + pipe(), "PATH=" + dir_.path(),
                        "CUDA_VISIBLE_DEVICES=GPU-486522bc-202d-0432-6dee-bbbb769a1560"}};
    command.words.insert(command.words.end(), flags.begin(), flags.end());
    return command;
  }
  Process start() {
    Result<Process> process =
        Process::spawn(command({"-f", "--multiuser-server"}), {.out = out_.get()});
    await_condition([&] { return ask("get_server_list").exit_code == 0; }, "an answer");
    return std::move(*process);
  }
  Finished ask(const std::string& question) const {
    const auto done = run_program(command({}), question + "\n", std::chrono::seconds(30));
    return done ? *done : Finished{};
  }
  int server() const {
    const std::vector<int> pids = parse_pids(ask("get_server_list").out);
    return pids.empty() ? 0 : pids[0];
  }
  UniqueFd connect_client() const {
    UniqueFd fd = mps_standin::connect_to(pipe() + "/control");
    mps_standin::say(fd.get(), "client");
    EXPECT_EQ(mps_standin::hear(fd.get()), "0");
    return fd;
  }
  void expect_files(const json& files) const {
    std::set<std::string> wanted;
    for (const auto& [name, facts] : files.items()) {
      wanted.insert(name);
      EXPECT_EQ(mode_of(pipe() + "/" + name), facts.at("mode").get<std::string>()) << name;
    }
    const auto names = list_directory(pipe());
    EXPECT_EQ(std::set<std::string>(names->begin(), names->end()), wanted);
  }

 private:
  TempDir dir_;
  UniqueFd out_;
};

// Replaces the recording's numbers with this run's. Whole numbers, each once: ours may contain
// theirs.
std::string in_our_numbers(const std::string& text, const std::map<std::string, int>& ours) {
  constexpr const char* kDigits = "0123456789";
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t number = std::min(text.find_first_of(kDigits, at), text.size());
    const std::size_t end = std::min(text.find_first_not_of(kDigits, number), text.size());
    const std::string theirs = text.substr(number, end - number);
    const auto known = ours.find(theirs);
    out += text.substr(at, number - at);
    out += known == ours.end() ? theirs : fmt::format("{}", known->second);
    at = end;
  }
  return out;
}

TEST(RecordedNumbers, AreReplacedOnceThoughOursHaveTheirsInThem) {
  const std::map<std::string, int> ours{{"503", 15037}, {"536", 503}};
  EXPECT_EQ(in_our_numbers("ps 503 536 5031\n503", ours), "ps 15037 503 5031\n15037");
  EXPECT_EQ(in_our_numbers("", ours), "");
}

// Columns are padded and numbers differ, so this compares word by word. A client's number and
// program do not come from the daemon.
std::vector<std::string> table(const std::string& text) {
  std::vector<std::string> rows;
  for (const std::string& line : split(text, '\n')) {
    std::vector<std::string> words;
    for (const std::string& word : split(line, ' ')) {
      if (!word.empty()) words.push_back(word);
    }
    if (words.size() == 6 && words[0] != "PID") words = {words[0], words[2], words[3]};
    rows.push_back(join(words, " "));
  }
  return rows;
}

TEST(MpsStandin, AnswersWhatWasRecorded) {
  Standin standin;
  Process daemon = standin.start();
  UniqueFd holder;
  std::map<std::string, int> numbers{{"536", ::getpid()}};
  int asked = 0;
  for (const json& step : recorded("one-gpu")) {
    const std::string what = step.at("what");
    if (what == "files") standin.expect_files(step.at("pipe"));
    if (what == "client") {
      const UniqueFd client = standin.connect_client();
    } else if (what == "holder") {
      holder = standin.connect_client();
    } else if (what == "server killed") {
      holder.reset();
      const int server = standin.server();
      ::kill(server, SIGKILL);
      await_condition([&] { return standin.server() == 0; }, "the server's end");
    } else if (what == "processes" && step.at("lines").empty()) {
      daemon.kill();
      ASSERT_TRUE(daemon.wait(std::chrono::seconds(30)));
    }
    if (what == "client") {
      // The end of the connection comes after the packet.
      await_condition(
          [&] {
            const std::string list =
                standin.ask(fmt::format("get_client_list {}", standin.server())).out;
            return list.empty() || holder;
          },
          "the client's end");
    }
    if (what != "ask") continue;
    if (const int server = standin.server(); server != 0) {
      // "503" is the first server, "581" the one after it was killed.
      if (!numbers.contains("503")) numbers["503"] = server;
      if (numbers["503"] != server) numbers["581"] = server;
    }
    const std::string question = in_our_numbers(step.at("text"), numbers);
    const Finished answer = standin.ask(question);
    EXPECT_EQ(table(answer.out), table(in_our_numbers(step.at("out"), numbers))) << question;
    EXPECT_EQ(answer.err, step.at("err").get<std::string>()) << question;
    EXPECT_EQ(answer.exit_code, step.at("rc").get<int>()) << question;
    ++asked;
  }
  EXPECT_GE(asked, 50);
}

TEST(MpsStandin, RefusesASecondDaemonOnOneFolder) {
  Standin standin;
  const Process daemon = standin.start();
  const auto second = run_program(standin.command({"-f"}), "", std::chrono::seconds(30));
  ASSERT_TRUE(second);
  const json steps = recorded("second-on-one-folder");
  EXPECT_EQ(second->exit_code, steps.at(0).at("exit").get<int>());
  EXPECT_EQ(second->out, steps.at(1).at("out").get<std::string>());
}

TEST(MpsStandin, QuitsThoughAClientStays) {
  Standin standin;
  Process daemon = standin.start();
  const UniqueFd holder = standin.connect_client();
  const Finished quit = standin.ask("quit -t 1");
  EXPECT_EQ(quit.exit_code, 0);
  EXPECT_EQ(quit.out, "");
  ASSERT_TRUE(daemon.wait(std::chrono::seconds(30)));
  EXPECT_EQ(daemon.exit_code(), 0);
  for (const json& step : recorded("control-alone")) {
    if (step.at("what") == "files" && step.at("pipe").size() == 3) {
      standin.expect_files(step.at("pipe"));
    }
  }
}

TEST(MpsStandin, LeavesItsServerBehindWhenItIsTerminated) {
  Standin standin;
  Process daemon = standin.start();
  {
    const UniqueFd client = standin.connect_client();
  }
  const int server = standin.server();
  ::kill(daemon.pid(), SIGTERM);
  ASSERT_TRUE(daemon.wait(std::chrono::seconds(30)));
  EXPECT_EQ(::kill(server, 0), 0);
}

}  // namespace
}  // namespace tranche::tests
