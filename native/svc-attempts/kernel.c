/* Attempts on namespaces, mounts and parts of the kernel that have been used to break out. */
#define _GNU_SOURCE
#include "attempts.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { number_open_tree = 428, number_fsopen = 430, number_pidfd_open = 434, number_clone3 = 435, number_io_uring_setup = 425 };
enum { open_tree_clone = 1, key_spec_process_keyring = -2, key_spec_session_keyring = -3 };

#define HIGH_BITS 0xdeadbeef00000000ul

static int done(long result) { return result < 0 ? -1 : 0; }

/* Best effort: what needs the numbers fails without them. */
static void write_map(const char *path, const char *line) {
  int map = open(path, O_WRONLY | O_CLOEXEC);
  if (map < 0) return;
  if (write(map, line, strlen(line)) < 0) errno = 0;
  close(map);
}

static void map_root(uid_t user, gid_t group) {
  char line[64];
  snprintf(line, sizeof line, "0 %u 1\n", (unsigned)user);
  write_map("/proc/self/uid_map", line);
  write_map("/proc/self/setgroups", "deny");
  snprintf(line, sizeof line, "0 %u 1\n", (unsigned)group);
  write_map("/proc/self/gid_map", line);
}

int own_namespaces(int flags) {
  uid_t user = geteuid();
  gid_t group = getegid();
  if (unshare(flags) != 0) {
    if (unshare(flags | CLONE_NEWUSER) != 0) return 0;
    map_root(user, group);
  }
  if ((flags & CLONE_NEWNS) != 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0) not_prepared("mounts of its own");
  return 1;
}

static int unshare_user(char *const *operands) {
  (void)operands;
  return unshare(CLONE_NEWUSER);
}

static int child_of(long child) {
  if (child == 0) _exit(0);
  if (child > 0) waitpid((pid_t)child, NULL, 0);
  return done(child);
}

static int clone_user(char *const *operands) {
  (void)operands;
  return child_of(syscall(SYS_clone, (unsigned long)(CLONE_NEWUSER | SIGCHLD), 0, 0, 0, 0));
}

static int clone_user_high(char *const *operands) {
  (void)operands;
  return child_of(syscall(SYS_clone, HIGH_BITS | (unsigned long)(CLONE_NEWUSER | SIGCHLD), 0, 0, 0, 0));
}

static int clone3_user(char *const *operands) {
  (void)operands;
  const uint64_t arguments[8] = {CLONE_NEWUSER, 0, 0, 0, SIGCHLD, 0, 0, 0};
  return child_of(syscall(number_clone3, arguments, sizeof arguments));
}

/* Into the namespace that it is in already. */
static int enter_namespace(char *const *operands) {
  (void)operands;
  own_namespaces(CLONE_NEWUTS);
  return setns((int)syscall(number_pidfd_open, getpid(), 0), CLONE_NEWUTS);
}

static void mount_own(void) {
  if (mkdir("mount", 0700) != 0 || mount("none", "mount", "tmpfs", 0, NULL) != 0) not_prepared("mount");
}

static int mount_new(char *const *operands) {
  (void)operands;
  own_namespaces(CLONE_NEWNS);
  if (mkdir("mount", 0700) != 0) not_prepared("mount");
  if (mount("none", "mount", "tmpfs", 0, NULL) != 0) return -1;
  return umount2("mount", MNT_DETACH);
}

static int remount(char *const *operands) {
  (void)operands;
  int own = own_namespaces(CLONE_NEWNS);
  if (own) mount_own();
  return mount(NULL, own ? "mount" : ".", NULL, MS_REMOUNT | MS_BIND, NULL);
}

static int unmount(char *const *operands) {
  (void)operands;
  int own = own_namespaces(CLONE_NEWNS);
  if (own) mount_own();
  return umount2(own ? "mount" : "/proc", MNT_DETACH);
}

static int pivot_root(char *const *operands) {
  (void)operands;
  int own = own_namespaces(CLONE_NEWNS);
  if (own) mount_own();
  if (own && mkdir("mount/old", 0700) != 0) not_prepared("mount/old");
  return done(own ? syscall(SYS_pivot_root, "mount", "mount/old") : syscall(SYS_pivot_root, ".", "."));
}

static int change_root(char *const *operands) {
  (void)operands;
  own_namespaces(CLONE_NEWNS);
  return chroot(".");
}

static int copy_mount(char *const *operands) {
  (void)operands;
  own_namespaces(CLONE_NEWNS);
  return done(syscall(number_open_tree, AT_FDCWD, ".", open_tree_clone));
}

static int open_file_system(char *const *operands) {
  (void)operands;
  own_namespaces(CLONE_NEWNS);
  return done(syscall(number_fsopen, "tmpfs", 0));
}

