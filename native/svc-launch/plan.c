#define _GNU_SOURCE
#include "plan.h"

#include <sched.h>
#include <string.h>

#include "kernel.h"

/* A reader of one operation's operands answers NULL, or why they will not do. */
typedef const char *reader(struct plan *plan, const char *const *operands);

enum { max_operands = 3, max_hostname = 64, max_resource = 15, max_port = 65535, max_descriptor = 1 << 20 };

static const uint64_t mount_attributes_known = mount_attribute_read_only | mount_attribute_nosuid | mount_attribute_nodev |
                                               mount_attribute_noexec | mount_attribute_nosymfollow;
static const uint64_t bind_attributes_known = mount_attributes_known | mount_attribute_mapped;

static const char not_a_number[] = "not a number";
static const char out_of_range[] = "a number out of range";
static const char too_many[] = "more than 1024 of a kind";

static int digit_value(char digit) {
  if (digit >= '0' && digit <= '9') return digit - '0';
  if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
  if (digit >= 'A' && digit <= 'F') return digit - 'A' + 10;
  return 16;
}

/* Decimal without leading zeros, or hexadecimal after 0x. Nothing else: strtoull would take signs, spaces and octal. */
static const char *read_number(const char *word, uint64_t most, uint64_t *number) {
  const uint64_t base = strncmp(word, "0x", 2) == 0 ? 16 : 10;
  const char *digit = base == 16 ? word + 2 : word;
  if (*digit == '\0' || (base == 10 && word[0] == '0' && word[1] != '\0')) return not_a_number;
  uint64_t value = 0;
  for (; *digit != '\0'; digit++) {
    const uint64_t next = (uint64_t)digit_value(*digit);
    if (next >= base) return not_a_number;
    if (value > (UINT64_MAX - next) / base) return out_of_range;
    value = value * base + next;
  }
  if (value > most) return out_of_range;
  *number = value;
  return NULL;
}

static const char *read_path(const char *word, const char **path) {
  if (word[0] != '/') return "not an absolute path";
  if (strlen(word) > plan_max_path) return "a path that is too long";
  *path = word;
  return NULL;
}

/* A target names its place in the new root in exactly one way, so that what is made there is what was meant. */
static const char *read_target(const char *word, const char **path) {
  const char *fault = read_path(word, path);
  for (const char *part = word; fault == NULL && *part == '/';) {
    part++;
    const size_t length = strcspn(part, "/");
    if (length == 0 || (length <= 2 && strncmp(part, "..", length) == 0)) fault = "a target with an empty, . or .. part";
    if (length > 255) fault = "a target with a part that is too long";
    part += length;
  }
  return fault;
}

static const char *read_identity(const char *const *operands, struct identity *identity) {
  uint64_t uid = 0;
  uint64_t gid = 0;
  /* 2^32-1 is not a user but how the kernel is told to change nothing. */
  const char *fault = read_number(operands[0], UINT32_MAX - 1, &uid);
  if (fault == NULL) fault = read_number(operands[1], UINT32_MAX - 1, &gid);
  *identity = (struct identity){.given = true, .uid = (uint32_t)uid, .gid = (uint32_t)gid};
  return fault;
}

static const char *read_id(struct plan *plan, const char *const *operands) {
  return read_identity(operands, &plan->id);
}

static const char *read_map(struct plan *plan, const char *const *operands) {
  return read_identity(operands, &plan->inside);
}

static const char *read_cgroup(struct plan *plan, const char *const *operands) {
  if (plan->cgroup_count == plan_max_cgroups) return "more than 4 control groups";
  return read_path(operands[0], &plan->cgroups[plan->cgroup_count++]);
}

static const char *read_users(struct plan *plan, const char *const *operands) {
  const char *fault = read_path(operands[0], &plan->users.path);
  return fault == NULL ? read_identity(operands + 1, &plan->users.identity) : fault;
}

static const char *read_mounts(struct plan *plan, const char *const *operands) {
  return read_path(operands[0], &plan->mounts);
}

static const char *read_processes(struct plan *plan, const char *const *operands) {
  const char *fault = read_number(operands[0], UINT32_MAX, &plan->processes);
  return fault == NULL && plan->processes == 0 ? out_of_range : fault;
}

static const char *read_around(struct plan *plan, const char *const *operands) {
  uint64_t uid = 0;
  const char *fault = read_number(operands[0], UINT32_MAX - 1, &uid);
  plan->around = (uint32_t)uid;
  return fault == NULL && uid == 0 ? out_of_range : fault;
}

