/* pubsub_message.h -- one message on its way to subscribers.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_PUBSUB_MESSAGE_H
#define ENGINE_PUBSUB_MESSAGE_H

#include "pubsub_topic.h"

/* A message as it is delivered to a channel's subscribers and then to those of each pattern. Starts with the first two
 * fields; everything is borrowed until pubsubMessageEnd(). */
typedef struct pubsubMessage {
    slice channel, payload;
    client *from; /* whose running command brings the payload as argument `argument`; NULL: nobody's */
    uint32_t argument;
    /* Counted: a large payload, or name of a channel, as a value that the subscribers' replies refer to; made when
     * needed. */
    robj *shared, *shared_channel;
    size_t receivers; /* so far */
    bool failed;      /* there was no memory to deliver it to all */
} pubsubMessage;

/* What subscribers are told beside channel and payload: "message", "smessage" or "pmessage" and the pattern. */
typedef struct pubsubHeading {
    slice kind, pattern; /* pattern.ptr NULL: none */
} pubsubHeading;

/* Deliver the message to the subscribers of a topic. Output limits may ask for the end of some of them; none is freed
 * here. */
void pubsubMessageDeliver(pubsubMessage *m, pubsubHeading heading, const topic *t);
void pubsubMessageEnd(pubsubMessage *m);

#endif
