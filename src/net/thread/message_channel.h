/* message_channel.h -- messages from one thread to another: a ring, and an array for what does not fit.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef NET_MESSAGE_CHANNEL_H
#define NET_MESSAGE_CHANNEL_H

#include "messages.h"
#include "spsc_queue.h"

typedef struct messageChannel {
    spscQueue ring;
    ioMessage *overflow; /* producer: owns; messages from overflow_first on wait for free slots */
    size_t overflow_len, overflow_cap, overflow_first;
} messageChannel;

/* Allocates the ring. */
void messageChannelInit(messageChannel *ch);
/* Frees the channel, which must be empty. */
void messageChannelDestroy(messageChannel *ch);
/* For the producer: appends a message; never fails. The consumer sees it after messageChannelCommit(). */
void messageChannelPost(messageChannel *ch, const ioMessage *m);
/* For the producer: moves overflowed messages into free slots of the ring, and publishes. Returns whether any message
 * was published. */
bool messageChannelCommit(messageChannel *ch);
/* For the producer: returns whether messages wait for free slots of the ring. */
bool messageChannelHasOverflow(const messageChannel *ch);

#endif
