#define _GNU_SOURCE
#include "serve.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ahead.h"
#include "egress.h"
#include "kernel.h"
#include "plan.h"
#include "privileges.h"
#include "report.h"
#include "supervise.h"

enum { caller = 3, channel = 4, standard_count = 3, most_launches = 1024, most_bytes = 8 << 20, most_words = 1 << 16 };

/* What stands before the bytes of a request: the plan, the filter, the path, the arguments and the environment. */
struct request_head {
  uint32_t id;
  uint32_t plan_length;
  uint32_t filter_length;
  uint32_t words_length;
  uint32_t argument_count;
  uint32_t environment_count;
  int32_t standard[standard_count]; /* descriptors of the caller; -1 is /dev/null */
};

enum answer_kind { answer_unopened, answer_forked, answer_settled, answer_ended };

/* What stands before the text of an answer, which only `settled` has. */
struct answer_head {
  uint32_t id;
  uint32_t kind;
  uint32_t value; /* the process of `forked`, the wait status of `ended` */
  uint32_t text_length;
};

struct launch {
  pid_t process; /* 0 is a free place */
  uint32_t id;
  int status; /* -1 once it is closed */
  bool is_over;
  int wait_status;
  uint32_t text_length;
  char text[1024];
};

static struct launch launches[most_launches];
static size_t places = 0; /* those behind were never used */

/* The launches whose listeners the caller has yet to answer, which it does in their order: from `answered` to `handed`, both of which only grow. */
static uint32_t unanswered[most_launches];
static size_t answered = 0;
static size_t handed = 0;

/* Each launch dies with this process, as it would with a caller that had started it itself. */
static noreturn void end_with_caller(void) {
  _exit(0);
}

static void read_bytes(void *to, size_t length) {
  for (size_t done = 0; done < length;) {
    const ssize_t got = recv(caller, (char *)to + done, length - done, MSG_WAITALL);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) end_with_caller();
    done += (size_t)got;
  }
}

static void answer(const struct launch *launch, enum answer_kind kind, uint32_t value) {
  struct {
    struct answer_head head;
    char text[sizeof launch->text];
  } message = {.head = {.id = launch->id, .kind = kind, .value = value}};
  if (kind == answer_settled) message.head.text_length = launch->text_length;
  memcpy(message.text, launch->text, message.head.text_length);
  const size_t length = sizeof message.head + message.head.text_length;
  for (size_t done = 0; done < length;) {
    const ssize_t sent = send(caller, (const char *)&message + done, length - done, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) end_with_caller();
    done += (size_t)sent;
  }
}

/* Splits the words into the path, the arguments and the environment. */
static bool split_words(const struct request_head *head, char *words, char **pointers, struct request *request) {
  const char *end = words + head->words_length;
  const size_t count = 1 + (size_t)head->argument_count + head->environment_count;
  char *next = words;
  request->arguments = pointers;
  request->environment = pointers + head->argument_count + 1;
  for (size_t at = 0; at < count; at++) {
    if (next == end) return false;
    const size_t arguments_end = 1 + (size_t)head->argument_count;
    if (at == 0) request->path = next;
    else if (at < arguments_end) request->arguments[at - 1] = next;
    else request->environment[at - arguments_end] = next;
    next += strlen(next) + 1;
  }
  return next == end && request->path[0] == '/';
}

/* The caller is trusted with everything but a mistake: what does not fit together ends the helper, and all it started. */
static void check_head(const struct request_head *head) {
  const bool fits = head->plan_length > 0 && head->plan_length <= plan_max_bytes && head->filter_length <= plan_max_bytes &&
                    head->words_length > 0 && head->words_length <= most_bytes && head->argument_count > 0 &&
                    head->argument_count <= most_words && head->environment_count <= most_words;
  if (!fits) fail_with(EINVAL, "call", "not a request");
}

/* The bytes of the last request. Somebody's secrets are among them, so they are wiped as soon as the launch has its own copy. */
static char *bytes = NULL;
static size_t room = 0;

static void make_room(size_t length) {
  if (length <= room) return;
  free(bytes);
  bytes = malloc(length);
  room = length;
  if (bytes == NULL) fail_with(ENOMEM, "call", "a request");
}

static struct request read_request(struct request_head *head) {
  read_bytes(head, sizeof *head);
  check_head(head);
  const size_t pointers = ((size_t)head->argument_count + head->environment_count + 2) * sizeof(char *);
  const size_t length = (size_t)head->plan_length + head->filter_length + head->words_length;
  make_room(pointers + length);
  char *const rest = bytes + pointers;
  memset(bytes, 0, pointers);
  read_bytes(rest, length);
  struct request request = {.id = head->id,
                            .filter = rest,
                            .filter_length = head->filter_length,
                            .plan = rest + head->filter_length,
                            .plan_length = head->plan_length};
  char *words = rest + head->filter_length + head->plan_length;
  if (words[head->words_length - 1] != '\0' || !split_words(head, words, (char **)(void *)bytes, &request))
    fail_with(EINVAL, "call", "not a request");
  return request;
}

