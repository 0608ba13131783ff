/* A launch plan as PLAN.md describes it, read from its bytes. */
#ifndef SVC_LAUNCH_PLAN_H
#define SVC_LAUNCH_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
  plan_max_bytes = 1 << 20,
  plan_max_steps = 1024,
  plan_max_rules = 1024,
  plan_max_limits = 16,
  plan_max_programs = 1024,
  plan_max_cgroups = 4,
  plan_max_path = 4095
};

struct identity {
  bool given;
  uint32_t uid;
  uint32_t gid;
};

/* A user namespace that is there already, and who to be in it. */
struct joined {
  const char *path; /* NULL is none */
  struct identity identity;
};

enum step_kind { step_bind, step_tmpfs, step_tmp, step_proc, step_directory, step_symlink };

struct root_step {
  enum step_kind kind;
  uint64_t attributes;
  uint64_t bytes;
  const char *source; /* of a bind; the text of a symbolic link */
  const char *target;
};

struct path_rule {
  uint64_t rights;
  const char *path;
};

struct port_rule {
  uint64_t rights;
  uint16_t port;
};

struct limit {
  uint8_t resource;
  uint64_t soft;
  uint64_t hard;
};

struct plan {
  struct identity id;
  struct identity inside;
  size_t cgroup_count;
  const char *cgroups[plan_max_cgroups];
  struct joined users;
  const char *mounts;     /* the user namespace by which mounts are mapped; NULL is none */
  uint64_t processes;     /* that may live in the joined namespace; 0 is no limit */
  uint32_t around;        /* the real user of the processes around the program; 0 is the program's */
  const char *count;      /* the file that says how many are in a control group; NULL is none */
  uint64_t most;          /* that it may say */
  int namespaces; /* CLONE_NEW*, as unshare takes them */
  const char *hostname;
  bool loopback;
  uint16_t listen_port; /* 0 is none */
  const char *cwd;
  size_t step_count;
  struct root_step steps[plan_max_steps];
  size_t limit_count;
  struct limit limits[plan_max_limits];
  int execs; /* the socket over which programs are asked about; 0 is none */
  size_t program_count;
  const char *programs[plan_max_programs]; /* the names of those; without any, all are */
  bool landlock;
  uint64_t filesystem_rights;
  uint64_t network_rights;
  uint64_t scope_rights;
  size_t path_rule_count;
  struct path_rule path_rules[plan_max_rules];
  size_t port_rule_count;
  struct port_rule port_rules[plan_max_rules];
};

struct plan_fault {
  unsigned word; /* counted from 1; 0 is the plan as a whole */
  const char *reason;
};

/* Fills the plan, which is all zero before. Its texts are those of `bytes`, which must outlive it. False with a fault when
 * the bytes are not exactly one well-formed plan; the plan is then of no use. */
bool parse_plan(const char *bytes, size_t length, struct plan *plan, struct plan_fault *fault);

#endif
