#ifndef SVC_LAUNCH_EGRESS_H
#define SVC_LAUNCH_EGRESS_H

#include <stdint.h>

/* Listens on the loopback and hands the socket over through Node's channel, which it closes. Returns once Node has it. */
void hand_over_listener(uint16_t port, int channel);

#endif
