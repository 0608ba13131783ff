#ifndef SVC_LAUNCH_EGRESS_H
#define SVC_LAUNCH_EGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Listens on the loopback and hands the socket over with this number, through Node's channel or by way of who passes it on there. Returns once Node has it. */
void hand_over_listener(uint16_t port, int channel, uint32_t id);

/* Sends some bytes in one message with a descriptor. False leaves the reason in errno. */
bool send_descriptor(int channel, char *bytes, size_t length, int descriptor);

enum { no_descriptor = -1, lost_descriptor = -2 };

/* As recv does. `descriptor` is the one that came with the last of the bytes, `no_descriptor`, or `lost_descriptor` when there was no room for one. */
ssize_t receive_descriptor(int channel, char *bytes, size_t room, int *descriptor);

#endif
