/* pubsub_message.h -- one message while it is delivered to subscribers.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_PUBSUB_MESSAGE_H
#define ENGINE_PUBSUB_MESSAGE_H

#include "pubsub_topic.h"

/* A message, which is delivered to a channel's subscribers and then to those of each matching pattern. The caller sets
 * the first fields, up to `argument`, and clears the others. Borrows everything until pubsubMessageEnd(). */
typedef struct pubsubMessage {
    slice channel, payload;
    client *from; /* the payload is argument `argument` of this client's running command; NULL: of none */
    uint32_t argument;
    /* Counted: a large payload or channel name as a value that the subscribers' replies refer to. Created when
     * needed. */
    robj *shared, *shared_channel;
    size_t receivers; /* so far */
    bool failed;      /* there was not enough memory to deliver it to all */
} pubsubMessage;

/* The parts of a message besides channel and payload: "message", "smessage", or "pmessage" and the pattern. */
typedef struct pubsubHeading {
    slice kind, pattern; /* pattern.ptr is NULL if there is none */
} pubsubHeading;

/* Delivers the message to the subscribers of a topic. Output limits may mark some of them to be closed; none is freed
 * here. */
void pubsubMessageDeliver(pubsubMessage *m, pubsubHeading heading, const topic *t);
/* Releases the values of the message. */
void pubsubMessageEnd(pubsubMessage *m);

#endif
