#define _GNU_SOURCE
#include "egress.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "report.h"

enum { backlog = 128, answer_within_ms = 10000 };

static int listen_on(uint16_t port) {
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (listener < 0) fail("network", "socket");
  if (bind(listener, (const struct sockaddr *)&address, sizeof address) != 0) fail("network", "bind");
  if (listen(listener, backlog) != 0) fail("network", "listen");
  return listener;
}

/* The union gives the buffer the alignment that the header in it needs. */
union control {
  struct cmsghdr header;
  char bytes[CMSG_SPACE(sizeof(int))];
};

bool send_descriptor(int channel, char *bytes, size_t length, int descriptor) {
  union control control;
  memset(&control, 0, sizeof control);
  struct iovec part = {.iov_base = bytes, .iov_len = length};
  struct msghdr message = {
      .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes};
  struct cmsghdr *header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof descriptor);
  memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
  return sendmsg(channel, &message, MSG_NOSIGNAL) == (ssize_t)length;
}

ssize_t receive_descriptor(int channel, char *bytes, size_t room, int *descriptor) {
  union control control;
  struct iovec part = {.iov_base = bytes, .iov_len = room};
  struct msghdr message = {
      .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes};
  const ssize_t got = recvmsg(channel, &message, MSG_CMSG_CLOEXEC);
  *descriptor = no_descriptor;
  if (got < 0) return got;
  const struct cmsghdr *header = CMSG_FIRSTHDR(&message);
  if ((message.msg_flags & MSG_CTRUNC) != 0) *descriptor = lost_descriptor;
  else if (header != NULL && header->cmsg_type == SCM_RIGHTS) memcpy(descriptor, CMSG_DATA(header), sizeof *descriptor);
  return got;
}

static int64_t now_ms(void) {
  struct timespec now;
  if (clock_gettime(CLOCK_MONOTONIC, &now) != 0) fail("network", "the clock");
  return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Waits until there is something to read. */
static void await_input(int channel, int64_t deadline) {
  for (;;) {
    const int64_t left = deadline - now_ms();
    if (left <= 0) fail_with(ETIMEDOUT, "network", "no answer to the listener");
    struct pollfd wait = {.fd = channel, .events = POLLIN};
    const int ready = poll(&wait, 1, (int)left);
    if (ready > 0) return;
    if (ready < 0 && errno != EINTR) fail("network", "waiting for an answer");
  }
}

static void await_acknowledgement(int channel) {
  static const char expected[] = "{\"cmd\":\"NODE_HANDLE_ACK\"}\n";
  char answer[sizeof expected];
  size_t length = 0;
  const int64_t deadline = now_ms() + answer_within_ms;
  while (length < sizeof expected - 1) {
    await_input(channel, deadline);
    const ssize_t got = recv(channel, answer + length, sizeof expected - 1 - length, MSG_DONTWAIT);
    if (got == 0) fail_with(EPIPE, "network", "no answer to the listener");
    if (got < 0 && errno != EAGAIN && errno != EINTR) fail("network", "reading the answer");
    if (got > 0) length += (size_t)got;
    if (memcmp(answer, expected, length) != 0) fail_with(EPROTO, "network", "the listener was not taken");
  }
}

void hand_over_listener(uint16_t port, int channel, uint32_t id) {
  char text[96];
  const int listener = listen_on(port);
  const int length = snprintf(text, sizeof text, "{\"cmd\":\"NODE_HANDLE\",\"type\":\"net.Server\",\"msg\":%u}\n", id);
  if (!send_descriptor(channel, text, (size_t)length, listener)) fail("network", "handing over the listener");
  await_acknowledgement(channel);
  close(listener);
}
