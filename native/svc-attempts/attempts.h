#ifndef SVC_ATTEMPTS_H
#define SVC_ATTEMPTS_H

#include <stddef.h>

/* Where an attempt returns 0, its effect was seen; -1, errno says what refused it. The others: */
enum outcome { absent = 1, tried = 2 };

/* Something a contained process might try. It runs in its workdir, in a process of its own. */
struct attempt {
  const char *name;
  int operands;
  int (*run)(char *const *operands);
};

/* Each ends with an entry without a name. */
extern const struct attempt file_attempts[];
extern const struct attempt mode_attempts[];
extern const struct attempt execution_attempts[];
extern const struct attempt kernel_attempts[];
extern const struct attempt process_attempts[];
extern const struct attempt privilege_attempts[];
extern const struct attempt network_attempts[];
extern const struct attempt limit_attempts[];

/* Refused by something without an error number; `text` is what is printed after `refused`. Answers -1. */
int refused_as(const char *text);

/* Ended by a signal; printed instead of `refused`. Answers -1. */
int killed_by(int signal);

/* What the attempt needs beforehand could not be had: nothing is claimed, and the exit status is 3. */
_Noreturn void not_prepared(const char *what);

/* The process whose memory, descriptors and environment others try to read; ends with its standard input. */
int be_victim(const char *secret, const char *path);

/* Whether the descriptor holds the secret; a negative one does not, and errno is as it was. Closes it. */
int holds(int descriptor, const char *secret);

/* A new file in the workdir. */
void write_file(const char *path, const void *bytes, size_t size, unsigned mode);
void copy_file(const char *from, const char *to);

/* A program to execute: by its path, or by a descriptor where there is no path. */
struct program {
  const char *path;
  int descriptor;
  const char *const *arguments;
};

/* Executes it in a child. 0 when it ends well and prints `expected` (anything, when NULL). */
int runs(const struct program *program, const char *expected);

/* Runs `act` in a child: how the child ended by itself tells whether it was let. The child's own answer is its errno. */
int in_child(int (*act)(void));

/*
 * Where nothing holds the attempt back, what it does next happens in namespaces of its own, and the host sees none of it.
 * Whether that was so.
 */
int own_namespaces(int flags);

#endif
