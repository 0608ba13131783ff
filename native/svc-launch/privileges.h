#ifndef SVC_LAUNCH_PRIVILEGES_H
#define SVC_LAUNCH_PRIVILEGES_H

#include "plan.h"

/* Hides the process from others of its user: no tracing, no core, nothing in /proc that tells or leads to anything. */
void become_opaque(void);

/* Undoes it: files of an opaque process in /proc belong to root, and its user maps must be written there. */
void become_transparent(void);

/* Becomes another user, for good and without supplementary groups. */
void become(const struct identity *identity);

/* What is executed from now on can get no capability; those that are held stay. Does nothing for who may not do it.
 * After the last user namespace was entered, since that gives every capability back. */
void bound_capabilities(void);

/* Gives up every capability and every way to one. */
void drop_capabilities(void);

/* Nothing that is executed from now on gains anything by being executed. */
void refuse_new_privileges(void);

#endif