static const char *read_room(struct plan *plan, const char *const *operands) {
  const char *fault = read_path(operands[0], &plan->count);
  return fault == NULL ? read_number(operands[1], UINT32_MAX, &plan->most) : fault;
}

static const char *read_cwd(struct plan *plan, const char *const *operands) {
  return read_path(operands[0], &plan->cwd);
}

static int namespace_flag(const char *name, size_t length) {
  static const struct {
    const char *name;
    int flag;
  } known[] = {
      {"user", CLONE_NEWUSER}, {"mount", CLONE_NEWNS}, {"pid", CLONE_NEWPID},       {"ipc", CLONE_NEWIPC},
      {"net", CLONE_NEWNET},   {"uts", CLONE_NEWUTS},  {"cgroup", CLONE_NEWCGROUP},
  };
  for (size_t at = 0; at < sizeof known / sizeof *known; at++)
    if (strlen(known[at].name) == length && strncmp(known[at].name, name, length) == 0) return known[at].flag;
  return 0;
}

static const char *read_unshare(struct plan *plan, const char *const *operands) {
  for (const char *name = operands[0];; name++) {
    const size_t length = strcspn(name, ",");
    const int flag = namespace_flag(name, length);
    if (flag == 0) return "not a namespace";
    if ((plan->namespaces & flag) != 0) return "a namespace named twice";
    plan->namespaces |= flag;
    name += length;
    if (*name == '\0') return NULL;
  }
}

static const char *read_hostname(struct plan *plan, const char *const *operands) {
  const size_t length = strlen(operands[0]);
  plan->hostname = operands[0];
  return length == 0 || length > max_hostname ? "a host name of no or more than 64 bytes" : NULL;
}

static const char *read_loopback(struct plan *plan, const char *const *operands) {
  (void)operands;
  plan->loopback = true;
  return NULL;
}

static const char *read_listen(struct plan *plan, const char *const *operands) {
  uint64_t port = 0;
  const char *fault = read_number(operands[0], max_port, &port);
  plan->listen_port = (uint16_t)port;
  return fault == NULL && port == 0 ? out_of_range : fault;
}

static const char *add_step(struct plan *plan, const struct root_step *step) {
  if (plan->step_count == plan_max_steps) return too_many;
  plan->steps[plan->step_count++] = *step;
  return NULL;
}

static const char *read_bind(struct plan *plan, const char *const *operands) {
  struct root_step step = {.kind = step_bind};
  const char *fault = read_number(operands[0], UINT64_MAX, &step.attributes);
  if (fault == NULL && (step.attributes & ~bind_attributes_known) != 0) fault = out_of_range;
  if (fault == NULL) fault = read_path(operands[1], &step.source);
  if (fault == NULL) fault = read_target(operands[2], &step.target);
  return fault == NULL ? add_step(plan, &step) : fault;
}

static const char *read_memory(struct plan *plan, const char *const *operands, enum step_kind kind) {
  struct root_step step = {.kind = kind};
  const char *fault = read_number(operands[0], UINT64_MAX, &step.attributes);
  if (fault == NULL && (step.attributes & ~mount_attributes_known) != 0) fault = out_of_range;
  if (fault == NULL) fault = read_number(operands[1], INT64_MAX, &step.bytes);
  /* To the kernel, 0 is no limit at all. */
  if (fault == NULL && step.bytes == 0) fault = out_of_range;
  if (fault == NULL) fault = read_target(operands[2], &step.target);
  return fault == NULL ? add_step(plan, &step) : fault;
}

static const char *read_tmpfs(struct plan *plan, const char *const *operands) {
  return read_memory(plan, operands, step_tmpfs);
}

static const char *read_tmp(struct plan *plan, const char *const *operands) {
  return read_memory(plan, operands, step_tmp);
}

static const char *read_proc(struct plan *plan, const char *const *operands) {
  struct root_step step = {.kind = step_proc};
  const char *fault = read_number(operands[0], UINT64_MAX, &step.attributes);
  if (fault == NULL && (step.attributes & ~mount_attributes_known) != 0) fault = out_of_range;
  if (fault == NULL) fault = read_target(operands[1], &step.target);
  return fault == NULL ? add_step(plan, &step) : fault;
}

static const char *read_directory(struct plan *plan, const char *const *operands) {
  struct root_step step = {.kind = step_directory};
  const char *fault = read_target(operands[0], &step.target);
  return fault == NULL ? add_step(plan, &step) : fault;
}

