/* Attempts on another process of the same user, and that process. */
#define _GNU_SOURCE
#include "attempts.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

enum { number_pidfd_open = 434, number_pidfd_getfd = 438, ptrace_seize = 0x4206, set_ptracer = 0x59616d61 };
enum { capability_version = 0x20080522, segment_size = 4096 };

/* Without capabilities and open to tracing, so that what keeps others away is nothing of its own. */
int be_victim(const char *secret, const char *path) {
  static char kept[256];
  const uint32_t header[2] = {capability_version, 0}, none[6] = {0};
  int file = open(path, O_RDONLY | O_CLOEXEC), segment = shmget(IPC_PRIVATE, segment_size, 0600);
  char *shared = segment < 0 ? NULL : shmat(segment, NULL, 0);
  if (file < 0 || shared == NULL || strlen(secret) >= sizeof kept) not_prepared("what is to be kept");
  /* The segment lasts as long as the process does. */
  if (shmctl(segment, IPC_RMID, NULL) != 0) not_prepared("the segment");
  snprintf(kept, sizeof kept, "%s", secret);
  snprintf(shared, segment_size, "%s", secret);
  if (syscall(SYS_capset, header, none) != 0) not_prepared("capabilities");
  prctl(set_ptracer, -1L, 0, 0, 0);
  printf("%#lx %d %d\n", (unsigned long)(uintptr_t)kept, file, segment);
  char ignored;
  return fflush(stdout) == 0 && read(0, &ignored, 1) == 0 ? 0 : 3;
}

static pid_t process_of(const char *operand) { return (pid_t)strtol(operand, NULL, 10); }

static int trace(char *const *operands) { return syscall(SYS_ptrace, ptrace_seize, process_of(operands[0]), 0, 0) < 0 ? -1 : 0; }

static int read_memory(char *const *operands) {
  union {
    unsigned long number;
    void *pointer;
  } address = {.number = strtoul(operands[1], NULL, 16)};
  char found[256] = {0};
  size_t size = strlen(operands[2]);
  if (size > sizeof found) not_prepared("the secret");
  struct iovec here = {.iov_base = found, .iov_len = size}, there = {.iov_base = address.pointer, .iov_len = size};
  if (process_vm_readv(process_of(operands[0]), &here, 1, &there, 1, 0) < 0) return -1;
  errno = ENODATA;
  return memcmp(found, operands[2], size) == 0 ? 0 : -1;
}

/* Asked for also where the process cannot be seen: the call is refused all the same. */
static int take_descriptor(char *const *operands) {
  int process = (int)syscall(number_pidfd_open, process_of(operands[0]), 0);
  return holds((int)syscall(number_pidfd_getfd, process, strtol(operands[1], NULL, 10), 0), operands[2]);
}

static int read_limits(char *const *operands) {
  struct rlimit found;
  return (int)syscall(SYS_prlimit64, process_of(operands[0]), RLIMIT_NOFILE, NULL, &found) < 0 ? -1 : 0;
}

static int send_signal(char *const *operands) { return kill(process_of(operands[0]), SIGUSR1); }

/* The kernel sends it, for a pipe that has something to read. */
static int signal_by_descriptor(char *const *operands) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) not_prepared("a pipe");
  if (fcntl(ends[0], F_SETOWN, process_of(operands[0])) != 0 || fcntl(ends[0], F_SETSIG, SIGUSR1) != 0) return -1;
  if (fcntl(ends[0], F_SETFL, O_ASYNC) != 0 || write(ends[1], "x", 1) != 1) return -1;
  return tried;
}

static int slow_down(char *const *operands) { return setpriority(PRIO_PROCESS, (id_t)process_of(operands[0]), 5); }

static int read_environment(char *const *operands) {
  static char found[65536];
  char path[64];
  snprintf(path, sizeof path, "/proc/%s/environ", operands[0]);
  int file = open(path, O_RDONLY | O_CLOEXEC);
  ssize_t size = file < 0 ? -1 : read(file, found, sizeof found);
  if (size < 0) return -1;
  errno = ENODATA;
  return memmem(found, (size_t)size, operands[1], strlen(operands[1])) == NULL ? -1 : 0;
}

static int read_below(char *const *operands, const char *place, const char *rest, const char *secret) {
  char path[4096];
  snprintf(path, sizeof path, "/proc/%s/%s%s", operands[0], place, rest);
  return holds(open(path, O_RDONLY | O_CLOEXEC), secret);
}

static int read_through_root(char *const *operands) { return read_below(operands, "root", operands[1], operands[2]); }

static int read_through_descriptor(char *const *operands) { return read_below(operands, "fd/", operands[1], operands[2]); }

static int attach_segment(char *const *operands) {
  const char *shared = shmat((int)strtol(operands[0], NULL, 10), NULL, SHM_RDONLY);
  if ((intptr_t)shared == -1) return -1;
  errno = ENODATA;
  return strncmp(shared, operands[1], segment_size) == 0 ? 0 : -1;
}

const struct attempt process_attempts[] = {
  {"ptrace", 1, trace},
  {"read-memory", 3, read_memory},
  {"take-descriptor", 3, take_descriptor},
  {"read-limits", 1, read_limits},
  {"signal", 1, send_signal},
  {"signal-by-descriptor", 1, signal_by_descriptor},
  {"slow-down", 1, slow_down},
  {"read-environment", 2, read_environment},
  {"read-through-root", 3, read_through_root},
  {"read-through-descriptor", 3, read_through_descriptor},
  {"attach-segment", 2, attach_segment},
  {NULL, 0, NULL},
};
