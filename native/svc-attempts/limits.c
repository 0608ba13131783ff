/* Attempts to have more than was granted, to keep it, or to find what was not granted. */
#define _GNU_SOURCE
#include "attempts.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { most_children = 2048, mebibyte = 1024 * 1024, most_descriptors = 4096 };

static long number_of(const char *operand) { return strtol(operand, NULL, 10); }

static int find_descriptor(char *const *operands) {
  (void)operands;
  for (int descriptor = 3; descriptor < most_descriptors; descriptor++)
    if (fcntl(descriptor, F_GETFD) >= 0) return 0;
  return absent;
}

static int find_variable(char *const *operands) { return getenv(operands[0]) == NULL ? absent : 0; }

/* A bomb with a fuse: every child waits, and all are ended before the answer. */
static int fork_many(char *const *operands) {
  static pid_t children[most_children];
  long wanted = number_of(operands[0]), made = 0;
  int error = 0;
  while (made < wanted && made < most_children && error == 0) {
    pid_t child = fork();
    if (child == 0) {
      pause();
      _exit(0);
    }
    if (child < 0) error = errno;
    else children[made++] = child;
  }
  for (long each = 0; each < made; each++) kill(children[each], SIGKILL);
  for (long each = 0; each < made; each++) waitpid(children[each], NULL, 0);
  errno = error;
  return error == 0 ? 0 : -1;
}

static int take_memory(long mebibytes, int sharing) {
  for (long each = 0; each < mebibytes; each++) {
    volatile char *piece = mmap(NULL, mebibyte, PROT_READ | PROT_WRITE, sharing | MAP_ANONYMOUS, -1, 0);
    if (piece == MAP_FAILED) return -1;
    for (size_t at = 0; at < mebibyte; at += 4096) piece[at] = 1;
  }
  return 0;
}

static int take_private_memory(char *const *operands) { return take_memory(number_of(operands[0]), MAP_PRIVATE); }

static int take_shared_memory(char *const *operands) { return take_memory(number_of(operands[0]), MAP_SHARED); }

static int open_many(char *const *operands) {
  for (long each = number_of(operands[0]); each > 0; each--)
    if (dup(1) < 0) return -1;
  return 0;
}

static int write_far(char *const *operands) {
  int file = open("large", O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
  if (file < 0 || signal(SIGXFSZ, SIG_IGN) == SIG_ERR) not_prepared("large");
  return pwrite(file, "x", 1, number_of(operands[0])) == 1 ? 0 : -1;
}

/* In a session of its own, holding a FIFO by which others see that it is there, until they write to it. */
static _Noreturn void stay(int ready) {
  char ignored;
  int fifo = open("daemon", O_RDWR | O_CLOEXEC);
  if (fifo < 0 || setsid() < 0) _exit(1);
  close(0);
  close(1);
  close(2);
  if (write(ready, "x", 1) != 1) _exit(1);
  close(ready);
  _exit(read(fifo, &ignored, 1) == 1 ? 0 : 1);
}

static int leave_daemon(char *const *operands) {
  (void)operands;
  int ready[2];
  char ignored;
  if (mkfifo("daemon", 0600) != 0 || pipe2(ready, O_CLOEXEC) != 0) not_prepared("daemon");
  pid_t child = fork();
  if (child < 0) not_prepared("daemon");
  if (child == 0) stay(ready[1]);
  close(ready[1]);
  if (read(ready[0], &ignored, 1) != 1) not_prepared("daemon");
  return tried;
}

static int leave_mark(char *const *operands) {
  write_file(operands[0], "ran\n", 4, 0600);
  return 0;
}

const struct attempt limit_attempts[] = {
  {"find-descriptor", 0, find_descriptor},
  {"find-variable", 1, find_variable},
  {"fork-many", 1, fork_many},
  {"take-memory", 1, take_private_memory},
  {"take-shared-memory", 1, take_shared_memory},
  {"open-many", 1, open_many},
  {"write-far", 1, write_far},
  {"leave-daemon", 0, leave_daemon},
  {"leave-mark", 1, leave_mark},
  {NULL, 0, NULL},
};
