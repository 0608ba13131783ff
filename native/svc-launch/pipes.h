/* What is held open for a caller that cannot make it itself, pipes first of all. */
#ifndef SVC_LAUNCH_PIPES_H
#define SVC_LAUNCH_PIPES_H

#include <stdnoreturn.h>

/* Makes `count` pipes, a decimal number, tells it on descriptor 1 and holds them until descriptor 0 is closed. The read end of
 * the first is descriptor 3, its write end 4; the others follow. */
noreturn void hold_pipes(const char *count);

/* A decimal number of 1 to `most` in the call, or the end with that fault. */
unsigned read_number_of_call(const char *word, unsigned most, const char *fault);

/* Says on descriptor 1 that all is there, and ends once descriptor 0 is closed. */
noreturn void hold_for_caller(void);

#endif
