/* Feeds the plan parser with anything, and checks what a caller relies on. A target of libFuzzer; with -DSTANDALONE a program
 * of its own, `plan-fuzz <rounds> <seed>`, that mutates well-formed plans. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../plan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length);

static void check(int holds, const char *what) {
  if (holds) return;
  fprintf(stderr, "broken: %s\n", what);
  abort();
}

/* A text lies inside the input, and ends there. */
static void check_text(const char *text, const char *bytes, size_t length, const char *what) {
  check(text >= bytes && text < bytes + length, what);
  check(memchr(text, '\0', (size_t)(bytes + length - text)) != NULL, what);
}

static void check_target(const char *target) {
  check(target[0] == '/' && target[1] != '\0', "a target names something below the root");
  check(strstr(target, "//") == NULL && strstr(target, "/../") == NULL && strstr(target, "/./") == NULL, "a target is plain");
  const char *last = strrchr(target, '/') + 1;
  check(*last != '\0' && strcmp(last, ".") != 0 && strcmp(last, "..") != 0, "the end of a target is a name");
  check(strlen(target) <= plan_max_path, "a target fits");
}

static void check_plan(const struct plan *plan, const char *bytes, size_t length) {
  check_text(plan->cwd, bytes, length, "cwd");
  check(plan->step_count <= plan_max_steps, "steps");
  check(plan->limit_count <= plan_max_limits, "limits");
  check(plan->path_rule_count + plan->port_rule_count <= plan_max_rules, "rules");
  for (size_t at = 0; at < plan->step_count; at++) {
    const struct root_step *step = &plan->steps[at];
    check_text(step->target, bytes, length, "a target");
    check_target(step->target);
    const int has_source = step->kind == step_bind || step->kind == step_symlink;
    check((step->source != NULL) == has_source, "a source");
    if (has_source) check_text(step->source, bytes, length, "a source");
    check((step->bytes != 0) == (step->kind == step_tmpfs || step->kind == step_tmp), "a size");
  }
  for (size_t at = 0; at < plan->path_rule_count; at++) check_text(plan->path_rules[at].path, bytes, length, "a path");
  if (plan->hostname != NULL) check_text(plan->hostname, bytes, length, "a host name");
  check(plan->cgroup_count <= plan_max_cgroups, "control groups");
  for (size_t at = 0; at < plan->cgroup_count; at++) check_text(plan->cgroups[at], bytes, length, "a control group");
  if (plan->count != NULL) check_text(plan->count, bytes, length, "a count");
  if (plan->users.path != NULL) check_text(plan->users.path, bytes, length, "users");
  if (plan->mounts != NULL) check_text(plan->mounts, bytes, length, "mounts");
  check(plan->count == NULL || plan->cgroup_count > 0, "room in a group");
  check(plan->users.path != NULL || (plan->mounts == NULL && plan->processes == 0 && plan->around == 0), "users");
  check(plan->users.path == NULL || !plan->id.given, "one who to be");
  check(plan->execs == 0 || plan->execs > 2, "a descriptor that is the program's");
  check(plan->program_count <= plan_max_programs && (plan->program_count == 0 || plan->execs != 0), "programs");
  for (size_t at = 0; at < plan->program_count; at++) check_text(plan->programs[at], bytes, length, "a program");
  for (size_t at = 0; at < plan->step_count; at++)
    check(plan->mounts != NULL || (plan->steps[at].attributes & 0x100000) == 0, "a mapped mount");
}

static int parse_and_check(const uint8_t *data, size_t length) {
  static struct plan plan;
  struct plan_fault fault = {0, NULL};
  /* Exactly as long as the input, so that a byte too far is seen. */
  char *bytes = malloc(length == 0 ? 1 : length);
  check(bytes != NULL, "memory");
  if (length > 0) memcpy(bytes, data, length);
  memset(&plan, 0, sizeof plan);
  const int taken = parse_plan(bytes, length, &plan, &fault);
  check(taken == (fault.reason == NULL), "a fault exactly when refused");
  if (taken) {
    check_plan(&plan, bytes, length);
    check(length >= 27 && memcmp(bytes, "svc-launch-plan\0001\0", 18) == 0, "the head");
    check(memcmp(bytes + length - 5, "\0end\0", 5) == 0, "the end");
  }
  free(bytes);
  return taken;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length) {
  parse_and_check(data, length);
  return 0;
}