/* The caller holds the other end of a pipe, so no opening waits. What is opened is a description of its own, and blocks. */
static bool open_standard(const char *descriptors, const struct request_head *head, int opened[standard_count]) {
  for (int at = 0; at < standard_count; at++) {
    char path[64] = "/dev/null";
    if (head->standard[at] >= 0) snprintf(path, sizeof path, "%s/%d", descriptors, head->standard[at]);
    opened[at] = open(path, (at == STDIN_FILENO ? O_RDONLY : O_WRONLY) | O_CLOEXEC);
    if (opened[at] >= 0) continue;
    while (at > 0) close(opened[--at]);
    return false;
  }
  return true;
}

static struct launch *free_place(void) {
  for (size_t at = 0; at < places; at++)
    if (launches[at].process == 0) return &launches[at];
  return places == most_launches ? NULL : &launches[places++];
}

/* The plan that was read last, and its bytes: one plan serves many launches, and nothing of a call is in it. */
static struct plan *last;
static char *last_bytes = NULL;
static size_t last_length = 0;

/* False where the plan is not well-formed: its launch says so. */
static bool read_plan(const struct request *request) {
  struct plan_fault fault;
  const size_t length = request->plan_length;
  if (last_bytes != NULL && last_length == length && memcmp(last_bytes, request->plan, length) == 0) return true;
  if (last_bytes != NULL) memset(last, 0, sizeof *last);
  free(last_bytes);
  last_bytes = malloc(length);
  last_length = length;
  if (last_bytes == NULL) fail_with(ENOMEM, "call", "a plan");
  memcpy(last_bytes, request->plan, length);
  if (parse_plan(last_bytes, length, last, &fault)) return true;
  memset(last, 0, sizeof *last);
  last_length = 0;
  return false;
}

static void become_child(struct request *request, const int opened[standard_count], pid_t parent, int status) {
  report_to(status);
  for (int at = 0; at < standard_count; at++)
    if (dup2(opened[at], at) != at) fail("descriptors", "0, 1 or 2");
  if (setsid() < 0) fail("fork", "a session");
  /* From now on its group can be signaled. */
  if (write(status, "\n", 1) != 1) _exit(exit_launch_failed);
  request->status = status;
  request->parent = parent;
}

/* True in the process of the launch. */
static bool start_launch(const char *descriptors, struct request *request) {
  struct request_head head;
  *request = read_request(&head);
  struct launch unstarted = {.id = head.id};
  struct launch *launch = free_place();
  int opened[standard_count];
  int status[2];
  if (launch == NULL || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, status) != 0) {
    answer(&unstarted, answer_unopened, 0);
    return false;
  }
  if (!open_standard(descriptors, &head, opened)) {
    close(status[0]);
    close(status[1]);
    answer(&unstarted, answer_unopened, 0);
    return false;
  }
  request->is_read = read_plan(request);
  request->ahead = ahead_for(last);
  const pid_t parent = getpid();
  const pid_t process = fork();
  if (process == 0) {
    become_child(request, opened, parent, status[1]);
    return true;
  }
  explicit_bzero(bytes, room);
  close_ahead(&request->ahead);
  close(status[1]);
  for (int at = 0; at < standard_count; at++) close(opened[at]);
  if (process < 0) {
    close(status[0]);
    answer(&unstarted, answer_unopened, 0);
    return false;
  }
  *launch = (struct launch){.process = process, .id = head.id, .status = status[0]};
  return false;
}

/* The socket through which comes what is made for the next launch. */
static int making = no_descriptor;

static void finish(struct launch *launch) {
  if (launch->status >= 0 || !launch->is_over) return;
  answer(launch, answer_ended, (uint32_t)launch->wait_status);
  launch->process = 0;
}

/* Passes a listener on to the caller. Where that cannot be, the launch that waits for an answer sees that none comes. */
static void hand_on(const struct launch *launch, char *text, size_t length, int listener) {
  const bool is_handed = handed - answered < most_launches && send_descriptor(channel, text, length, listener);
  if (is_handed) unanswered[handed++ % most_launches] = launch->id;
  else shutdown(launch->status, SHUT_WR);
  if (listener != lost_descriptor) close(listener);
}

