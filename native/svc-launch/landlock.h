#ifndef SVC_LAUNCH_LANDLOCK_H
#define SVC_LAUNCH_LANDLOCK_H

#include "plan.h"

/* Confines the process, and whatever it becomes, to what the plan's rules allow. Needs no_new_privs. */
void enter_landlock(const struct plan *plan);

#endif
