#define _GNU_SOURCE
#include "supervise.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "execs.h"
#include "kernel.h"
#include "privileges.h"
#include "report.h"

enum { last_signal = 64, kernel_signal_set_size = 8, signal_exit_base = 128 };

static bool is_hung_up(int descriptor) {
  struct pollfd state = {.fd = descriptor, .events = 0};
  return poll(&state, 1, 0) > 0 && (state.revents & (POLLHUP | POLLERR)) != 0;
}

void die_with_parent(pid_t parent, int status) {
  if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0) fail("parent", "the death signal");
  /* It may have ended before that was set. Then we have another one, and nobody reads the status. */
  if (getppid() != parent || (status >= 0 && is_hung_up(status))) fail_with(ESRCH, "parent", "it has ended");
}

void reset_dispositions(void) {
  /* The kernel's own structure, in which all zero is the default. The C library would keep two signals from us. */
  const unsigned long defaults[4] = {0, 0, 0, 0};
  for (int number = 1; number <= last_signal; number++)
    if (number != SIGKILL && number != SIGSTOP)
      if (syscall(SYS_rt_sigaction, number, defaults, NULL, kernel_signal_set_size) != 0) fail("signals", NULL);
}

static void set_mask(unsigned long long blocked) {
  if (syscall(SYS_rt_sigprocmask, SIG_SETMASK, &blocked, NULL, kernel_signal_set_size) != 0) fail("signals", NULL);
}

void unblock_signals(void) {
  set_mask(0);
}

static noreturn void end_with(int wait_status) {
  if (WIFEXITED(wait_status)) _exit(WEXITSTATUS(wait_status));
  const int number = WTERMSIG(wait_status);
  /* Both are opaque, so this leaves no core of ours. */
  unblock_signals();
  kill(getpid(), number);
  _exit(signal_exit_base + number);
}

static int await_signal(void) {
  sigset_t all;
  sigfillset(&all);
  return sigwaitinfo(&all, NULL);
}

static bool is_stop(int number) {
  return number == SIGTSTP || number == SIGTTIN || number == SIGTTOU;
}

static noreturn void watch_from_outside(pid_t first, const struct outcome *outcome) {
  for (;;) {
    const int number = await_signal();
    int wait_status = 0;
    if (number == SIGCHLD) {
      if (waitpid(first, &wait_status, WNOHANG) != first) continue;
      end_with(outcome->recorded ? outcome->wait_status : wait_status);
    }
    if (number > 0) kill(first, number);
    /* To a shell we are the job, so we stop with the program. What continues us is passed on as well. */
    if (is_stop(number)) raise(SIGSTOP);
  }
}

static int reap(pid_t program) {
  for (;;) {
    const int number = await_signal();
    if (number > 0 && number != SIGCHLD) kill(-program, number);
    if (number != SIGCHLD) continue;
    int wait_status = 0;
    for (pid_t ended = 1; ended > 0;) {
      ended = waitpid(-1, &wait_status, WNOHANG);
      if (ended == program) return wait_status;
    }
  }
}

static noreturn void record(int wait_status, struct outcome *outcome) {
  outcome->wait_status = wait_status;
  outcome->recorded = 1;
  _exit(WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : signal_exit_base + WTERMSIG(wait_status));
}

