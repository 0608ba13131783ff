#define _GNU_SOURCE
#include "users.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernel.h"
#include "namespaces.h"
#include "pipes.h"
#include "privileges.h"
#include "report.h"

enum { first_descriptor = 3, most_forks = 4096 };

/* Of a namespace whose own process may not write them: other users than its own. */
static void write_maps(pid_t process, const char *map) {
  static const char *const files[] = {"uid_map", "gid_map"};
  for (size_t at = 0; at < sizeof files / sizeof *files; at++) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%ld/%s", (long)process, files[at]);
    write_file("map", path, map);
  }
}

/* Is in a namespace of its own until that is open elsewhere. Without a map, the user and group that it is stay what they are. */
static noreturn void enter_for(int entered, int left, const char *map) {
  const struct identity same = {.given = false};
  const unsigned uid = geteuid();
  const unsigned gid = getegid();
  if (unshare(CLONE_NEWUSER) != 0) fail("unshare", NULL);
  if (map == NULL) {
    map_identity(&same, uid, gid);
    /* Who is not root opens the namespace of a process only where it may look at that. */
    become_transparent();
  }
  const char here = 1;
  char nothing = 0;
  if (write(entered, &here, sizeof here) != sizeof here) _exit(exit_launch_failed);
  while (read(left, &nothing, sizeof nothing) < 0 && errno == EINTR) {}
  _exit(0);
}

static void make_namespace(int wanted, const char *map) {
  int entered[2];
  int left[2];
  if (pipe2(entered, O_CLOEXEC) != 0 || pipe2(left, O_CLOEXEC) != 0) fail("descriptors", "a pipe");
  const pid_t process = fork();
  if (process < 0) fail("fork", NULL);
  if (process == 0) {
    close(left[1]);
    enter_for(entered[1], left[0], map);
  }
  close(entered[1]);
  char here = 0;
  if (read(entered[0], &here, sizeof here) != sizeof here) _exit(exit_launch_failed);
  if (map != NULL) write_maps(process, map);
  char path[64];
  snprintf(path, sizeof path, "/proc/%ld/ns/user", (long)process);
  const int namespace = open_users(path);
  close(entered[0]);
  close(left[0]);
  close(left[1]);
  while (waitpid(process, NULL, 0) < 0 && errno == EINTR) {}
  /* The caller counts on where it is. */
  if (namespace != wanted && dup3(namespace, wanted, O_CLOEXEC) != wanted) fail("descriptors", "a namespace");
  if (namespace != wanted) close(namespace);
}

void hold_users(const char *word) {
  const unsigned uid = read_number_of_call(word, INT_MAX - 1, "not the number of a user");
  if (kernel_close_range(first_descriptor, ~0u, 0) != 0) fail("descriptors", "closing");
  if (uid == geteuid()) {
    make_namespace(first_descriptor, NULL);
  } else {
    char program[32];
    char mounts[64];
    /* One for the programs and one for the processes around them, which do not count as theirs. */
    snprintf(program, sizeof program, "0 %u 2\n", uid);
    /* Files of everybody else stay theirs. */
    snprintf(mounts, sizeof mounts, "0 %u 1\n1 1 %u\n", uid, uid - 1);
    make_namespace(first_descriptor, program);
    make_namespace(first_descriptor + 1, mounts);
  }
  hold_for_caller();
}

void count_forks(const char *word) {
  static pid_t started[most_forks];
  const unsigned most = read_number_of_call(word, most_forks, "not a number of processes");
  unsigned living = 0;
  for (; living < most; living++) {
    const pid_t process = fork();
    if (process < 0) break;
    if (process == 0) {
      pause();
      _exit(0);
    }
    started[living] = process;
  }
  for (unsigned at = 0; at < living; at++) kill(started[at], SIGKILL);
  for (unsigned at = 0; at < living; at++) waitpid(started[at], NULL, 0);
  dprintf(STDOUT_FILENO, "%u\n", living);
  _exit(0);
}
