#define _GNU_SOURCE
#include "namespaces.h"

#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "privileges.h"
#include "report.h"

static void write_file(const char *stage, const char *path, const char *text) {
  const int file = open(path, O_WRONLY | O_CLOEXEC);
  if (file < 0) fail(stage, path);
  /* The kernel takes such a text in one piece or refuses it. */
  if (write(file, text, strlen(text)) < 0) fail(stage, path);
  close(file);
}

void join_cgroup(const char *procs) {
  write_file("cgroup", procs, "0");
}

/* One user and one group; everybody else of the host is nobody inside. */
static void map_identity(const struct identity *inside, unsigned uid, unsigned gid) {
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

static void bring_up_loopback(void) {
  const int control = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  struct ifreq request = {.ifr_name = "lo"};
  request.ifr_flags = IFF_UP;
  if (control < 0 || ioctl(control, SIOCSIFFLAGS, &request) != 0) fail("network", "the loopback");
  close(control);
}

void enter_namespaces(const struct plan *plan) {
  const unsigned uid = geteuid();
  const unsigned gid = getegid();
  if (plan->namespaces != 0 && unshare(plan->namespaces) != 0) fail("unshare", NULL);
  if ((plan->namespaces & CLONE_NEWUSER) != 0) map_identity(&plan->inside, uid, gid);
  if (plan->hostname != NULL && sethostname(plan->hostname, strlen(plan->hostname)) != 0) fail("hostname", NULL);
  if (plan->loopback || plan->listen_port != 0) bring_up_loopback();
}
