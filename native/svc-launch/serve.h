/* The helper that stays: starts a launch for each request of its caller (PLAN.md, "Serve"). */
#ifndef SVC_LAUNCH_SERVE_H
#define SVC_LAUNCH_SERVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "ahead.h"
#include "plan.h"

/* A launch that was asked for, as the process that is to carry it out has it. Its bytes are that process's own. */
struct request {
  uint32_t id;
  const char *plan;
  size_t plan_length;
  const char *filter;
  size_t filter_length; /* 0 is no filter */
  const char *path;
  char **arguments;
  char **environment;
  bool is_read; /* its plan was read, and is well-formed */
  struct ahead ahead;
  int status; /* a socket, through which a listener goes too */
  pid_t parent;
};

/* Serves the caller until that has gone, and ends then; every launch dies with it. Returns in the process of each launch, which leads a session of its own
 * and has its standard descriptors. `descriptors` is the directory in which the caller's descriptors are, `plan` takes what is read of a plan. */
struct request serve(const char *descriptors, struct plan *plan);

#endif