#ifdef STANDALONE

enum { most_bytes = 4096 };

#define HEAD "svc-launch-plan\0" "1\0"
static const char small[] = HEAD "cwd\0/\0" "end";
static const char large[] =
    HEAD "cgroup\0/sys/fs/cgroup/x/cgroup.procs\0" "id\0" "1000\0" "1000\0" "unshare\0user,mount,pid,ipc,net,uts,cgroup\0"
         "map\0" "0\0" "0\0" "hostname\0capsule\0" "listen\0" "3128\0" "tmp\0" "14\0" "4096\0/tmp\0" "bind\0" "0x7\0/usr\0/usr\0"
         "symlink\0usr/bin\0/bin\0" "tmpfs\0" "10\0" "1048576\0/dev\0" "directory\0/run/lock\0" "proc\0" "15\0/proc\0"
         "cwd\0/work\0" "limit\0" "7\0" "1024\0" "18446744073709551615\0" "landlock\0" "0xffff\0" "3\0" "3\0"
         "allow\0" "12\0/usr\0" "port\0" "2\0" "443\0" "end";

static const char joined[] =
    HEAD "cgroup\0/cg/pids/tasks\0" "cgroup\0/cg/memory/tasks\0" "room\0/cg/pids/pids.current\0" "128\0"
         "users\0/proc/7/fd/20\0" "0\0" "0\0" "mounts\0/proc/7/fd/21\0" "processes\0" "129\0" "around\0" "1\0"
         "unshare\0mount,pid,ipc,net,uts,cgroup\0" "loopback\0" "bind\0" "0x100007\0/usr\0/usr\0" "proc\0" "15\0/proc\0"
         "cwd\0/work\0" "limit\0" "6\0" "128\0" "128\0" "execs\0" "7\0" "program\0git\0" "program\0./deploy\0" "end";

static uint64_t state;

static uint64_t next_random(void) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state;
}

static size_t below(size_t limit) {
  return limit == 0 ? 0 : (size_t)(next_random() % limit);
}

/* Cuts out, repeats, or moves a piece; changes a byte; ends early. */
static size_t mutate(char *bytes, size_t length) {
  static const char telling[] = "\0/.,0x9-eE\xff";
  char piece[most_bytes];
  const size_t from = below(length);
  size_t size = 1 + below(32);
  if (size > length - from) size = length - from;
  switch (below(5)) {
    case 0: memmove(bytes + from, bytes + from + size, length - from - size); return length - size;
    case 1:
      if (length + size > most_bytes) return length;
      memcpy(piece, bytes + from, size);
      const size_t to = below(length);
      memmove(bytes + to + size, bytes + to, length - to);
      memcpy(bytes + to, piece, size);
      return length + size;
    case 2: bytes[from] = telling[below(sizeof telling - 1)]; return length;
    case 3: bytes[from] = (char)next_random(); return length;
    default: return below(8) == 0 ? from : length;
  }
}

int main(int count, char **words) {
  const unsigned long rounds = count > 1 ? strtoul(words[1], NULL, 10) : 100000;
  state = count > 2 ? strtoull(words[2], NULL, 10) | 1 : 1;
  unsigned long taken = 0;
  check(parse_and_check((const uint8_t *)small, sizeof small), "the small plan is well-formed");
  check(parse_and_check((const uint8_t *)large, sizeof large), "the large plan is well-formed");
  check(parse_and_check((const uint8_t *)joined, sizeof joined), "the plan that joins is well-formed");
  for (unsigned long round = 0; round < rounds; round++) {
    char bytes[most_bytes];
    static const struct {
      const char *bytes;
      size_t length;
    } given[] = {{small, sizeof small}, {large, sizeof large}, {joined, sizeof joined}, {large, sizeof large}};
    size_t length = given[round % 4].length;
    memcpy(bytes, given[round % 4].bytes, length);
    for (size_t left = 1 + below(6); left > 0 && length > 0; left--) length = mutate(bytes, length);
    taken += (unsigned long)parse_and_check((const uint8_t *)bytes, length);
  }
  printf("%lu plans, %lu of them well-formed\n", rounds, taken);
  return 0;
}

#endif
