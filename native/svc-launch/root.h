#ifndef SVC_LAUNCH_ROOT_H
#define SVC_LAUNCH_ROOT_H

#include "plan.h"

/* Composes the plan's root and makes it the root of this mount namespace; of the old one nothing is left in reach. */
void compose_root(const struct plan *plan);

#endif
