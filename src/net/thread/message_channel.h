/* message_channel.h -- messages from one thread to another: a ring, and a place for what does not fit.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef NET_MESSAGE_CHANNEL_H
#define NET_MESSAGE_CHANNEL_H

#include "messages.h"
#include "spsc_queue.h"

typedef struct messageChannel {
    spscQueue ring;
    ioMessage *overflow; /* producer: owns; from overflow_first on it waits for room in the ring */
    size_t overflow_len, overflow_cap, overflow_first;
} messageChannel;

void messageChannelInit(messageChannel *ch);
void messageChannelDestroy(messageChannel *ch);
/* Producer: append; never fails. Visible to the consumer after messageChannelCommit(). */
void messageChannelPost(messageChannel *ch, const ioMessage *m);
/* Producer: move what did not fit into the ring as far as there is room, and publish. True if anything was. */
bool messageChannelCommit(messageChannel *ch);
/* Producer: messages wait for room. */
bool messageChannelHasOverflow(const messageChannel *ch);

#endif
