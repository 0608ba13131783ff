// Watches event streams on many connections with one thread, so that a server in JavaScript is slower than its client.
//
//   sse-client <port> <watchers> <stalled> <frames> <rest> <seconds> <request>
//
// A frame is counted by its mark: '~', nine digits of its number (from 100000000), fifteen digits of the microsecond it was published in
// (from 100000000000000, CLOCK_MONOTONIC). Frames of one watcher are counted from the
// first number on, and must come in order and without a gap.
//
// Says `stalled` once that many connections are open which will never be read, and opens the watchers after a line on stdin. Says `ready`
// once every watcher has the head of a 200 response. Rests for so many microseconds after each look at the sockets: what has gathered
// meanwhile costs one read, so a client that need not be prompt can keep up with any server. Ends with one line of JSON when every watcher has all frames, when the seconds have
// passed since the last frame, or, where no frames are awaited, when stdin ends.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { number_digits = 9, mark_digits = 24, batch_size = 128, latency_slots = 4000000, stalled_receive_bytes = 4096 };

static const int64_t first_number = 100000000;
static const int64_t stamp_offset = 100000000000000;
static const char success[] = "HTTP/1.1 200";
static const char head_end[] = "\r\n\r\n";

struct watcher {
  int fd;
  int head_matched;    // bytes of `success` seen so far, then all of them
  int head_end_matched; // bytes of `head_end` seen so far
  int digits_left;     // of the mark being read; 0 between marks
  int64_t number;
  int64_t stamp;
  int64_t frames;
};

struct tally {
  int64_t frames;
  int64_t disordered;
  int64_t awaited; // by each watcher
  int complete;
  int heads;
  int64_t first_stamp_us;
  int64_t last_frame_us;
  uint32_t *latency; // frames by microseconds from publication to the read that brought them
};

static void fail(const char *what) {
  fprintf(stderr, "%s: %s\n", what, strerror(errno));
  exit(1);
}

static void refuse(const char *why) {
  fprintf(stderr, "%s\n", why);
  exit(1);
}

static int64_t now_us(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * INT64_C(1000000) + now.tv_nsec / 1000;
}

static int64_t cpu_us(void) {
  struct rusage use;
  getrusage(RUSAGE_SELF, &use);
  return (use.ru_utime.tv_sec + use.ru_stime.tv_sec) * INT64_C(1000000) + use.ru_utime.tv_usec + use.ru_stime.tv_usec;
}

static int64_t argument(const char *text, int64_t most) {
  char *end;
  long long value = strtoll(text, &end, 10);
  if (*text == '\0' || *end != '\0' || value < 0 || value > most) refuse("an argument is not a number in range");
  return value;
}

static void allow_descriptors(int64_t wanted) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) fail("getrlimit");
  if (limit.rlim_max < (rlim_t)wanted) {
    fprintf(stderr, "the limit of open files is %llu where %lld are needed: raise it with ulimit -n\n",
            (unsigned long long)limit.rlim_max, (long long)wanted);
    exit(1);
  }
  limit.rlim_cur = limit.rlim_max;
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0) fail("setrlimit");
}

static int open_connection(uint16_t port, const char *request, int receive_bytes) {
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) fail("socket");
  if (receive_bytes > 0 && setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &receive_bytes, sizeof receive_bytes) != 0) fail("SO_RCVBUF");
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
  if (connect(fd, (struct sockaddr *)&address, sizeof address) != 0) fail("connect");
  size_t length = strlen(request);
  if (send(fd, request, length, MSG_NOSIGNAL) != (ssize_t)length) fail("send");
  return fd;
}

// Returns what follows the head, or NULL while the head has not ended.
static const char *skip_head(struct watcher *watcher, const char *at, const char *end, struct tally *tally) {
  for (; at < end; at++) {
    if (success[watcher->head_matched] != '\0') {
      if (*at != success[watcher->head_matched]) refuse("the server did not answer with 200");
      watcher->head_matched++;
      continue;
    }
    if (*at == head_end[watcher->head_end_matched]) watcher->head_end_matched++;
    else watcher->head_end_matched = *at == head_end[0] ? 1 : 0;
    if (head_end[watcher->head_end_matched] != '\0') continue;
    tally->heads++;
    return at + 1;
  }
  return NULL;
}

static void count_frame(struct watcher *watcher, struct tally *tally, int64_t read_at_us) {
  // What a server shows of an earlier round to who comes now is no frame of this one.
  if (watcher->frames == 0 && watcher->number != first_number) return;
  if (watcher->number - first_number != watcher->frames) tally->disordered++;
  int64_t stamp_us = watcher->stamp - stamp_offset;
  if (tally->frames == 0) tally->first_stamp_us = stamp_us;
  int64_t latency_us = read_at_us - stamp_us;
  if (latency_us < 0) latency_us = 0;
  if (latency_us >= latency_slots) latency_us = latency_slots - 1;
  tally->latency[latency_us]++;
  tally->last_frame_us = read_at_us;
  tally->frames++;
  watcher->frames++;
  if (watcher->frames == tally->awaited) tally->complete++;
}

