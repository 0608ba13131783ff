#define _GNU_SOURCE
#include "ahead.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "egress.h"
#include "kernel.h"
#include "namespaces.h"
#include "report.h"
#include "supervise.h"

/* What two launches have to have in common for one to have what was made for the other. All zero where nothing is to be made. */
struct kind {
  int namespaces;
  struct identity inside;
  char users[128];
};

static struct kind kind;
static struct ahead ready = {no_descriptor, no_descriptor};

/* Where launches share a user namespace, whoever makes these is in it. An ordinary user would count there as one more process of the session. */
static struct kind kind_of(const struct plan *plan) {
  struct kind found;
  memset(&found, 0, sizeof found);
  const bool is_own = (plan->namespaces & CLONE_NEWUSER) != 0;
  const bool is_shared = plan->users.path != NULL;
  if ((plan->namespaces & CLONE_NEWNET) == 0 || plan->id.given || !(plan->loopback || plan->listen_port != 0)) return found;
  if (is_shared && (is_own || plan->mounts == NULL || strlen(plan->users.path) >= sizeof found.users)) return found;
  found.namespaces = plan->namespaces & (CLONE_NEWUSER | CLONE_NEWNET);
  if (is_own) found.inside = plan->inside;
  if (is_shared) memcpy(found.users, plan->users.path, strlen(plan->users.path));
  return found;
}

static bool is_same(const struct kind *one, const struct kind *other) {
  return one->namespaces == other->namespaces && one->inside.given == other->inside.given &&
         one->inside.uid == other->inside.uid && one->inside.gid == other->inside.gid && strcmp(one->users, other->users) == 0;
}

static void send_namespace(int socket, char name, const char *path) {
  const int namespace = open_users(path);
  if (!send_descriptor(socket, &name, sizeof name, namespace)) _exit(exit_launch_failed);
  close(namespace);
}

/* Nobody is told of a failure: the launch that finds nothing made ahead makes it itself, and says why it cannot. */
static noreturn void make(int socket, pid_t parent) {
  if (kernel_close_range(STDERR_FILENO + 1, (unsigned)socket - 1, 0) != 0 ||
      kernel_close_range((unsigned)socket + 1, ~0u, 0) != 0)
    fail("descriptors", "closing");
  die_with_parent(parent, socket);
  if (kind.users[0] != '\0' && setns(open_users(kind.users), CLONE_NEWUSER) != 0) fail("users", "joining");
  make_namespaces(kind.namespaces, &kind.inside);
  bring_up_loopback();
  if ((kind.namespaces & CLONE_NEWUSER) != 0) send_namespace(socket, 'u', "/proc/self/ns/user");
  send_namespace(socket, 'n', "/proc/self/ns/net");
  _exit(0);
}

int make_ahead(const struct plan *plan) {
  const struct kind wanted = kind_of(plan);
  int ends[2];
  if (wanted.namespaces == 0 || (ready.network >= 0 && is_same(&wanted, &kind))) return no_descriptor;
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return no_descriptor;
  close_ahead(&ready);
  kind = wanted;
  const pid_t parent = getpid();
  const pid_t process = fork();
  if (process == 0) make(ends[1], parent);
  close(ends[1]);
  if (process > 0) return ends[0];
  close(ends[0]);
  return no_descriptor;
}

bool take_ahead(int socket) {
  char name = 0;
  int namespace = no_descriptor;
  const ssize_t got = receive_descriptor(socket, &name, sizeof name, &namespace);
  if (got < 0 && errno == EINTR) return false;
  if (got > 0 && namespace >= 0 && name == 'u') {
    ready.users = namespace;
    return false;
  }
  if (got > 0 && namespace >= 0) ready.network = namespace;
  else close_ahead(&ready);
  close(socket);
  return true;
}

struct ahead ahead_for(const struct plan *plan) {
  const struct kind wanted = kind_of(plan);
  const struct ahead given = ready;
  if (ready.network < 0 || !is_same(&wanted, &kind)) return (struct ahead){no_descriptor, no_descriptor};
  ready = (struct ahead){no_descriptor, no_descriptor};
  return given;
}

void close_ahead(struct ahead *ahead) {
  if (ahead->users >= 0) close(ahead->users);
  if (ahead->network >= 0) close(ahead->network);
  *ahead = (struct ahead){no_descriptor, no_descriptor};
}

int join_ahead(struct ahead *ahead, int namespaces) {
  if (ahead->network < 0) return namespaces;
  if (ahead->users >= 0 && setns(ahead->users, CLONE_NEWUSER) != 0) fail("users", "joining what was made ahead");
  if (setns(ahead->network, CLONE_NEWNET) != 0) fail("network", "joining what was made ahead");
  close_ahead(ahead);
  return namespaces & ~(CLONE_NEWUSER | CLONE_NEWNET);
}
