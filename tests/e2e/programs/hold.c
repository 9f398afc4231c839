// SPDX-License-Identifier: Apache-2.0
//
// hold FOLDER NAME...: says in FOLDER that this container has the devices NAME,
// for as long as it lives. A lock ends with its process, however that ends, so
// two containers with one device cannot go unnoticed: FOLDER/twice then names
// the device and both containers. Ends on SIGTERM.
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

static void end(int number) {
  (void)number;
  _exit(0);
}

static void tell(const char* folder, const char* device, int held, const char* me) {
  char path[512];
  char holder[128] = "";
  snprintf(path, sizeof path, "%s/twice", folder);
  const int twice = open(path, O_CREAT | O_WRONLY | O_APPEND, 0666);
  if (pread(held, holder, sizeof holder - 1, 0) < 0) perror(device);
  dprintf(twice, "%s is held by %s and was given to %s\n", device, holder, me);
  close(twice);
}

int main(int count, char** words) {
  if (count < 3) return 2;
  char me[64] = "";
  gethostname(me, sizeof me - 1);  // of the pod
  for (int i = 2; i < count; ++i) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s", words[1], words[i]);
    const int file = open(path, O_CREAT | O_RDWR, 0666);
    if (file < 0) {
      perror(path);
      return 1;
    }
    if (flock(file, LOCK_EX | LOCK_NB) != 0) {
      tell(words[1], words[i], file, me);
    } else if (ftruncate(file, 0) != 0 || pwrite(file, me, strlen(me), 0) < 0) {
      perror(path);
    }
  }
  signal(SIGTERM, end);
  for (;;) pause();
}