static void count_marks(struct watcher *watcher, const char *at, const char *end, struct tally *tally, int64_t read_at_us) {
  while (at < end) {
    if (watcher->digits_left == 0) {
      at = memchr(at, '~', (size_t)(end - at));
      if (at == NULL) return;
      at++;
      watcher->digits_left = mark_digits;
      watcher->number = 0;
      watcher->stamp = 0;
    }
    for (; watcher->digits_left > 0 && at < end; at++, watcher->digits_left--) {
      int digit = *at - '0';
      if (digit < 0 || digit > 9) refuse("a mark holds something else than digits");
      if (watcher->digits_left > mark_digits - number_digits) watcher->number = watcher->number * 10 + digit;
      else watcher->stamp = watcher->stamp * 10 + digit;
      if (watcher->digits_left == 1) count_frame(watcher, tally, read_at_us);
    }
  }
}

static void read_watcher(struct watcher *watcher, struct tally *tally) {
  static char buffer[256 * 1024];
  ssize_t length = recv(watcher->fd, buffer, sizeof buffer, MSG_DONTWAIT);
  if (length < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (length < 0) fail("recv");
  if (length == 0) refuse("the server closed a stream");
  const char *body = buffer;
  if (head_end[watcher->head_end_matched] != '\0') body = skip_head(watcher, buffer, buffer + length, tally);
  if (body != NULL) count_marks(watcher, body, buffer + length, tally, now_us());
}

// Returns false when nothing came in that time.
static bool read_events(int poll, struct tally *tally, int timeout_ms) {
  struct epoll_event events[256];
  int count = epoll_wait(poll, events, 256, timeout_ms);
  if (count < 0 && errno != EINTR) fail("epoll_wait");
  for (int index = 0; index < count; index++) read_watcher(events[index].data.ptr, tally);
  return count > 0;
}

static void open_watchers(struct watcher *watchers, int count, int poll, uint16_t port, const char *request, struct tally *tally, int timeout_ms) {
  for (int opened = 0; opened < count;) {
    // A batch at a time: the kernel's queue of connections that wait to be accepted is short.
    for (int left = batch_size; left > 0 && opened < count; left--, opened++) {
      watchers[opened].fd = open_connection(port, request, 0);
      struct epoll_event event = {.events = EPOLLIN, .data = {.ptr = &watchers[opened]}};
      if (epoll_ctl(poll, EPOLL_CTL_ADD, watchers[opened].fd, &event) != 0) fail("epoll_ctl");
    }
    while (tally->heads < opened)
      if (!read_events(poll, tally, timeout_ms)) refuse("the server did not answer every watcher");
  }
}

static void say(const char *word) {
  puts(word);
  if (fflush(stdout) != 0) fail("stdout");
}

static void await_line(void) {
  for (int byte = getchar(); byte != '\n' && byte != EOF; byte = getchar()) continue;
}

static int64_t percentile_us(const struct tally *tally, double share) {
  int64_t wanted = (int64_t)((double)tally->frames * share);
  int64_t seen = 0;
  for (int us = 0; us < latency_slots; us++) {
    seen += tally->latency[us];
    if (seen > wanted) return us;
  }
  return -1;
}

int main(int count, char **arguments) {
  if (count != 8) refuse("usage: sse-client <port> <watchers> <stalled> <frames> <rest> <seconds> <request>");
  uint16_t port = (uint16_t)argument(arguments[1], 65535);
  int watcher_count = (int)argument(arguments[2], 1000000);
  int stalled = (int)argument(arguments[3], 1000000);
  struct tally tally = {.awaited = argument(arguments[4], 100000000)};
  struct timespec rest = {.tv_nsec = argument(arguments[5], 999999) * 1000};
  int timeout_ms = (int)argument(arguments[6], 600) * 1000;
  const char *request = arguments[7];

  allow_descriptors((int64_t)watcher_count + stalled + 16);
  tally.latency = calloc(latency_slots, sizeof *tally.latency);
  struct watcher *watchers = calloc((size_t)watcher_count + 1, sizeof *watchers);
  int poll = epoll_create1(EPOLL_CLOEXEC);
  if (tally.latency == NULL || watchers == NULL || poll < 0) fail("start");

  if (stalled > 0) {
    for (int index = 0; index < stalled; index++) open_connection(port, request, stalled_receive_bytes);
    say("stalled");
    await_line();
  }
  open_watchers(watchers, watcher_count, poll, port, request, &tally, timeout_ms);
  int64_t cpu_before = cpu_us();
  say("ready");

  if (tally.awaited == 0) await_line();
  else
    while (tally.complete < watcher_count && read_events(poll, &tally, timeout_ms))
      if (rest.tv_nsec > 0) nanosleep(&rest, NULL);

  printf("{\"frames\":%lld,\"complete\":%d,\"disordered\":%lld,\"elapsedUs\":%lld,\"cpuUs\":%lld,\"p50Us\":%lld,\"p99Us\":%lld}\n",
         (long long)tally.frames, tally.complete, (long long)tally.disordered, (long long)(tally.last_frame_us - tally.first_stamp_us),
         (long long)(cpu_us() - cpu_before), (long long)percentile_us(&tally, 0.5), (long long)percentile_us(&tally, 0.99));
  return 0;
}
