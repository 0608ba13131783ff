#define _GNU_SOURCE
#include "execs.h"

#include <elf.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernel.h"
#include "report.h"

enum { most_waiting = 1024, most_words = 4096, most_text = 64 << 10, longest_name = 4096, kernel_signal_set_size = 8 };

/* Before the name of a script stand its interpreters, of which the kernel follows five, each with one word; it reads 256 bytes of a first line. */
enum { most_before_script = 10, longest_before_script = 256 };

enum exec_kind { exec_whole, exec_cut, exec_unreadable, exec_crowded };

/* What stands before the text of a question. */
struct exec_head {
  uint32_t id;
  uint32_t kind;
  uint32_t word_count;
  uint32_t text_length;
};

struct exec_answer {
  uint32_t id;
  uint32_t goes_on;
};

/* Processes that wait for an answer, stopped. */
static struct {
  pid_t process; /* 0 is a free place */
  uint32_t id;
} waiting[most_waiting];

/* A program that has just been started, as it lies on its stack. */
struct started {
  uint64_t file; /* the address of the name of its file */
  uint64_t words;
  uint64_t word_count;
};

static char text[most_text];

void trace_execs(pid_t program) {
  const long options =
      PTRACE_O_TRACEEXEC | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL;
  if (ptrace(PTRACE_SEIZE, program, NULL, options) != 0) fail("execs", "tracing");
}

/* The caller is gone, and with this process the kernel ends all that is traced. */
static noreturn void end_with_caller(void) {
  _exit(exit_launch_failed);
}

/* A process that was killed meanwhile is not there any more. */
static void go_on(pid_t process, int signal_number) {
  (void)ptrace(PTRACE_CONT, process, NULL, (long)signal_number);
}

static bool peek(pid_t process, uint64_t address, uint64_t *word) {
  /* The kernel's own call, which tells a word from an error. */
  return syscall(SYS_ptrace, PTRACE_PEEKDATA, process, address, word) == 0;
}

static bool read_stack_pointer(pid_t process, uint64_t *pointer) {
  struct user_regs_struct registers;
  struct iovec place = {.iov_base = &registers, .iov_len = sizeof registers};
  if (ptrace(PTRACE_GETREGSET, process, (void *)NT_PRSTATUS, &place) != 0) return false;
  /* A program of another architecture has other registers. */
  if (place.iov_len != sizeof registers) return false;
#if defined(__x86_64__)
  *pointer = registers.rsp;
#else
  *pointer = registers.sp;
#endif
  return true;
}

/* The kernel has put there the number of words, where they are, where the environment is, and what else it tells a program. */
static bool find_started(pid_t process, struct started *started) {
  enum { word_size = sizeof(uint64_t) };
  uint64_t at = 0;
  uint64_t value = 0;
  if (!read_stack_pointer(process, &at) || !peek(process, at, &started->word_count)) return false;
  started->words = at + word_size;
  at = started->words + word_size * (started->word_count + 1);
  for (value = 1; value != 0; at += word_size)
    if (!peek(process, at, &value)) return false;
  for (;; at += 2 * word_size) {
    if (!peek(process, at, &value) || value == AT_NULL) return false;
    if (value == AT_EXECFN) return peek(process, at + word_size, &started->file);
  }
}

enum reading { read_to_end, read_cut, read_not };

/* Reads a text with its NUL, as far as there is room. */
static enum reading read_text(pid_t process, uint64_t address, char *to, size_t room) {
  for (size_t done = 0; done < room;) {
    uint64_t word = 0;
    if (!peek(process, address + done, &word)) return read_not;
    const size_t part = room - done < sizeof word ? room - done : sizeof word;
    memcpy(to + done, &word, part);
    if (memchr(&word, '\0', part) != NULL) return read_to_end;
    done += part;
  }
  return read_cut;
}

static enum reading read_word(pid_t process, const struct started *started, size_t number, char *to, size_t room) {
  uint64_t address = 0;
  if (!peek(process, started->words + number * sizeof address, &address)) return read_not;
  return read_text(process, address, to, room);
}

/* Whether a rule could be about a program of this name. */
static bool is_named(const struct plan *plan, const char *name) {
  const char *slash = strrchr(name, '/');
  for (size_t at = 0; at < plan->program_count; at++)
    if (strcmp(plan->programs[at], name) == 0 || (slash != NULL && strcmp(plan->programs[at], slash + 1) == 0)) return true;
  return false;
}

enum finding { found_named, found_other, found_unreadable };

/* A program is known by the name of its file and by its first word, a script also by the words of its interpreters. What is too long for a name may be any. */
static enum finding find_name(pid_t process, const struct plan *plan, const struct started *started) {
  static char file[longest_name];
  static char word[longest_name];
  if (plan->program_count == 0) return found_named;
  const enum reading whole = read_text(process, started->file, file, sizeof file);
  if (whole == read_not) return found_unreadable;
  if (whole == read_cut) return found_named;
  const size_t length = strlen(file) + 1;
  const size_t room = length > longest_before_script ? length : longest_before_script;
  bool has_named = false;
  for (size_t at = 0; at <= most_before_script && at < started->word_count; at++) {
    const enum reading reading = read_word(process, started, at, word, at == 0 ? sizeof word : room);
    if (reading == read_not) return found_unreadable;
    if (reading == read_cut && at > 0) break;
    if (at == 0 && (reading == read_cut || is_named(plan, word))) return found_named;
    if (at > 0 && strcmp(word, file) == 0) return has_named || is_named(plan, file) ? found_named : found_other;
    has_named = has_named || is_named(plan, word);
  }
  return is_named(plan, file) ? found_named : found_other;
}

