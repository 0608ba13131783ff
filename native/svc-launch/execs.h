/* Stops each program that the program of a launch starts, before its first instruction, and has the caller decide about it (PLAN.md, "Execs"). */
#ifndef SVC_LAUNCH_EXECS_H
#define SVC_LAUNCH_EXECS_H

#include <stdbool.h>
#include <sys/types.h>

#include "plan.h"

/* Traces a child that has not started anything yet, and whatever it will start. Whatever is traced ends with this process. */
void trace_execs(pid_t program);

/* Lets traced processes run, with every signal blocked, until the program has ended. Returns its wait status. With `passes_signals`, each signal of this
 * process goes to the group of the program. Ends this process when nobody has the other end of the socket any more. */
int supervise_execs(pid_t program, const struct plan *plan, bool passes_signals);

#endif
