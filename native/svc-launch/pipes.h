/* Pipes for a caller that cannot make any itself. */
#ifndef SVC_LAUNCH_PIPES_H
#define SVC_LAUNCH_PIPES_H

#include <stdnoreturn.h>

/* Makes `count` pipes, a decimal number, tells it on descriptor 1 and holds them until descriptor 0 is closed. The read end of
 * the first is descriptor 3, its write end 4; the others follow. */
noreturn void hold_pipes(const char *count);

#endif