static const char *read_symlink(struct plan *plan, const char *const *operands) {
  struct root_step step = {.kind = step_symlink, .source = operands[0]};
  const size_t length = strlen(operands[0]);
  if (length == 0 || length > plan_max_path) return "a symbolic link to nothing, or too long";
  const char *fault = read_target(operands[1], &step.target);
  return fault == NULL ? add_step(plan, &step) : fault;
}

static const char *read_limit(struct plan *plan, const char *const *operands) {
  uint64_t resource = 0;
  struct limit limit = {0};
  const char *fault = read_number(operands[0], max_resource, &resource);
  if (fault == NULL) fault = read_number(operands[1], UINT64_MAX, &limit.soft);
  if (fault == NULL) fault = read_number(operands[2], UINT64_MAX, &limit.hard);
  if (fault != NULL) return fault;
  limit.resource = (uint8_t)resource;
  for (size_t at = 0; at < plan->limit_count; at++)
    if (plan->limits[at].resource == limit.resource) return "a resource limited twice";
  /* One place for each resource, so there is room. */
  plan->limits[plan->limit_count++] = limit;
  return NULL;
}

static const char *read_execs(struct plan *plan, const char *const *operands) {
  uint64_t descriptor = 0;
  const char *fault = read_number(operands[0], max_descriptor, &descriptor);
  plan->execs = (int)descriptor;
  return fault == NULL && descriptor < 3 ? out_of_range : fault;
}

static const char *read_program(struct plan *plan, const char *const *operands) {
  if (plan->program_count == plan_max_programs) return too_many;
  plan->programs[plan->program_count++] = operands[0];
  return operands[0][0] == '\0' ? "a program without a name" : NULL;
}

static const char *read_landlock(struct plan *plan, const char *const *operands) {
  plan->landlock = true;
  const char *fault = read_number(operands[0], UINT64_MAX, &plan->filesystem_rights);
  if (fault == NULL) fault = read_number(operands[1], UINT64_MAX, &plan->network_rights);
  if (fault == NULL) fault = read_number(operands[2], UINT64_MAX, &plan->scope_rights);
  return fault;
}

static bool is_full_of_rules(const struct plan *plan) {
  return plan->path_rule_count + plan->port_rule_count == plan_max_rules;
}

static const char *read_allow(struct plan *plan, const char *const *operands) {
  struct path_rule rule = {0};
  const char *fault = read_number(operands[0], UINT64_MAX, &rule.rights);
  if (fault == NULL) fault = read_path(operands[1], &rule.path);
  if (fault != NULL) return fault;
  if (is_full_of_rules(plan)) return too_many;
  plan->path_rules[plan->path_rule_count++] = rule;
  return NULL;
}

static const char *read_port(struct plan *plan, const char *const *operands) {
  struct port_rule rule = {0};
  uint64_t port = 0;
  const char *fault = read_number(operands[0], UINT64_MAX, &rule.rights);
  if (fault == NULL) fault = read_number(operands[1], max_port, &port);
  if (fault != NULL) return fault;
  if (is_full_of_rules(plan)) return too_many;
  rule.port = (uint16_t)port;
  plan->port_rules[plan->port_rule_count++] = rule;
  return NULL;
}

static const struct operation {
  const char *name;
  unsigned operands;
  bool once;
  reader *read;
} operations[] = {
    {"id", 2, true, read_id},
    {"cgroup", 1, false, read_cgroup},
    {"users", 3, true, read_users},
    {"mounts", 1, true, read_mounts},
    {"room", 2, true, read_room},
    {"processes", 1, true, read_processes},
    {"around", 1, true, read_around},
    {"unshare", 1, true, read_unshare},
    {"map", 2, true, read_map},
    {"hostname", 1, true, read_hostname},
    {"listen", 1, true, read_listen},
    {"loopback", 0, true, read_loopback},
    {"bind", 3, false, read_bind},
    {"tmpfs", 3, false, read_tmpfs},
    {"tmp", 3, false, read_tmp},
    {"proc", 2, false, read_proc},
    {"directory", 1, false, read_directory},
    {"symlink", 2, false, read_symlink},
    {"cwd", 1, true, read_cwd},
    {"limit", 3, false, read_limit},
    {"execs", 1, true, read_execs},
    {"program", 1, false, read_program},
    {"landlock", 3, true, read_landlock},
    {"allow", 2, false, read_allow},
    {"port", 2, false, read_port},
};
enum { operation_count = sizeof operations / sizeof *operations };

