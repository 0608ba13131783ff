/* Calls of the helper that are about no plan: user namespaces for a caller, and how many processes may be. */
#ifndef SVC_LAUNCH_USERS_H
#define SVC_LAUNCH_USERS_H

#include <stdnoreturn.h>

/* Makes the user namespaces of a session, says so, and holds them until nobody needs them any more (PLAN.md, "Users"). */
noreturn void hold_users(const char *uid);

/* Starts that many processes at once, as far as it can, and says how many lived (PLAN.md, "Forks"). */
noreturn void count_forks(const char *most);

#endif
