/* Carries out a launch plan and becomes, or starts, the program. PLAN.md says what each step means. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ahead.h"
#include "egress.h"
#include "kernel.h"
#include "landlock.h"
#include "namespaces.h"
#include "pipes.h"
#include "plan.h"
#include "privileges.h"
#include "report.h"
#include "root.h"
#include "serve.h"
#include "supervise.h"
#include "users.h"

enum { none = -1, filter_max_instructions = 4096, seccomp_set_mode_filter = 1, descriptor_max = 1 << 20 };

struct instruction {
  uint16_t code;
  uint8_t jump_true;
  uint8_t jump_false;
  uint32_t operand;
};

struct filter {
  unsigned short length; /* 0 is no filter */
  const struct instruction *instructions;
};

struct call {
  int plan;
  int status;
  int filter;
  int egress;
  uint32_t id; /* which launch of the caller's this is */
  struct ahead ahead;
  const char *path;
  char **arguments;
};

/* An open descriptor above the three that are the program's. */
static int read_descriptor(const char *word) {
  char *end = NULL;
  errno = 0;
  const long number = word[0] >= '1' && word[0] <= '9' ? strtol(word, &end, 10) : 0;
  if (end == NULL || *end != '\0' || errno != 0 || number <= STDERR_FILENO || number > descriptor_max)
    fail_with(EINVAL, "call", "not the number of a descriptor");
  if (fcntl((int)number, F_GETFD) < 0) fail("call", "a descriptor that is not open");
  return (int)number;
}

static int read_optional_descriptor(const char *word) {
  return strcmp(word, "-") == 0 ? none : read_descriptor(word);
}

static struct call read_call(int count, char **words) {
  if (count < 7) fail_with(EINVAL, "call", "svc-launch <plan> <status> <filter> <egress> <path> <argv0> [<argument>...]");
  struct call call = {
      .ahead = {none, none}, .status = read_optional_descriptor(words[2]), .path = words[5], .arguments = words + 6};
  if (call.status != none) report_to(call.status);
  call.plan = read_descriptor(words[1]);
  call.filter = read_optional_descriptor(words[3]);
  call.egress = read_optional_descriptor(words[4]);
  if (call.path[0] != '/') fail_with(EINVAL, "call", "the program's path is not absolute");
  return call;
}

/* What is missing would be filled by the next file opened here, and a directory would be a way around the root. */
static void check_standard_descriptors(void) {
  for (int descriptor = 0; descriptor <= STDERR_FILENO; descriptor++) {
    struct stat found;
    if (fstat(descriptor, &found) != 0) fail("descriptors", "0, 1 or 2 is not open");
    if (S_ISDIR(found.st_mode)) fail_with(EISDIR, "descriptors", "0, 1 or 2 is a directory");
  }
}

/* Reads a whole regular file of at most `room` bytes. Leaves the descriptor's position alone. */
static size_t read_whole(int file, char *bytes, size_t room, const char *stage) {
  struct stat found;
  if (fstat(file, &found) != 0) fail(stage, NULL);
  if (!S_ISREG(found.st_mode)) fail_with(EINVAL, stage, "not a regular file");
  if ((uintmax_t)found.st_size > room) fail_with(E2BIG, stage, "too long");
  size_t length = 0;
  while (length < room) {
    const ssize_t got = pread(file, bytes + length, room - length, (off_t)length);
    if (got < 0) fail(stage, NULL);
    if (got == 0) break;
    length += (size_t)got;
  }
  return length;
}

static void check_plan(const char *bytes, size_t length, struct plan *plan) {
  struct plan_fault fault;
  if (parse_plan(bytes, length, plan, &fault)) return;
  char detail[128];
  snprintf(detail, sizeof detail, "word %u: %s", fault.word, fault.reason);
  fail_with(EINVAL, "plan", detail);
}

static void read_plan(int file, struct plan *plan) {
  static char bytes[plan_max_bytes];
  check_plan(bytes, read_whole(file, bytes, sizeof bytes, "plan"), plan);
}

static struct instruction instructions[filter_max_instructions];

static struct filter filter_of(size_t length) {
  if (length == 0 || length % sizeof *instructions != 0) fail_with(EINVAL, "filter", "not whole instructions");
  return (struct filter){.length = (unsigned short)(length / sizeof *instructions), .instructions = instructions};
}

static struct filter read_filter(int file) {
  return filter_of(read_whole(file, (char *)instructions, sizeof instructions, "filter"));
}

static struct filter copy_filter(const struct request *request) {
  if (request->filter_length > sizeof instructions) fail_with(E2BIG, "filter", "too long");
  memcpy(instructions, request->filter, request->filter_length);
  return filter_of(request->filter_length);
}

/* Node tells a child of its channel, which is ours and not the program's. */
static void forget_channel(void) {
  unsetenv("NODE_CHANNEL_FD");
  unsetenv("NODE_CHANNEL_SERIALIZATION_MODE");
}

static void close_between(int first, int last) {
  if (first <= last && kernel_close_range((unsigned)first, (unsigned)last, 0) != 0) fail("descriptors", "closing");
}

/* Closes what the caller itself was started with. What is kept of it ends when the program starts at the latest. */
static void keep_only(const int *kept, size_t count) {
  int next = STDERR_FILENO + 1;
  for (;;) {
    int nearest = INT_MAX;
    for (size_t at = 0; at < count; at++)
      if (kept[at] >= next && kept[at] < nearest) nearest = kept[at];
    if (nearest == INT_MAX) break;
    close_between(next, nearest - 1);
    if (fcntl(nearest, F_SETFD, FD_CLOEXEC) != 0) fail("descriptors", "closing at exec");
    next = nearest + 1;
  }
  close_between(next, INT_MAX);
}

