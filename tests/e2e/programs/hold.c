// SPDX-License-Identifier: Apache-2.0
//
// hold FOLDER NAME...: says in FOLDER that this container has the devices NAME,
// for as long as it lives. A lock ends with its process, however that ends, so
// two containers with one device cannot go unnoticed: "TWICE NAME" is printed
// and kept in FOLDER/twice. Ends on SIGTERM.
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/file.h>
#include <unistd.h>

static void end(int number) {
  (void)number;
  _exit(0);
}

int main(int count, char** words) {
  if (count < 3) return 2;
  for (int i = 2; i < count; ++i) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s", words[1], words[i]);
    const int file = open(path, O_CREAT | O_RDWR, 0666);
    if (file < 0) {
      perror(path);
      return 1;
    }
    if (flock(file, LOCK_EX | LOCK_NB) == 0) continue;
    printf("TWICE %s\n", words[i]);
    fflush(stdout);
    snprintf(path, sizeof path, "%s/twice", words[1]);
    const int twice = open(path, O_CREAT | O_WRONLY | O_APPEND, 0666);
    dprintf(twice, "%s\n", words[i]);
  }
  printf("held\n");
  fflush(stdout);
  signal(SIGTERM, end);
  for (;;) pause();
}