static const struct operation *find_operation(const char *name) {
  for (size_t at = 0; at < operation_count; at++)
    if (strcmp(operations[at].name, name) == 0) return &operations[at];
  return NULL;
}

struct words {
  const char *next;
  const char *end; /* behind the last NUL */
  unsigned count;
};

static const char *next_word(struct words *words) {
  if (words->next == words->end) return NULL;
  const char *word = words->next;
  words->next += strlen(word) + 1;
  words->count++;
  return word;
}

static bool next_word_is(struct words *words, const char *expected) {
  const char *word = next_word(words);
  return word != NULL && strcmp(word, expected) == 0;
}

static bool maps_a_mount(const struct plan *plan) {
  for (size_t at = 0; at < plan->step_count; at++)
    if ((plan->steps[at].attributes & mount_attribute_mapped) != 0) return true;
  return false;
}

/* What an operation needs of another one, which may stand behind it. */
static const char *fault_of_whole(const struct plan *plan) {
  const bool inside = plan->inside.given && (plan->namespaces & CLONE_NEWUSER) == 0;
  const bool network = (plan->loopback || plan->listen_port != 0) && (plan->namespaces & CLONE_NEWNET) == 0;
  if (plan->cwd == NULL) return "no cwd";
  if (inside) return "map without the namespace user";
  if (plan->users.path == NULL && plan->mounts != NULL) return "mounts without users";
  if (plan->users.path == NULL && plan->processes != 0) return "processes without users";
  if (plan->users.path != NULL && plan->id.given) return "both users and id";
  if (plan->users.path == NULL && plan->around != 0) return "around without users";
  if (plan->around != 0 && (plan->namespaces & CLONE_NEWPID) == 0) return "around without the namespace pid";
  if (plan->around != 0 && (plan->namespaces & CLONE_NEWUSER) != 0) return "both around and the namespace user";
  if (plan->cgroup_count == 0 && plan->count != NULL) return "room without cgroup";
  if (plan->mounts == NULL && maps_a_mount(plan)) return "a mapped bind without mounts";
  if (plan->hostname != NULL && (plan->namespaces & CLONE_NEWUTS) == 0) return "hostname without the namespace uts";
  if (network) return "loopback or listen without the namespace net";
  if (plan->loopback && plan->listen_port != 0) return "both loopback and listen";
  if (plan->step_count > 0 && (plan->namespaces & CLONE_NEWNS) == 0) return "a root without the namespace mount";
  if (plan->execs == 0 && plan->program_count > 0) return "program without execs";
  if (!plan->landlock && plan->path_rule_count + plan->port_rule_count > 0) return "a rule without landlock";
  return NULL;
}

static const char *read_operation(struct words *words, const char *name, struct plan *plan, uint32_t *seen) {
  const struct operation *operation = find_operation(name);
  if (operation == NULL) return "not an operation";
  const uint32_t bit = UINT32_C(1) << (operation - operations);
  if (operation->once && (*seen & bit) != 0) return "an operation that may stand only once";
  *seen |= bit;
  const char *operands[max_operands];
  for (unsigned at = 0; at < operation->operands; at++) {
    operands[at] = next_word(words);
    if (operands[at] == NULL) return "an operand is missing";
  }
  return operation->read(plan, operands);
}

static const char *read_words(struct words *words, struct plan *plan) {
  if (!next_word_is(words, "svc-launch-plan")) return "not a launch plan";
  if (!next_word_is(words, "1")) return "not version 1";
  uint32_t seen = 0;
  for (const char *name = next_word(words); name != NULL; name = next_word(words)) {
    if (strcmp(name, "end") == 0) return words->next == words->end ? fault_of_whole(plan) : "bytes behind the end";
    const char *fault = read_operation(words, name, plan, &seen);
    if (fault != NULL) return fault;
  }
  return "no end";
}

bool parse_plan(const char *bytes, size_t length, struct plan *plan, struct plan_fault *fault) {
  /* With a NUL at the very end, every word that begins inside also ends inside. */
  if (length == 0 || length > plan_max_bytes || bytes[length - 1] != '\0') {
    *fault = (struct plan_fault){.word = 0, .reason = length > plan_max_bytes ? "more than 1 MiB" : "cut off"};
    return false;
  }
  struct words words = {.next = bytes, .end = bytes + length, .count = 0};
  const char *reason = read_words(&words, plan);
  *fault = (struct plan_fault){.word = words.count, .reason = reason};
  return reason == NULL;
}
