#define _GNU_SOURCE
#include "landlock.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "kernel.h"
#include "report.h"

/* Execute, write, read, truncate, control a device: what can be done to something that is not a directory. */
static const uint64_t file_rights = 1u << 0 | 1u << 1 | 1u << 2 | 1u << 14 | 1u << 15;

/* The kernel takes structures of any size and refuses every bit it does not know, so nothing is ever silently left out. */
static int create_ruleset(const struct plan *plan) {
  const struct landlock_handled handled = {plan->filesystem_rights, plan->network_rights, plan->scope_rights};
  const int ruleset = (int)syscall(number_landlock_create_ruleset, &handled, sizeof handled, 0);
  if (ruleset < 0) fail("landlock", "the rights handled");
  return ruleset;
}

static void allow_path(int ruleset, const struct path_rule *rule) {
  /* What a link on the way leads to could be another's choice by the time it is followed. */
  const struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = resolve_no_symlinks | resolve_no_magiclinks};
  const int path = kernel_openat2(AT_FDCWD, rule->path, &how);
  struct stat found;
  if (path < 0 || fstat(path, &found) != 0) fail("landlock", rule->path);
  struct landlock_path_rule allowed = {.rights = rule->rights, .descriptor = path};
  if (!S_ISDIR(found.st_mode)) allowed.rights &= file_rights;
  const bool left_out = allowed.rights == 0 && rule->rights != 0;
  if (!left_out && syscall(number_landlock_add_rule, ruleset, landlock_rule_path_beneath, &allowed, 0) != 0)
    fail("landlock", rule->path);
  close(path);
}

static void allow_port(int ruleset, const struct port_rule *rule) {
  const struct landlock_port_rule allowed = {.rights = rule->rights, .port = rule->port};
  if (syscall(number_landlock_add_rule, ruleset, landlock_rule_net_port, &allowed, 0) != 0) fail("landlock", "a port");
}

void enter_landlock(const struct plan *plan) {
  const int ruleset = create_ruleset(plan);
  for (size_t at = 0; at < plan->path_rule_count; at++) allow_path(ruleset, &plan->path_rules[at]);
  for (size_t at = 0; at < plan->port_rule_count; at++) allow_port(ruleset, &plan->port_rules[at]);
  if (syscall(number_landlock_restrict_self, ruleset, 0) != 0) fail("landlock", "entering");
  close(ruleset);
}