static void set_limit(const struct limit *limit) {
  char detail[24];
  snprintf(detail, sizeof detail, "resource %u", (unsigned)limit->resource);
  if (limit->soft > limit->hard) fail_with(EINVAL, "limit", detail);
  uint64_t values[2];
  if (syscall(SYS_prlimit64, 0, (unsigned)limit->resource, NULL, values) != 0) fail("limit", detail);
  /* A plan takes away: what is lower already stays, and raising it may not be ours to do. */
  if (limit->hard < values[1]) values[1] = limit->hard;
  if (limit->soft < values[0]) values[0] = limit->soft;
  if (values[1] < values[0]) values[0] = values[1];
  if (syscall(SYS_prlimit64, 0, (unsigned)limit->resource, values, NULL) != 0) fail("limit", detail);
}

static void set_limits(const struct plan *plan) {
  for (size_t at = 0; at < plan->limit_count; at++) set_limit(&plan->limits[at]);
}

/* Joins the namespace that is kept for many launches. Only the user who made it may map mounts, so that comes before. */
static void enter_users(const struct plan *plan) {
  const int namespace = open_users(plan->users.path);
  if (plan->mounts != NULL) {
    const int mounts = open_users(plan->mounts);
    open_sources(plan, mounts);
    close(mounts);
  }
  join_users(&plan->users, namespace);
  /* Before anything is forked: where the namespace is full, nothing more comes into it. A namespace below inherits it as its limit. */
  const struct limit most = {.resource = RLIMIT_NPROC, .soft = plan->processes, .hard = plan->processes};
  if (plan->processes != 0) set_limit(&most);
}

static void enter_directory(const char *path) {
  /* What a link on the way leads to could be another's choice by the time it is followed. */
  const struct open_how how = {.flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
                               .resolve = resolve_no_symlinks | resolve_no_magiclinks};
  const int directory = kernel_openat2(AT_FDCWD, path, &how);
  if (directory < 0 || fchdir(directory) != 0) fail("cwd", path);
  close(directory);
}

static noreturn void become_program(const struct call *call, const struct plan *plan, const struct filter *filter) {
  join_cgroups(plan);
  set_limits(plan);
  drop_capabilities();
  refuse_new_privileges();
  if (plan->landlock) enter_landlock(plan);
  enter_directory(plan->cwd);
  if (kernel_close_range(3, ~0u, close_range_cloexec) != 0) fail("descriptors", "closing at exec");
  unblock_signals();
  if (filter->length > 0 && syscall(SYS_seccomp, seccomp_set_mode_filter, 0, filter) != 0) fail("filter", "installing");
  execve(call->path, call->arguments, environ);
  fail("exec", call->path);
}

/* `parent` is the one whose end ends the launch. */
static noreturn void carry_out(struct call *call, const struct plan *plan, const struct filter *filter, pid_t parent) {
  const int kept[] = {call->status, call->egress, plan->execs, call->ahead.users, call->ahead.network};
  if ((plan->listen_port != 0) != (call->egress != none)) fail_with(EINVAL, "call", "listen and egress need each other");
  if (plan->execs != 0 && (fcntl(plan->execs, F_GETFD) < 0 || plan->execs == call->status || plan->execs == call->egress))
    fail_with(EBADF, "call", "execs needs a descriptor of its own");
  keep_only(kept, sizeof kept / sizeof *kept);
  reset_dispositions();
  die_with_parent(parent, call->status);

  open_cgroups(plan);
  if (plan->id.given) become(&plan->id);
  if (plan->users.path != NULL) enter_users(plan);
  enter_namespaces(plan, &call->ahead);
  if (plan->id.given || plan->users.path != NULL || plan->namespaces != 0) {
    /* A change of user takes the death signal away and may show the process. */
    become_opaque();
    die_with_parent(parent, call->status);
  }
  if (plan->listen_port != 0) hand_over_listener(plan->listen_port, call->egress, call->id);
  if (call->egress != none && call->egress != call->status) close(call->egress);

  struct inside inside = {.outcome = NULL};
  if ((plan->namespaces & CLONE_NEWPID) != 0) inside = start_namespace(plan->around);
  compose_root(plan);
  if (inside.outcome != NULL) start_program_process(inside, plan);
  else if (plan->execs != 0) start_traced_program(plan);
  become_program(call, plan, filter);
}

static noreturn void serve_caller(const char *descriptors, struct plan *plan) {
  struct filter filter = {0};
  const struct request request = serve(descriptors, plan);
  environ = request.environment;
  check_standard_descriptors();
  if (!request.is_read) check_plan(request.plan, request.plan_length, plan);
  struct call call = {.plan = none,
                      .status = request.status,
                      .filter = none,
                      .egress = plan->listen_port == 0 ? none : request.status,
                      .id = request.id,
                      .ahead = request.ahead,
                      .path = request.path,
                      .arguments = request.arguments};
  if (request.filter_length > 0) filter = copy_filter(&request);
  carry_out(&call, plan, &filter, request.parent);
}

int main(int count, char **words) {
  static struct plan plan;
  struct filter filter = {0};
  const pid_t parent = getppid();
  if (count == 3 && strcmp(words[1], "pipes") == 0) hold_pipes(words[2]);
  if (count == 3 && strcmp(words[1], "users") == 0) hold_users(words[2]);
  if (count == 3 && strcmp(words[1], "forks") == 0) count_forks(words[2]);
  if (count == 3 && strcmp(words[1], "serve") == 0) serve_caller(words[2], &plan);
  become_opaque();
  struct call call = read_call(count, words);
  check_standard_descriptors();
  read_plan(call.plan, &plan);
  if (call.filter != none) filter = read_filter(call.filter);
  if (call.egress != none) forget_channel();
  carry_out(&call, &plan, &filter, parent);
}
