// SPDX-License-Identifier: Apache-2.0
//
// A process of somebody else's at a daemon's socket, which is nobody's child:
//
//   mps-stranger SOCKET UID FOLDER [WORD]
//
// connects, as that user, says the word where there is one, writes its pid to
// FOLDER/stranger and stays until it is killed or the folder is gone. Words of its own:
//   again   says nothing, and connects again when the connection is ended
//   flood   asks, and reads none of the answers
//   flight  says nothing; the connection is in no process's table, only on its way to itself
//   hidden-again  as again, with very many other descriptors before the connection
//   flight-again  as flight, with several connections, which the daemon takes one by one
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "testbed/mps/standin_talk.h"

namespace {

using namespace tranche::testbed::mps_standin;

// More than anybody looks through.
void open_very_many() {
  const rlimit most{.rlim_cur = 6000, .rlim_max = 6000};
  ::setrlimit(RLIMIT_NOFILE, &most);
  for (int fd = 0; fd >= 0 && fd < 5000;) fd = ::open("/dev/null", O_RDONLY);
}

// As many as one queue holds, and as nobody bears.
constexpr int kInFlight = 8;

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  if (::fork() != 0) return 0;
  ::setsid();
  if (::fork() != 0) return 0;
  // Whoever started it waits for the end of its output.
  const int nothing = ::open("/dev/null", O_RDWR);
  for (int fd = 0; fd < 3; ++fd) ::dup2(nothing, fd);
  // As a pod's process; where that is not allowed, without.
  ::unshare(CLONE_NEWNET);
  const std::string note = std::string(argv[3]) + "/stranger";
  const int out = ::open(note.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
  const auto user = static_cast<uid_t>(std::atoi(argv[2]));
  const std::string word = argc > 4 ? argv[4] : "";
  if (word == "hidden-again") open_very_many();
  if (user != ::geteuid() && ::setuid(user) != 0) return 1;
  tranche::testbed::UniqueFd fd = connect_to(argv[1]);
  if (!fd) return 1;
  const bool is_again = word.ends_with("again");
  std::array<int, 2> way{};
  if (word.starts_with("flight")) {
    ::socketpair(AF_UNIX, SOCK_DGRAM, 0, way.data());
    hand_over(way[0], fd.get());
    fd.reset();
  } else if (!word.empty() && !is_again && word != "flood") {
    say(fd.get(), word);
    hear(fd.get());
  }
  ::dprintf(out, "%d\n", ::getpid());
  ::close(out);
  while (word == "flood" && say(fd.get(), "ui set_x")) {
  }
  for (int i = 1; word == "flight-again" && i < kInFlight; ++i) {
    hand_over(way[0], connect_to(argv[1]).get());
  }
  while (is_again && fd && ::access(argv[3], F_OK) == 0) {
    hear(fd.get());
    if (word == "hidden-again") open_very_many();
    fd = connect_to(argv[1]);
  }
  while (::access(argv[3], F_OK) == 0) ::poll(nullptr, 0, 200);
  return 0;
}
