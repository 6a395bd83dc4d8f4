/* pubsub_topic.h -- a topic: the subscribers of one name, which is a channel, a shard channel or a pattern.
 *
 * The subscribers are an array of clients without gaps, which is walked to send them a message. A new subscriber is
 * appended, and the last one moves to the slot of one that leaves. That changes their order, which none of them can
 * notice, as each has a connection of its own.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_PUBSUB_TOPIC_H
#define ENGINE_PUBSUB_TOPIC_H

#include "client.h"

typedef struct topic {
    client **clients;             /* owns the array of `count` subscribers */
    struct subscription **places; /* owns the array; the subscription of each client */
    uint32_t count, capacity;
    uint64_t version; /* changes with the subscribers; no two sets of
                       * subscribers, of this topic or others, have the same */
    uint64_t hash;    /* of its name */
    slice name;       /* stored after the topic, in the same allocation */
} topic;

/* The key by which a subscription is found. */
typedef struct subscriptionPair {
    const client *c; /* borrowed: it unsubscribes before it is freed */
    topic *t;        /* borrowed: exists as long as it has subscribers */
} subscriptionPair;

typedef struct subscription {
    subscriptionPair pair;
    struct subscription *prev, *next; /* of the same client and kind, in order of subscribing */
    uint32_t at;                      /* index in the topic's arrays */
} subscription;

/* Initializes a topic without subscribers; copies its name to `room`, which has name.len bytes. */
void topicInit(topic *t, hashedKey name, char *room);
/* Frees the arrays of a topic that has no subscribers any more. */
void topicClear(topic *t);
/* Add and remove a subscriber. `s` is its subscription, whose pair is set. Cost: a few stores, and now and then a
 * resize of the arrays. */
void topicJoin(topic *t, client *c, subscription *s);
void topicLeave(topic *t, const subscription *s);
/* Asserts the invariants. */
void topicCheck(const topic *t);

#endif
