/* The processes around a program: in a pid namespace of its own one outside and process 1 inside, without one a process that traces it. */
#ifndef SVC_LAUNCH_SUPERVISE_H
#define SVC_LAUNCH_SUPERVISE_H

#include <stdint.h>
#include <sys/types.h>

#include "plan.h"

/* Where process 1 leaves the program's wait status: a page that both supervisors have and the program does not. */
struct outcome {
  int recorded;
  int wait_status;
};

/* Has the kernel end this process with its parent, and fails if that has ended already. `status` may be -1. */
void die_with_parent(pid_t parent, int status);

/* Sets every signal to its default. */
void reset_dispositions(void);

/* Lets every signal through. */
void unblock_signals(void);

/* What the first process of the namespace has of the one outside. */
struct inside {
  struct outcome *outcome; /* NULL without a namespace */
  int gate;                /* is written to once the outer process has given up what it can */
};

/* Returns in the first process of the pid namespace. The caller stays outside, forwards signals and ends as the program. `around` is who
 * it is counted as, 0 for whoever it is. */
struct inside start_namespace(uint32_t around);

/* Waits for the gate and returns in the process that is to become the program. The caller stays as process 1, reaps, and ends with it. */
void start_program_process(struct inside inside, const struct plan *plan);

/* Without a pid namespace: returns in the process that is to become the program, which is traced. The caller stays, and ends as the program does. */
void start_traced_program(const struct plan *plan);

#endif
