#define _GNU_SOURCE
#include "report.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

static int status_descriptor = STDERR_FILENO;

void report_to(int status) {
  status_descriptor = status;
}

/* One line stays one line, whatever a path holds. */
static void replace_controls(char *text) {
  for (; *text != '\0'; text++)
    if ((unsigned char)*text < ' ' || *text == 0x7f) *text = '?';
}

void fail_with(int error, const char *stage, const char *detail) {
  char line[1024];
  const int wanted = snprintf(line, sizeof line - 1, "%s %d %s", stage, error, detail == NULL ? "" : detail);
  const size_t longest = sizeof line - 2;
  size_t length = wanted < 0 ? 0 : (size_t)wanted;
  if (length > longest) length = longest;
  line[length] = '\0';
  replace_controls(line);
  line[length] = '\n';
  /* Whoever was to read this may be gone; the exit status tells as well. */
  signal(SIGPIPE, SIG_IGN);
  const ssize_t written = write(status_descriptor, line, length + 1);
  (void)written;
  _exit(exit_launch_failed);
}

void fail(const char *stage, const char *detail) {
  fail_with(errno, stage, detail);
}
