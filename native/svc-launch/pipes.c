#define _GNU_SOURCE
#include "pipes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "kernel.h"
#include "report.h"

enum { most_pipes = 256, first_end = 3 };

unsigned read_number_of_call(const char *word, unsigned most, const char *fault) {
  char *end = NULL;
  errno = 0;
  const unsigned long number = word[0] >= '1' && word[0] <= '9' ? strtoul(word, &end, 10) : 0;
  if (end == NULL || *end != '\0' || errno != 0 || number > most) fail_with(EINVAL, "call", fault);
  return (unsigned)number;
}

void hold_for_caller(void) {
  const char ready = '\n';
  if (write(STDOUT_FILENO, &ready, sizeof ready) != sizeof ready) fail("descriptors", "nobody listens");
  char nothing = 0;
  ssize_t got = 0;
  do got = read(STDIN_FILENO, &nothing, sizeof nothing);
  while (got > 0 || (got < 0 && errno == EINTR));
  _exit(0);
}

void hold_pipes(const char *count) {
  const int wanted = (int)read_number_of_call(count, most_pipes, "not a number of pipes");
  if (kernel_close_range(first_end, ~0u, 0) != 0) fail("descriptors", "closing");
  for (int made = 0; made < wanted; made++) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) fail("descriptors", "a pipe");
    /* The caller counts on where they are. */
    if (ends[0] != first_end + 2 * made || ends[1] != ends[0] + 1) fail_with(EBADF, "descriptors", "0, 1 or 2 is not open");
  }
  hold_for_caller();
}
