#ifndef SVC_LAUNCH_NAMESPACES_H
#define SVC_LAUNCH_NAMESPACES_H

#include "plan.h"

/* Joins the plan's control group. */
void join_cgroup(const char *procs);

/* Enters the plan's namespaces, with the user maps, the host name and the loopback in place. */
void enter_namespaces(const struct plan *plan);

#endif
