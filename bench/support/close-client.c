// Asks for one thing over and over, each time on a connection of its own, with one thread: what a server costs that ends each connection.
//
//   close-client <port> <connections> <requests> <request>
//
// So many requests are made, as many at a time as there are connections. What arrives is read into one buffer and counted; every response
// must begin with the status 200 and be as long as the first. Prints the microseconds that it took and those of the processor, as one line
// of JSON.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { batch_size = 64, buffer_bytes = 256 * 1024 };

static const char success[] = "HTTP/1.1 200";
enum { success_bytes = sizeof success - 1 };

struct exchange {
  int fd;
  int64_t received;
};

struct client {
  struct sockaddr_in server;
  const char *request;
  size_t request_bytes;
  int epoll;
  int64_t length; // of a response; 0 before the first has ended
  int64_t unasked;
  int64_t unanswered;
  char *buffer;
};

static void fail(const char *what) {
  fprintf(stderr, "%s: %s\n", what, strerror(errno));
  exit(1);
}

static int64_t now_us(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static int64_t cpu_us(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return (int64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000 + usage.ru_utime.tv_usec + usage.ru_stime.tv_usec;
}

static void begin(struct client *client, struct exchange *exchange) {
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) fail("socket");
  int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  // On this machine a listening server accepts at once.
  if (connect(fd, (struct sockaddr *)&client->server, sizeof client->server) < 0) fail("connect");
  if (send(fd, client->request, client->request_bytes, MSG_NOSIGNAL) != (ssize_t)client->request_bytes) fail("send");
  struct epoll_event event = {.events = EPOLLIN, .data.ptr = exchange};
  if (epoll_ctl(client->epoll, EPOLL_CTL_ADD, fd, &event) < 0) fail("epoll_ctl");
  exchange->fd = fd;
  exchange->received = 0;
  client->unasked -= 1;
}

static void end(struct client *client, struct exchange *exchange) {
  if (client->length == 0) client->length = exchange->received;
  if (exchange->received != client->length || client->length == 0) {
    fprintf(stderr, "a response of %lld bytes where %lld were expected\n", (long long)exchange->received, (long long)client->length);
    exit(1);
  }
  close(exchange->fd);
  client->unanswered -= 1;
  if (client->unasked > 0) begin(client, exchange);
}

static void take(struct client *client, struct exchange *exchange) {
  ssize_t got = recv(exchange->fd, client->buffer, buffer_bytes, MSG_DONTWAIT);
  if (got < 0) {
    if (errno == EAGAIN || errno == EINTR) return;
    fail("recv");
  }
  if (got == 0) {
    end(client, exchange);
    return;
  }
  if (exchange->received == 0 && (got < success_bytes || memcmp(client->buffer, success, success_bytes) != 0)) {
    fprintf(stderr, "not a success: %.*s\n", (int)(got < 400 ? got : 400), client->buffer);
    exit(1);
  }
  exchange->received += got;
}

int main(int argc, char **argv) {
  if (argc != 5) {
    fprintf(stderr, "close-client <port> <connections> <requests> <request>\n");
    return 2;
  }
  int connections = atoi(argv[2]);
  struct client client = {
      .server = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(argv[1])), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)},
      .request = argv[4],
      .request_bytes = strlen(argv[4]),
      .epoll = epoll_create1(EPOLL_CLOEXEC),
      .unasked = atoll(argv[3]),
      .unanswered = atoll(argv[3]),
      .buffer = malloc(buffer_bytes),
  };
  struct exchange *exchanges = calloc((size_t)connections, sizeof *exchanges);
  if (client.epoll < 0 || client.buffer == NULL || exchanges == NULL) fail("start");
  int64_t began = now_us();
  for (int index = 0; index < connections && client.unasked > 0; index += 1) begin(&client, &exchanges[index]);
  struct epoll_event events[batch_size];
  while (client.unanswered > 0) {
    int count = epoll_wait(client.epoll, events, batch_size, -1);
    if (count < 0 && errno != EINTR) fail("epoll_wait");
    for (int index = 0; index < count; index += 1) take(&client, events[index].data.ptr);
  }
  printf("{\"elapsedUs\":%lld,\"cpuUs\":%lld}\n", (long long)(now_us() - began), (long long)cpu_us());
  return 0;
}
