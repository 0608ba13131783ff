/* How a launch fails: one line, exit status 125, and no program. */
#ifndef SVC_LAUNCH_REPORT_H
#define SVC_LAUNCH_REPORT_H

#include <stdnoreturn.h>

enum { exit_launch_failed = 125 };

/* Where the line goes from now on; before, it goes to descriptor 2. */
void report_to(int status);

/* Ends the process with the line `<stage> <errno> <detail>`. `detail` may be NULL. */
noreturn void fail(const char *stage, const char *detail);

/* The same with an error that no system call left in errno. */
noreturn void fail_with(int error, const char *stage, const char *detail);

#endif
