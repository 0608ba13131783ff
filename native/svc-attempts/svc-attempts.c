/* Makes one attempt to get out of containment and prints what became of it: `allowed` when its effect was seen, `refused <error>`,
 * `killed <signal>`, `absent`, or `tried` where only others can see the effect. See attempts.h. */
#define _GNU_SOURCE
#include "attempts.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *refusal;
static int signal_number;

int refused_as(const char *text) {
  refusal = text;
  return -1;
}

int killed_by(int signal) {
  signal_number = signal;
  return -1;
}

void not_prepared(const char *what) {
  dprintf(2, "svc-attempts: %s: %s\n", what, strerror(errno));
  _exit(3);
}

struct named {
  int number;
  const char *name;
};

#define NAMED(number) {number, #number}

/* Not every C library can name its errors. */
static const struct named errors[] = {
  NAMED(E2BIG), NAMED(EACCES), NAMED(EADDRINUSE), NAMED(EADDRNOTAVAIL), NAMED(EAFNOSUPPORT), NAMED(EAGAIN), NAMED(EBADF),
  NAMED(EBUSY), NAMED(ECHILD), NAMED(ECONNREFUSED), NAMED(ECONNRESET), NAMED(EEXIST), NAMED(EFAULT), NAMED(EFBIG),
  NAMED(EHOSTUNREACH), NAMED(EINVAL), NAMED(EIO), NAMED(EISDIR), NAMED(ELOOP), NAMED(EMFILE), NAMED(EMLINK), NAMED(ENETUNREACH),
  NAMED(ENODATA), NAMED(ENODEV), NAMED(ENOENT), NAMED(ENOEXEC), NAMED(ENOMEM), NAMED(ENOPROTOOPT), NAMED(ENOSPC), NAMED(ENOSYS),
  NAMED(ENOTCONN), NAMED(ENOTDIR), NAMED(ENOTTY), NAMED(ENXIO), NAMED(EOPNOTSUPP), NAMED(EOVERFLOW), NAMED(EPERM), NAMED(EPIPE),
  NAMED(EPROTONOSUPPORT), NAMED(EROFS), NAMED(ESOCKTNOSUPPORT), NAMED(ESRCH), NAMED(ESTALE), NAMED(ETIMEDOUT), NAMED(ETXTBSY),
  NAMED(EUSERS), NAMED(EXDEV), {0, NULL}};

static const struct named signals[] = {
  NAMED(SIGSYS), NAMED(SIGSEGV), NAMED(SIGILL), NAMED(SIGKILL), NAMED(SIGBUS), NAMED(SIGXFSZ), NAMED(SIGXCPU), {0, NULL}};

static void print(const char *word, const struct named *names, int number) {
  while (names->name != NULL && names->number != number) names++;
  if (names->name != NULL) printf("%s %s\n", word, names->name);
  else printf("%s %d\n", word, number);
}

static void print_refusal(int error) {
  if (signal_number != 0) print("killed", signals, signal_number);
  else if (refusal != NULL) printf("refused %s\n", refusal);
  else print("refused", errors, error);
}

static const struct attempt *const groups[] = {
  file_attempts, mode_attempts, execution_attempts, kernel_attempts, process_attempts, privilege_attempts, network_attempts,
  limit_attempts};

static const struct attempt *find(const char *name) {
  for (size_t group = 0; group < sizeof groups / sizeof *groups; group++)
    for (const struct attempt *attempt = groups[group]; attempt->name != NULL; attempt++)
      if (strcmp(attempt->name, name) == 0) return attempt;
  return NULL;
}

/* Attempts leave files where they run, and none of them belongs into the root of a host. */
static void leave_root_alone(void) {
  struct stat here, root;
  if (stat(".", &here) != 0 || stat("/", &root) != 0) not_prepared("where it runs");
  errno = EISDIR;
  if (here.st_dev == root.st_dev && here.st_ino == root.st_ino) not_prepared("a workdir of its own");
}

int main(int argc, char **argv) {
  if (argc == 2 && strcmp(argv[1], "ran") == 0) return puts("ran") < 0;
  if (argc == 4 && strcmp(argv[1], "victim") == 0) return be_victim(argv[2], argv[3]);
  const struct attempt *attempt = argc < 2 ? NULL : find(argv[1]);
  if (attempt == NULL || attempt->operands != argc - 2) {
    fprintf(stderr, "usage: svc-attempts <attempt> [operand...]\n");
    return 2;
  }
  leave_root_alone();
  errno = 0;
  int outcome = attempt->run(argv + 2);
  if (outcome < 0) print_refusal(errno);
  else puts(outcome == absent ? "absent" : outcome == tried ? "tried" : "allowed");
  return fflush(stdout) == 0 ? 0 : 3;
}
