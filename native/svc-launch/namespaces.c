#define _GNU_SOURCE
#include "namespaces.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "privileges.h"
#include "report.h"

void write_file(const char *stage, const char *path, const char *text) {
  const int file = open(path, O_WRONLY | O_CLOEXEC);
  if (file < 0) fail(stage, path);
  /* The kernel takes such a text in one piece or refuses it. */
  if (write(file, text, strlen(text)) < 0) fail(stage, path);
  close(file);
}

static int cgroups[plan_max_cgroups];
static int count = -1;

void open_cgroups(const struct plan *plan) {
  for (size_t at = 0; at < plan->cgroup_count; at++) {
    cgroups[at] = open(plan->cgroups[at], O_WRONLY | O_CLOEXEC);
    if (cgroups[at] < 0) fail("cgroup", plan->cgroups[at]);
  }
  if (plan->count != NULL) count = open(plan->count, O_RDONLY | O_CLOEXEC);
  if (plan->count != NULL && count < 0) fail("cgroup", plan->count);
}

/* A group takes in who joins it although it is full: who finds itself to be the one too many goes. */
static void check_room(const struct plan *plan) {
  char text[24] = "";
  if (pread(count, text, sizeof text - 1, 0) <= 0) fail("cgroup", plan->count);
  if (strtoull(text, NULL, 10) > plan->most) fail_with(EAGAIN, "room", NULL);
}

void join_cgroups(const struct plan *plan) {
  /* The kernel asks who opened the file, not who writes to it. */
  for (size_t at = 0; at < plan->cgroup_count; at++)
    if (write(cgroups[at], "0", 1) != 1) fail("cgroup", plan->cgroups[at]);
  if (plan->count != NULL) check_room(plan);
}

int open_users(const char *path) {
  const int namespace = open(path, O_RDONLY | O_CLOEXEC);
  if (namespace < 0) fail("users", path);
  return namespace;
}

void join_users(const struct joined *users, int namespace) {
  const struct identity *inside = &users->identity;
  /* Root's groups have no number inside and would go along unseen. Others may not drop theirs, and have no more than before. */
  if (geteuid() == 0 && setgroups(0, NULL) != 0) fail("users", "setgroups");
  if (setns(namespace, CLONE_NEWUSER) != 0) fail("users", "joining");
  if (setresgid(inside->gid, inside->gid, inside->gid) != 0) fail("users", "setresgid");
  if (setresuid(inside->uid, inside->uid, inside->uid) != 0) fail("users", "setresuid");
  close(namespace);
}

/* One user and one group; everybody else of the host is nobody inside. */
void map_identity(const struct identity *inside, unsigned uid, unsigned gid) {
  char line[64];
  become_transparent();
  /* Without this, only a privileged parent could write the group map; with it, nobody inside can shed a group that denies. */
  write_file("map", "/proc/self/setgroups", "deny");
  snprintf(line, sizeof line, "%u %u 1\n", inside->given ? inside->uid : uid, uid);
  write_file("map", "/proc/self/uid_map", line);
  snprintf(line, sizeof line, "%u %u 1\n", inside->given ? inside->gid : gid, gid);
  write_file("map", "/proc/self/gid_map", line);
  become_opaque();
}

void bring_up_loopback(void) {
  const int control = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  struct ifreq request = {.ifr_name = "lo"};
  request.ifr_flags = IFF_UP;
  if (control < 0 || ioctl(control, SIOCSIFFLAGS, &request) != 0) fail("network", "the loopback");
  close(control);
}

void make_namespaces(int namespaces, const struct identity *inside) {
  const unsigned uid = geteuid();
  const unsigned gid = getegid();
  if (namespaces != 0 && unshare(namespaces) != 0) fail("unshare", NULL);
  if ((namespaces & CLONE_NEWUSER) != 0) map_identity(inside, uid, gid);
}

void enter_namespaces(const struct plan *plan, struct ahead *ahead) {
  const bool has_network = ahead->network >= 0;
  make_namespaces(join_ahead(ahead, plan->namespaces), &plan->inside);
  if (plan->hostname != NULL && sethostname(plan->hostname, strlen(plan->hostname)) != 0) fail("hostname", NULL);
  if (!has_network && (plan->loopback || plan->listen_port != 0)) bring_up_loopback();
}