static int open_bpf(char *const *operands) {
  (void)operands;
  const uint32_t array_map[32] = {2, 4, 4, 1};
  return done(syscall(SYS_bpf, 0, array_map, sizeof array_map));
}

/* A counter of its own processor time, without a look into the kernel: the least that can be asked for. */
static int open_performance_event(char *const *operands) {
  (void)operands;
  const uint64_t attributes[16] = {1 | (uint64_t)(16 * sizeof(uint64_t)) << 32, 0, 0, 0, 0, 1 << 5 | 1 << 6};
  return done(syscall(SYS_perf_event_open, attributes, 0, -1, -1, 0));
}

static int open_user_fault(char *const *operands) {
  (void)operands;
  return done(syscall(SYS_userfaultfd, 1));
}

static int set_up_ring(char *const *operands) {
  (void)operands;
  uint32_t parameters[30] = {0};
  return done(syscall(number_io_uring_setup, 4, parameters));
}

static int find_keyring(char *const *operands) {
  (void)operands;
  return done(syscall(SYS_keyctl, 0, key_spec_session_keyring, 1));
}

static int add_key(char *const *operands) {
  (void)operands;
  return done(syscall(SYS_add_key, "user", "svc", "x", 1, key_spec_process_keyring));
}

/* Into a terminal of its own where it can have one, else into nothing, which has to be refused before it is noticed. */
static int type_in(unsigned long request) {
  int controller = posix_openpt(O_RDWR | O_NOCTTY), terminal = 1;
  if (controller >= 0 && grantpt(controller) == 0 && unlockpt(controller) == 0) {
    terminal = open(ptsname(controller), O_RDWR | O_NOCTTY);
    if (terminal < 0 || setsid() < 0 || ioctl(terminal, TIOCSCTTY, 0) != 0) not_prepared("a terminal");
  }
  return syscall(SYS_ioctl, terminal, request, "x") < 0 ? errno : 0;
}

static int type_plainly(void) { return type_in(TIOCSTI); }

static int type_with_high_bits(void) { return type_in(HIGH_BITS | TIOCSTI); }

static int type_in_terminal(char *const *operands) {
  (void)operands;
  return in_child(type_plainly);
}

static int type_in_terminal_high(char *const *operands) {
  (void)operands;
  return in_child(type_with_high_bits);
}

static int read_kernel_log(char *const *operands) {
  (void)operands;
  char messages[4096];
  return done(syscall(SYS_syslog, 3, messages, sizeof messages));
}

struct handle {
  unsigned size;
  int type;
  unsigned char bytes[128];
};

/* A handle names a file whatever lies between: with it, every file of the same file system is in reach. */
static int open_by_handle(char *const *operands) {
  struct handle handle = {.size = sizeof handle.bytes, .type = 0, .bytes = {0}};
  int mount, here = open(".", O_RDONLY | O_CLOEXEC);
  if (here < 0) not_prepared(".");
  if (syscall(SYS_name_to_handle_at, AT_FDCWD, operands[0], &handle, &mount, 0) != 0) handle.size = 8;
  return holds((int)syscall(SYS_open_by_handle_at, here, &handle, O_RDONLY), operands[1]);
}

#if defined(__x86_64__)
static int as_i386(void) {
  long result;
  __asm__ volatile("int $0x80" : "=a"(result) : "a"(20 /* getpid */) : "memory");
  return result > 0 ? 0 : (int)-result;
}

static int as_x32(void) { return syscall(0x40000000 + SYS_getpid) > 0 ? 0 : errno; }

static int call_i386(char *const *operands) {
  (void)operands;
  return in_child(as_i386);
}

static int call_x32(char *const *operands) {
  (void)operands;
  return in_child(as_x32);
}
#endif

const struct attempt kernel_attempts[] = {
  {"unshare-user", 0, unshare_user},
  {"clone-user", 0, clone_user},
  {"clone-user-high-bits", 0, clone_user_high},
  {"clone3-user", 0, clone3_user},
  {"setns", 0, enter_namespace},
  {"mount", 0, mount_new},
  {"remount", 0, remount},
  {"unmount", 0, unmount},
  {"pivot-root", 0, pivot_root},
  {"chroot", 0, change_root},
  {"open-tree", 0, copy_mount},
  {"fsopen", 0, open_file_system},
  {"bpf", 0, open_bpf},
  {"perf-event", 0, open_performance_event},
  {"userfaultfd", 0, open_user_fault},
  {"io-uring", 0, set_up_ring},
  {"keyctl", 0, find_keyring},
  {"add-key", 0, add_key},
  {"tiocsti", 0, type_in_terminal},
  {"tiocsti-high-bits", 0, type_in_terminal_high},
  {"open-by-handle", 2, open_by_handle},
  {"kernel-log", 0, read_kernel_log},
#if defined(__x86_64__)
  {"int80", 0, call_i386},
  {"x32", 0, call_x32},
#endif
  {NULL, 0, NULL},
};
