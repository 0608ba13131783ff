/* Namespaces that are made ahead of the launch that is to have them (PLAN.md, "Serve"). */
#ifndef SVC_LAUNCH_AHEAD_H
#define SVC_LAUNCH_AHEAD_H

#include <stdbool.h>

#include "plan.h"

/* Nobody has been in them yet. Descriptors; `no_descriptor` where there is none. */
struct ahead {
  int users;
  int network;
};

/* Begins to make those of a plan, in a process of its own. Returns the socket that they come through, or `no_descriptor` where none are made. */
int make_ahead(const struct plan *plan);

/* Takes what has come through it. True once there is no more to come: then it is closed. */
bool take_ahead(int socket);

/* Gives away what fits the plan, for one launch. */
struct ahead ahead_for(const struct plan *plan);

void close_ahead(struct ahead *ahead);

/* Joins them and closes them. Returns which of the plan's namespaces are left to be made. */
int join_ahead(struct ahead *ahead, int namespaces);

#endif