/* Reads the name of the file and the words, as far as there is room, and says of what there was too much. */
static enum exec_kind read_program(pid_t process, const struct started *started, struct exec_head *head) {
  head->text_length = 0;
  head->word_count = 0;
  for (size_t at = 0; at <= started->word_count; at++) {
    if (at > most_words) return exec_cut;
    char *const to = text + head->text_length;
    const size_t room = sizeof text - head->text_length;
    const enum reading reading =
        at == 0 ? read_text(process, started->file, to, room) : read_word(process, started, at - 1, to, room);
    if (reading == read_not) return exec_unreadable;
    if (reading == read_cut) return exec_cut;
    head->text_length += (uint32_t)strlen(to) + 1;
    head->word_count = (uint32_t)at;
  }
  return exec_whole;
}

static void send_bytes(int socket, const void *bytes, size_t length) {
  for (size_t done = 0; done < length;) {
    const ssize_t sent = send(socket, (const char *)bytes + done, length - done, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) end_with_caller();
    done += (size_t)sent;
  }
}

static void tell(int socket, const struct exec_head *head) {
  send_bytes(socket, head, sizeof *head);
  send_bytes(socket, text, head->text_length);
}

static void ask(pid_t process, int socket, const struct plan *plan) {
  static uint32_t last = 0;
  struct started started;
  struct exec_head head = {.id = ++last, .kind = exec_unreadable};
  const enum finding finding = find_started(process, &started) ? find_name(process, plan, &started) : found_unreadable;
  if (finding == found_other) {
    go_on(process, 0);
    return;
  }
  if (finding == found_named) head.kind = read_program(process, &started, &head);
  size_t place = 0;
  while (place < most_waiting && waiting[place].process != 0) place++;
  if (head.kind == exec_unreadable) head.text_length = head.word_count = 0;
  else if (place == most_waiting) head.kind = exec_crowded;
  /* Before its first instruction. */
  if (head.kind == exec_unreadable || head.kind == exec_crowded) {
    (void)kill(process, SIGKILL);
  } else {
    waiting[place].process = process;
    waiting[place].id = head.id;
  }
  tell(socket, &head);
}

static void take_answer(int socket) {
  struct exec_answer answer;
  for (size_t done = 0; done < sizeof answer;) {
    const ssize_t got = recv(socket, (char *)&answer + done, sizeof answer - done, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) end_with_caller();
    done += (size_t)got;
  }
  for (size_t at = 0; at < most_waiting; at++) {
    const pid_t process = waiting[at].process;
    if (process == 0 || waiting[at].id != answer.id) continue;
    waiting[at].process = 0;
    if (answer.goes_on == 1) go_on(process, 0);
    else (void)kill(process, SIGKILL);
  }
}

static void forget(pid_t process) {
  for (size_t at = 0; at < most_waiting; at++)
    if (waiting[at].process == process) waiting[at].process = 0;
}

static bool is_group_stop(int number) {
  return number == SIGSTOP || number == SIGTSTP || number == SIGTTIN || number == SIGTTOU;
}

/* A process that has been stopped for us. The first program is the one that the launch is for: nobody is asked about it. */
static void take_stop(pid_t process, int wait_status, int socket, const struct plan *plan) {
  static bool has_begun = false;
  const int event = wait_status >> 16;
  const int number = WSTOPSIG(wait_status);
  if (event == PTRACE_EVENT_EXEC && has_begun) {
    ask(process, socket, plan);
    return;
  }
  if (event == PTRACE_EVENT_EXEC) has_begun = true;
  /* It stays stopped, as it would without us, until a signal continues it. */
  if (event == PTRACE_EVENT_STOP && is_group_stop(number)) (void)ptrace(PTRACE_LISTEN, process, NULL, NULL);
  else go_on(process, event == 0 ? number : 0);
}

/* True with the wait status of the program once that has ended. */
static bool take_events(pid_t program, const struct plan *plan, int *wait_status) {
  for (;;) {
    const pid_t process = waitpid(-1, wait_status, WNOHANG | __WALL);
    if (process <= 0) return false;
    if (WIFSTOPPED(*wait_status)) take_stop(process, *wait_status, plan->execs, plan);
    else if (process == program) return true;
    else forget(process);
  }
}

static int watch_signals(void) {
  const uint64_t all = ~UINT64_C(0);
  const int signals = (int)syscall(SYS_signalfd4, -1, &all, kernel_signal_set_size, SFD_CLOEXEC);
  if (signals < 0) _exit(exit_launch_failed);
  return signals;
}

int supervise_execs(pid_t program, const struct plan *plan, bool passes_signals) {
  struct pollfd waits[] = {{.fd = watch_signals(), .events = POLLIN}, {.fd = plan->execs, .events = POLLIN}};
  for (int wait_status = 0;;) {
    if (take_events(program, plan, &wait_status)) return wait_status;
    if (poll(waits, 2, -1) < 0) continue;
    struct signalfd_siginfo said;
    const bool has_signal = waits[0].revents != 0 && read(waits[0].fd, &said, sizeof said) == sizeof said;
    if (has_signal && passes_signals && said.ssi_signo != SIGCHLD) kill(-program, (int)said.ssi_signo);
    if (waits[1].revents != 0) take_answer(plan->execs);
  }
}
