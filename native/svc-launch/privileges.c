#define _GNU_SOURCE
#include "privileges.h"

#include <errno.h>
#include <grp.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "kernel.h"
#include "report.h"

enum { capability_version = 0x20080522, capability_setpcap = 8, capability_numbers = 64 };

/* NOROOT, NO_SETUID_FIXUP and NO_CAP_AMBIENT_RAISE, each with its lock, and the lock of KEEP_CAPS. */
enum { secure_bits = 0xef };

struct capability_header {
  uint32_t version;
  int32_t process;
};

struct capability_words {
  uint32_t effective;
  uint32_t permitted;
  uint32_t inheritable;
};

void become_opaque(void) {
  if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) fail("privileges", "hiding");
}

void become_transparent(void) {
  if (prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) != 0) fail("privileges", "showing");
}

static bool may_set_capabilities(void) {
  struct capability_header header = {.version = capability_version, .process = 0};
  struct capability_words words[2] = {{0, 0, 0}, {0, 0, 0}};
  if (syscall(SYS_capget, &header, words) != 0) fail("privileges", "capget");
  return (words[0].effective & 1u << capability_setpcap) != 0;
}

/* Each drop takes the kernel new credentials: what is gone already is let be. */
static void empty_bounding_set(void) {
  for (unsigned long capability = 0; capability < capability_numbers; capability++) {
    const int held = prctl(PR_CAPBSET_READ, capability, 0, 0, 0);
    if (held < 0) return; /* behind the last one the kernel has */
    if (held > 0 && prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0) fail("privileges", "the bounding set");
  }
}

/* Processes that this one starts inherit the empty set, and only a user namespace that is entered would fill it again. */
static bool is_bounded = false;

void bound_capabilities(void) {
  if (!may_set_capabilities()) return;
  empty_bounding_set();
  is_bounded = true;
}

void become(const struct identity *identity) {
  /* Later it cannot be emptied any more: the right to do so goes with the user. */
  if (may_set_capabilities()) empty_bounding_set();
  if (setgroups(0, NULL) != 0) fail("id", "setgroups");
  if (setresgid(identity->gid, identity->gid, identity->gid) != 0) fail("id", "setresgid");
  if (setresuid(identity->uid, identity->uid, identity->uid) != 0) fail("id", "setresuid");
}

void drop_capabilities(void) {
  struct capability_header header = {.version = capability_version, .process = 0};
  const struct capability_words none[2] = {{0, 0, 0}, {0, 0, 0}};
  if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0) fail("privileges", "the ambient set");
  /* Who may not set these has no capability to lose; no_new_privs then keeps it so. */
  if (may_set_capabilities()) {
    if (!is_bounded) empty_bounding_set();
    if (prctl(PR_SET_SECUREBITS, secure_bits, 0, 0, 0) != 0) fail("privileges", "the secure bits");
  }
  if (syscall(SYS_capset, &header, none) != 0) fail("privileges", "capset");
}

void refuse_new_privileges(void) {
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) fail("privileges", "no_new_privs");
}
