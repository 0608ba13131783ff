#ifndef SVC_LAUNCH_ROOT_H
#define SVC_LAUNCH_ROOT_H

#include "plan.h"

/* Opens and clones every source of a bind. `mounts` is the open user namespace by which those are mapped that the plan says, or -1. */
void open_sources(const struct plan *plan, int mounts);

/* Composes the plan's root from its sources, which it opens itself where that was not done before, and makes it the
 * root of this mount namespace; of the old one nothing is left in reach. */
void compose_root(const struct plan *plan);

#endif
