/* Attempts to have a capability again, or what would need one. */
#define _GNU_SOURCE
#include "attempts.h"

#include <errno.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { capability_version = 0x20080522, capability_sys_admin = 21 };

static int has_capability(void) {
  const uint32_t header[2] = {capability_version, 0};
  uint32_t words[6] = {0};
  if (syscall(SYS_capget, header, words) != 0) not_prepared("capget");
  errno = EPERM;
  return (words[0] | words[3]) != 0 ? 0 : -1;
}

/* What is executed afresh, to see what that gave it. */
static int print_capabilities(char *const *operands) {
  (void)operands;
  return has_capability();
}

static int become_root(char *const *operands) {
  (void)operands;
  return setresuid(0, 0, 0) != 0 || setresgid(0, 0, 0) != 0 ? -1 : has_capability();
}

static int set_capabilities(char *const *operands) {
  (void)operands;
  const uint32_t header[2] = {capability_version, 0}, wanted[6] = {1u << capability_sys_admin, 1u << capability_sys_admin, 0, 0, 0, 0};
  return syscall(SYS_capset, header, wanted) != 0 ? -1 : has_capability();
}

/* Root who executes something has every capability, unless that was switched off. */
static int execute_for_capabilities(char *const *operands) {
  const char *const arguments[] = {operands[0], "print-capabilities", NULL};
  return runs(&(struct program){operands[0], -1, arguments}, "allowed\n");
}

/* A file of root with the setuid bit. */
static int execute_setuid(char *const *operands) { return execute_for_capabilities(operands); }

static int change_host_name(char *const *operands) {
  (void)operands;
  char name[256];
  own_namespaces(CLONE_NEWUTS);
  if (gethostname(name, sizeof name) != 0) not_prepared("the name of the host");
  return sethostname(name, strlen(name));
}

const struct attempt privilege_attempts[] = {
  {"print-capabilities", 0, print_capabilities},
  {"become-root", 0, become_root},
  {"set-capabilities", 0, set_capabilities},
  {"execute-for-capabilities", 1, execute_for_capabilities},
  {"execute-setuid", 1, execute_setuid},
  {"host-name", 0, change_host_name},
  {NULL, 0, NULL},
};
