/* Attempts to run what was not granted. */
#define _GNU_SOURCE
#include "attempts.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { at_empty_path = 0x1000 };

/* exec takes strings that it does not change, and says it could. */
static char *const *words_of(const char *const *arguments) {
  union {
    const char *const *given;
    char *const *taken;
  } words = {.given = arguments};
  return words.taken;
}

static _Noreturn void execute(const struct program *program, int output, int complaint) {
  char *const nothing[] = {NULL};
  int silent = open("/dev/null", O_WRONLY);
  dup2(output, 1);
  if (silent >= 0) dup2(silent, 2);
  else close(2);
  if (program->path != NULL) execve(program->path, words_of(program->arguments), nothing);
  else syscall(SYS_execveat, program->descriptor, "", words_of(program->arguments), nothing, at_empty_path);
  int error = errno;
  _exit(write(complaint, &error, sizeof error) == sizeof error ? 126 : 127);
}

static size_t read_all(int from, char *bytes, size_t most) {
  size_t total = 0;
  for (ssize_t size = 1; size > 0 && total < most; total += (size_t)size) {
    size = read(from, bytes + total, most - total);
    if (size < 0) not_prepared("reading");
  }
  close(from);
  return total;
}

static int ended_well(pid_t child) {
  static char text[32];
  int status;
  if (waitpid(child, &status, 0) != child) not_prepared("waiting");
  if (WIFSIGNALED(status)) return killed_by(WTERMSIG(status));
  if (WEXITSTATUS(status) == 0) return 0;
  snprintf(text, sizeof text, "status-%d", WEXITSTATUS(status));
  return refused_as(text);
}

int runs(const struct program *program, const char *expected) {
  int output[2], complaint[2], error = 0;
  char said[4096];
  if (pipe2(output, O_CLOEXEC) != 0 || pipe2(complaint, O_CLOEXEC) != 0) not_prepared("a pipe");
  pid_t child = fork();
  if (child < 0) not_prepared("a child");
  if (child == 0) execute(program, output[1], complaint[1]);
  close(output[1]);
  close(complaint[1]);
  size_t size = read_all(output[0], said, sizeof said);
  size_t complained = read_all(complaint[0], (char *)&error, sizeof error);
  int ended = ended_well(child);
  if (complained == sizeof error) {
    refused_as(NULL);
    errno = error;
    return -1;
  }
  if (ended != 0) return ended;
  size_t length = expected == NULL ? 0 : strlen(expected);
  if (expected == NULL ? size > 0 : size == length && memcmp(said, expected, length) == 0) return 0;
  return refused_as("silently");
}

int in_child(int (*act)(void)) {
  int status;
  pid_t child = fork();
  if (child < 0) not_prepared("a child");
  if (child == 0) _exit(act());
  if (waitpid(child, &status, 0) != child) not_prepared("waiting");
  if (WIFSIGNALED(status)) return killed_by(WTERMSIG(status));
  errno = WEXITSTATUS(status);
  return errno == 0 ? 0 : -1;
}

static int run_path(const char *path, const char *argument, const char *expected) {
  const char *const arguments[] = {path, argument, NULL};
  return runs(&(struct program){path, -1, arguments}, expected);
}

static int run_unlisted(char *const *operands) { return run_path(operands[0], NULL, NULL); }

static int run_copy(char *const *operands) {
  copy_file(operands[0], "copy");
  return run_path("./copy", "ran", "ran\n");
}

static int run_shebang(char *const *operands) {
  char script[4096];
  int size = snprintf(script, sizeof script, "#!%s\necho ran\n", operands[0]);
  write_file("script", script, (size_t)size, 0755);
  return run_path("./script", NULL, "ran\n");
}

static int run_descriptor(char *const *operands) {
  copy_file(operands[0], "copy");
  const char *const arguments[] = {"copy", "ran", NULL};
  int file = open("copy", O_RDONLY);
  if (file < 0) not_prepared("copy");
  return runs(&(struct program){NULL, file, arguments}, "ran\n");
}

/* The copy keeps the name: a program that is many decides by it which one to be. */
static int load_copy(char *const *operands) {
  copy_file(operands[1], "sh");
  const char *const arguments[] = {operands[0], "./sh", "-c", "echo ran", NULL};
  return runs(&(struct program){operands[0], -1, arguments}, "ran\n");
}

static int load_unlisted(char *const *operands) { return run_path(operands[0], operands[1], NULL); }

static int run_memory_file(char *const *operands) {
  char bytes[65536];
  const char *const arguments[] = {"memory", "ran", NULL};
  int source = open(operands[0], O_RDONLY | O_CLOEXEC);
  if (source < 0) not_prepared(operands[0]);
  int memory = (int)syscall(SYS_memfd_create, "memory", 0u);
  if (memory < 0) return -1;
  for (ssize_t size = 1; size > 0;) {
    size = read(source, bytes, sizeof bytes);
    if (size < 0 || write(memory, bytes, (size_t)size) != size) not_prepared("memory");
  }
  return runs(&(struct program){NULL, memory, arguments}, "ran\n");
}

static int interpret(char *const *operands) {
  write_file("script", "echo ran\n", 9, 0600);
  return run_path(operands[0], "script", "ran\n");
}

/* A function that returns 42. */
#if defined(__x86_64__)
static const unsigned char code[] = {0xb8, 42, 0, 0, 0, 0xc3};
#elif defined(__aarch64__)
static const unsigned char code[] = {0x40, 0x05, 0x80, 0x52, 0xc0, 0x03, 0x5f, 0xd6};
#endif

static int returns_42(void *mapped) {
  union {
    void *data;
    int (*function)(void);
  } entry = {.data = mapped};
  __builtin___clear_cache((char *)mapped, (char *)mapped + sizeof code);
  return entry.function() == 42 ? 0 : -1;
}

/* What a loader does with a library. */
static int map_library(char *const *operands) {
  (void)operands;
  write_file("library", code, sizeof code, 0755);
  int file = open("library", O_RDONLY | O_CLOEXEC);
  if (file < 0) not_prepared("library");
  void *mapped = mmap(NULL, sizeof code, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0);
  return mapped == MAP_FAILED ? -1 : returns_42(mapped);
}

static int run_memory(char *const *operands) {
  (void)operands;
  void *mapped = mmap(NULL, sizeof code, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) not_prepared("memory");
  memcpy(mapped, code, sizeof code);
  return mprotect(mapped, sizeof code, PROT_READ | PROT_EXEC) != 0 ? -1 : returns_42(mapped);
}

const struct attempt execution_attempts[] = {
  {"run-unlisted", 1, run_unlisted},
  {"run-copy", 1, run_copy},
  {"run-shebang", 1, run_shebang},
  {"run-descriptor", 1, run_descriptor},
  {"load-copy", 2, load_copy},
  {"load-unlisted", 2, load_unlisted},
  {"run-memory-file", 1, run_memory_file},
  {"interpret", 1, interpret},
  {"map-library", 0, map_library},
  {"run-memory", 0, run_memory},
  {NULL, 0, NULL},
};
