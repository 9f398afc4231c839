// SPDX-License-Identifier: Apache-2.0
//
// What holds a pod's namespaces: it reaps what is left to it, until it is told
// to end.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static void reap(int number) {
  (void)number;
  while (waitpid(-1, 0, WNOHANG) > 0) {
  }
}

static void end(int number) {
  (void)number;
  _exit(0);
}

int main(void) {
  signal(SIGCHLD, reap);
  signal(SIGINT, end);
  signal(SIGTERM, end);
  for (;;) pause();
}
