// SPDX-License-Identifier: Apache-2.0
#include "testbed/mps/standin_roles.h"

#include <poll.h>

#include <cstdlib>
#include <iostream>
#include <utility>
#include <vector>

#include "os/files.h"
#include "testbed/mps/standin_talk.h"

namespace tranche::testbed::mps_standin {

std::string pipe_folder() {
  const char* folder = std::getenv("CUDA_MPS_PIPE_DIRECTORY");
  return folder == nullptr ? "/tmp/nvidia-mps" : folder;
}

// Lives on when the daemon is killed, as the real one after SIGTERM.
int run_server() {
  const std::string folder = pipe_folder();
  const UniqueFd control = connect_to(folder + "/control");
  if (!control) return 1;
  say(control.get(), "server");
  std::vector<UniqueFd> clients;
  for (std::string packet; packet != "\n";) {
    UniqueFd client;
    packet = hear(control.get(), client);
    if (packet == "shutdown") return 0;
    if (client) clients.push_back(std::move(client));
  }
  // A test that failed leaves no process behind for ever.
  while (path_exists(folder)) ::poll(nullptr, 0, 200);
  return 0;
}

int run_client() {
  UniqueFd fd = connect_to(pipe_folder() + "/control");
  if (!fd) {
    std::cerr << "Cannot find MPS control daemon process\n";
    return 1;
  }
  for (std::string line; std::getline(std::cin, line); fd.reset()) {
    if (!fd) fd = connect_to(pipe_folder() + "/control");
    if (!fd) return 1;
    say(fd.get(), "ui " + line);
    const std::string answer = hear(fd.get());
    if (answer != "\n") std::cout << answer << std::flush;
  }
  return 0;
}

}  // namespace tranche::testbed::mps_standin
