/* Puts seccomp filters before the kernel.
 *
 *     seccomp-probe verdicts <filter>              what the kernel makes of the calls on stdin
 *     seccomp-probe attempts <filter | ->          tries what seccomp-attempts.h lists, each in a process of its own
 *     seccomp-probe exec <filter> <program> ...    starts a program under the filter
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "seccomp-attempts.h"

enum { most_calls = 1 << 20, killed = -1 };

/* What `verdicts` reads. */
struct call {
    uint64_t number;
    uint64_t arguments[6];
};

static void fail(const char *what) {
    perror(what);
    exit(120);
}

static void install(const char *path) {
    static struct sock_filter instructions[4096];
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t bytes = file < 0 ? -1 : read(file, instructions, sizeof instructions);
    if (bytes <= 0 || bytes % (ssize_t)sizeof *instructions != 0) fail(path);
    close(file);
    struct sock_fprog program = {(unsigned short)(bytes / (ssize_t)sizeof *instructions), instructions};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) fail("no_new_privs");
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) != 0) fail("seccomp");
}

/* Without libc, which would look at the arguments of some calls. */
static long raw(const struct call *call) {
    const uint64_t *a = call->arguments;
#if defined(__x86_64__)
    register uint64_t r10 __asm__("r10") = a[3];
    register uint64_t r8 __asm__("r8") = a[4];
    register uint64_t r9 __asm__("r9") = a[5];
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(call->number), "D"(a[0]), "S"(a[1]), "d"(a[2]), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
#else
    register uint64_t x8 __asm__("x8") = call->number;
    register uint64_t x0 __asm__("x0") = a[0];
    register uint64_t x1 __asm__("x1") = a[1];
    register uint64_t x2 __asm__("x2") = a[2];
    register uint64_t x3 __asm__("x3") = a[3];
    register uint64_t x4 __asm__("x4") = a[4];
    register uint64_t x5 __asm__("x5") = a[5];
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
    return (long)x0;
#endif
}

struct shared {
    volatile uint32_t next;
    int32_t results[most_calls];
};

/* The filter answers every call with an error, also those to write or to exit: results go through shared memory, and the
 * process ends by an instruction that is none. */
static _Noreturn void call_all(const char *filter, const struct call *calls, uint32_t count, struct shared *shared) {
    install(filter);
    while (shared->next < count) {
        shared->results[shared->next] = (int32_t)-raw(&calls[shared->next]);
        shared->next++;
    }
    __builtin_trap();
}

static int verdicts(const char *filter) {
    struct shared *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    struct call *calls = malloc(most_calls * sizeof *calls);
    if (shared == MAP_FAILED || calls == NULL) fail("memory");
    uint32_t count = (uint32_t)fread(calls, sizeof *calls, most_calls, stdin);
    while (shared->next < count) {
        pid_t child = fork();
        if (child < 0) fail("fork");
        if (child == 0) call_all(filter, calls, count, shared);
        int status;
        if (waitpid(child, &status, 0) != child || !WIFSIGNALED(status)) fail("a process went on under the filter");
        if (WTERMSIG(status) == SIGSYS) shared->results[shared->next++] = killed;
        else if (shared->next < count) fail("a process ended early");
    }
    fwrite(shared->results, sizeof *shared->results, count, stdout);
    return fflush(stdout) == 0 ? 0 : 1;
}

static const char *filter_of_attempt;

void contain(void) {
    if (strcmp(filter_of_attempt, "-") != 0) install(filter_of_attempt);
}

/* Its error number in a pipe: an exit status has too few bits, and 0 would be what an attempt that trapped looks like. */
static void try(const struct attempt *attempt) {
    int ends[2];
    if (pipe(ends) != 0) fail("pipe");
    pid_t child = fork();
    if (child < 0) fail("fork");
    if (child == 0) {
        alarm(20);
        int error = attempt->run() == 0 ? 0 : errno;
        _exit(write(ends[1], &error, sizeof error) == sizeof error ? 0 : 1);
    }
    close(ends[1]);
    int error = 0, status = 0;
    ssize_t told = read(ends[0], &error, sizeof error);
    waitpid(child, &status, 0);
    close(ends[0]);
    if (told == sizeof error) printf("%s %d\n", attempt->name, error);
    else printf("%s signal %d\n", attempt->name, WIFSIGNALED(status) ? WTERMSIG(status) : 0);
}

static int attempt_all(const char *filter) {
    filter_of_attempt = filter;
    for (const struct attempt *attempt = attempts; attempt->name != NULL; attempt++) {
        fflush(stdout);
        try(attempt);
    }
    return 0;
}

int main(int count, char **words) {
    if (count == 3 && strcmp(words[1], "verdicts") == 0) return verdicts(words[2]);
    if (count == 3 && strcmp(words[1], "attempts") == 0) return attempt_all(words[2]);
    if (count < 4 || strcmp(words[1], "exec") != 0) return 2;
    install(words[2]);
    execvp(words[3], words + 3);
    fail(words[3]);
}