static struct outcome *share_outcome(void) {
  struct outcome *outcome =
      mmap(NULL, sizeof *outcome, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (outcome == MAP_FAILED) fail("fork", "memory");
  return outcome;
}

static pid_t fork_or_fail(void) {
  const pid_t process = fork();
  if (process < 0) fail("fork", NULL);
  return process;
}

/* The number of processes of a user is that of its real one. The effective one stays, by which the program can be signaled; a change of that
 * would also take the death signal away. */
static void count_as(uint32_t user) {
  if (user != 0 && setresuid(user, (uid_t)-1, user) != 0) fail("fork", "setresuid");
}

/* Gives up all it can give up, closes everything but the gate, and only then lets the inner process go on. */
static noreturn void stay_outside(pid_t first, const struct outcome *outcome, int gate, uint32_t around) {
  if (chdir("/") != 0) fail("fork", "leaving the working directory");
  count_as(around);
  drop_capabilities();
  refuse_new_privileges();
  if (gate > 0 && kernel_close_range(0, (unsigned)gate - 1, 0) != 0) fail("fork", "closing descriptors");
  if (kernel_close_range((unsigned)gate + 1, ~0u, 0) != 0) fail("fork", "closing descriptors");
  const char go = 1;
  if (write(gate, &go, sizeof go) != sizeof go) _exit(exit_launch_failed);
  watch_from_outside(first, outcome);
}

/* From inside, the parent has no number. That it lives shows in the gate, of which it alone holds the other end. */
static void await_gate(int gate) {
  char go = 0;
  if (read(gate, &go, sizeof go) != sizeof go || is_hung_up(gate)) _exit(exit_launch_failed);
  close(gate);
}

struct inside start_namespace(uint32_t around) {
  struct outcome *outcome = share_outcome();
  int gate[2];
  bound_capabilities();
  if (pipe2(gate, O_CLOEXEC) != 0) fail("fork", "a pipe");
  set_mask(~0ull);
  const pid_t first = fork_or_fail();
  if (first > 0) stay_outside(first, outcome, gate[1], around);
  close(gate[1]);
  if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0) fail("parent", "the death signal");
  /* A session of its own: no terminal to write to, and a signal to the outer process's group arrives once, by way of it. */
  if (setsid() < 0) fail("fork", "a session");
  return (struct inside){.outcome = outcome, .gate = gate[0]};
}

/* Closes all but the socket over which programs are asked about; 0 is none. */
static void keep_socket(int socket) {
  const int closed = socket == 0 ? kernel_close_range(0, ~0u, 0)
                                 : kernel_close_range(0, (unsigned)socket - 1, 0) | kernel_close_range((unsigned)socket + 1, ~0u, 0);
  if (closed != 0) _exit(exit_launch_failed);
}

/* Only who shows itself can be traced, so both do until that is done, and the program waits for it. Returns 0 in the program. */
static pid_t fork_traced(void) {
  int traced[2];
  if (pipe2(traced, O_CLOEXEC) != 0) fail("fork", "a pipe");
  become_transparent();
  const pid_t program = fork_or_fail();
  char go = 1;
  if (program == 0) {
    close(traced[1]);
    if (read(traced[0], &go, sizeof go) != sizeof go) _exit(exit_launch_failed);
    close(traced[0]);
  } else {
    trace_execs(program);
    if (write(traced[1], &go, sizeof go) != sizeof go) _exit(exit_launch_failed);
  }
  become_opaque();
  return program;
}

void start_program_process(struct inside inside, const struct plan *plan) {
  struct outcome *outcome = inside.outcome;
  await_gate(inside.gate);
  const pid_t program = plan->execs == 0 ? fork_or_fail() : fork_traced();
  if (program > 0) {
    /* Here too, so that the group is there when the first signal is to be passed on. The program may have been quicker. */
    (void)setpgid(program, program);
    count_as(plan->around);
    drop_capabilities();
    refuse_new_privileges();
    keep_socket(plan->execs);
    record(plan->execs == 0 ? reap(program) : supervise_execs(program, plan, true), outcome);
  }
  if (setpgid(0, 0) != 0) fail("fork", "a process group");
  munmap(outcome, sizeof *outcome);
}

void start_traced_program(const struct plan *plan) {
  set_mask(~0ull);
  const pid_t program = fork_traced();
  if (program == 0) return;
  if (chdir("/") != 0) fail("fork", "leaving the working directory");
  drop_capabilities();
  refuse_new_privileges();
  keep_socket(plan->execs);
  /* The program is in the group of this process, so signals to the group reach it by themselves. */
  end_with(supervise_execs(program, plan, false));
}
