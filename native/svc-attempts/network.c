/* Attempts to reach the network, or other programs through sockets. */
#define _GNU_SOURCE
#include "attempts.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

enum { protocol_mptcp = 262, family_vsock = 40, every_protocol = 0x0300, proxy_port = 3128, longest_wait_seconds = 5 };

static struct sockaddr_in address_of(const char *host, const char *port) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)strtoul(port, NULL, 10))};
  if (inet_pton(AF_INET, host, &address.sin_addr) != 1) not_prepared(host);
  return address;
}

static int patient(int socket) {
  const struct timeval most = {.tv_sec = longest_wait_seconds, .tv_usec = 0};
  if (socket >= 0 && setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most) != 0) not_prepared("a time-out");
  return socket;
}

/* The secret is what a server of the host greets with. */
static int greeted_over(int protocol, char *const *operands) {
  struct sockaddr_in address = address_of(operands[0], operands[1]);
  int client = patient(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, protocol));
  if (client < 0 || connect(client, (struct sockaddr *)&address, sizeof address) != 0) return -1;
  return holds(client, operands[2]);
}

static int connect_tcp(char *const *operands) { return greeted_over(0, operands); }

static int connect_mptcp(char *const *operands) { return greeted_over(protocol_mptcp, operands); }

static int fast_open(char *const *operands) {
  struct sockaddr_in address = address_of(operands[0], operands[1]);
  int client = patient(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (client < 0 || sendto(client, "x", 1, MSG_FASTOPEN | MSG_NOSIGNAL, (struct sockaddr *)&address, sizeof address) < 0) return -1;
  return holds(client, operands[2]);
}

static size_t read_head(int from, char *bytes, size_t most) {
  size_t total = 0;
  for (ssize_t size = 1; size > 0 && total < most - 1; total += (size_t)size) {
    bytes[total] = '\0';
    if (strstr(bytes, "\r\n\r\n") != NULL) break;
    size = read(from, bytes + total, 1);
    if (size < 0) break;
  }
  bytes[total] = '\0';
  return total;
}

/* Through the proxy that is the only way out where there is one. */
static int connect_by_proxy(char *const *operands) {
  static char status[16];
  char request[1024], head[4096];
  struct sockaddr_in proxy = {.sin_family = AF_INET, .sin_port = htons(proxy_port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
  int client = patient(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (client < 0 || connect(client, (struct sockaddr *)&proxy, sizeof proxy) != 0) return -1;
  int size = snprintf(request, sizeof request, "CONNECT %s:%s HTTP/1.1\r\nHost: %s:%s\r\n\r\n", operands[0], operands[1], operands[0],
                      operands[1]);
  if (write(client, request, (size_t)size) != size) return -1;
  if (read_head(client, head, sizeof head) < 12) return refused_as("silently");
  if (strncmp(head, "HTTP/1.1 200", 12) == 0) return holds(client, operands[2]);
  snprintf(status, sizeof status, "http-%.3s", head + 9);
  return refused_as(status);
}

/* The secret is what a server of the host answers a datagram with. */
static int ask_udp(char *const *operands) {
  struct sockaddr_in address = address_of(operands[0], operands[1]);
  int client = patient(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (client < 0 || sendto(client, "?", 1, 0, (struct sockaddr *)&address, sizeof address) != 1) return -1;
  return holds(client, operands[2]);
}

static int makes(int family, int type, int protocol) {
  own_namespaces(CLONE_NEWNET);
  return socket(family, type, protocol) < 0 ? -1 : 0;
}

static int raw(char *const *operands) {
  (void)operands;
  return makes(AF_INET, SOCK_RAW, IPPROTO_ICMP);
}

static int packet(char *const *operands) {
  (void)operands;
  return makes(AF_PACKET, SOCK_RAW, every_protocol);
}

static int netlink(char *const *operands) {
  (void)operands;
  return makes(AF_NETLINK, SOCK_RAW, 0);
}

static int vsock(char *const *operands) {
  (void)operands;
  return makes(family_vsock, SOCK_STREAM, 0);
}

/* A name that begins with `@` is one in the abstract space, where some servers fill up the rest of the address. */
static int connect_unix(char *const *operands) {
  struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = {0}};
  size_t size = strlen(operands[0]);
  int is_abstract = operands[0][0] == '@';
  if (size >= sizeof address.sun_path) not_prepared("the name of the socket");
  memcpy(address.sun_path, operands[0], size);
  if (is_abstract) address.sun_path[0] = '\0';
  int client = patient(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (client < 0) return -1;
  socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + size);
  int failed = connect(client, (struct sockaddr *)&address, length);
  if (failed && is_abstract && errno == ECONNREFUSED) failed = connect(client, (struct sockaddr *)&address, sizeof address);
  return failed ? -1 : holds(client, operands[1]);
}

/* On an address of the kernel's choice where it may not choose one. */
static int listen_tcp(char *const *operands) {
  (void)operands;
  const struct sockaddr_in any = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (server < 0) return -1;
  if (bind(server, (const struct sockaddr *)&any, sizeof any) != 0) errno = 0;
  return listen(server, 1);
}

/* Its ends can send to every named socket. */
static int pair_datagram(char *const *operands) {
  (void)operands;
  int ends[2];
  return socketpair(AF_UNIX, SOCK_DGRAM, 0, ends);
}

const struct attempt network_attempts[] = {
  {"connect-tcp", 3, connect_tcp},
  {"connect-mptcp", 3, connect_mptcp},
  {"fast-open", 3, fast_open},
  {"connect-by-proxy", 3, connect_by_proxy},
  {"ask-udp", 3, ask_udp},
  {"raw-socket", 0, raw},
  {"packet-socket", 0, packet},
  {"netlink-socket", 0, netlink},
  {"vsock-socket", 0, vsock},
  {"connect-unix", 2, connect_unix},
  {"listen-tcp", 0, listen_tcp},
  {"datagram-pair", 0, pair_datagram},
  {NULL, 0, NULL},
};