static void answer_listener(uint32_t id, const char *text, size_t length) {
  for (size_t at = 0; at < places; at++)
    /* It may be over by now. */
    if (launches[at].process != 0 && launches[at].id == id && launches[at].status >= 0)
      send(launches[at].status, text, length, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* A line is the answer to one listener. */
static void read_channel(void) {
  char piece[1024];
  const ssize_t got = recv(channel, piece, sizeof piece, 0);
  if (got < 0 && errno == EINTR) return;
  if (got <= 0) end_with_caller();
  const char *const end = piece + got;
  for (const char *text = piece; text < end;) {
    if (answered == handed) fail_with(EPROTO, "network", "an answer without a listener");
    const char *feed = memchr(text, '\n', (size_t)(end - text));
    const char *const next = feed == NULL ? end : feed + 1;
    answer_listener(unanswered[answered % most_launches], text, (size_t)(next - text));
    if (feed != NULL) answered++;
    text = next;
  }
}

/* A first line feed says that the process leads its group. With a descriptor comes what is for the caller's channel, and the rest is what a launch reports. */
static void read_status(struct launch *launch) {
  char piece[sizeof launch->text];
  int listener = no_descriptor;
  const ssize_t got = receive_descriptor(launch->status, piece, sizeof piece, &listener);
  if (got < 0 && errno == EINTR) return;
  if (got <= 0) {
    close(launch->status);
    launch->status = -1;
    answer(launch, answer_settled, 0);
    /* From now on nobody waits for this process. */
    if (launch->text_length == 0 && making < 0) making = make_ahead(last);
    finish(launch);
    return;
  }
  char *text = piece;
  size_t length = (size_t)got;
  if (launch->text_length == 0 && *text == '\n') {
    answer(launch, answer_forked, (uint32_t)launch->process);
    text++;
    length--;
  }
  if (listener != no_descriptor) {
    hand_on(launch, text, length, listener);
    return;
  }
  const size_t left = sizeof launch->text - launch->text_length;
  if (length > left) length = left;
  memcpy(launch->text + launch->text_length, text, length);
  launch->text_length += (uint32_t)length;
}

static void reap_launches(int ends) {
  struct signalfd_siginfo said;
  if (read(ends, &said, sizeof said) < 0 && errno != EINTR && errno != EAGAIN) fail("signals", NULL);
  int wait_status = 0;
  for (pid_t ended = waitpid(-1, &wait_status, WNOHANG); ended > 0; ended = waitpid(-1, &wait_status, WNOHANG))
    for (size_t at = 0; at < places; at++) {
      if (launches[at].process != ended || launches[at].is_over) continue;
      launches[at].is_over = true;
      launches[at].wait_status = wait_status;
      finish(&launches[at]);
    }
}

/* The end of a child is read from a descriptor, which is waited at with all others. */
static int watch_children(void) {
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGCHLD);
  if (sigprocmask(SIG_SETMASK, &ends, NULL) != 0) fail("signals", NULL);
  const int watched = signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK);
  if (watched < 0) fail("signals", NULL);
  return watched;
}

struct request serve(const char *descriptors, struct plan *plan) {
  enum { others = 4 };
  static struct pollfd waits[most_launches + others];
  static struct launch *waiting[most_launches + others];
  const pid_t parent = getppid();
  become_opaque();
  if (kernel_close_range(channel + 1, ~0u, 0) != 0 || fcntl(caller, F_SETFD, FD_CLOEXEC) != 0 ||
      fcntl(channel, F_SETFD, FD_CLOEXEC) != 0)
    fail("descriptors", "closing");
  reset_dispositions();
  die_with_parent(parent, caller);
  waits[0] = (struct pollfd){.fd = caller, .events = POLLIN};
  waits[1] = (struct pollfd){.fd = watch_children(), .events = POLLIN};
  waits[2] = (struct pollfd){.fd = channel, .events = POLLIN};
  last = plan;
  for (;;) {
    waits[3] = (struct pollfd){.fd = making, .events = POLLIN};
    nfds_t count = others;
    for (size_t at = 0; at < places; at++) {
      if (launches[at].process == 0 || launches[at].status < 0) continue;
      waiting[count] = &launches[at];
      waits[count++] = (struct pollfd){.fd = launches[at].status, .events = POLLIN};
    }
    if (poll(waits, count, -1) < 0 && errno != EINTR) fail("call", "waiting");
    for (nfds_t at = others; at < count; at++)
      if (waits[at].revents != 0) read_status(waiting[at]);
    if (waits[1].revents != 0) reap_launches(waits[1].fd);
    if (waits[2].revents != 0) read_channel();
    if (waits[3].revents != 0 && take_ahead(making)) making = no_descriptor;
    struct request request;
    if (waits[0].revents != 0 && start_launch(descriptors, &request)) return request;
  }
}
