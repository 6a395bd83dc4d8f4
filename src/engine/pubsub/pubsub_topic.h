/* pubsub_topic.h -- who is subscribed to one name: a channel, a shard channel or a pattern.
 *
 * The subscribers are an array of clients without gaps, so that a message goes to them by walking it. Who comes is
 * put at its end, and the last takes the place of who goes: order among subscribers changes, which none of them can
 * see, for each has a connection of its own.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_PUBSUB_TOPIC_H
#define ENGINE_PUBSUB_TOPIC_H

#include "client.h"

typedef struct topic {
    client **clients;             /* owns the array: `count` subscribers */
    struct subscription **places; /* owns the array: the subscription of each */
    uint32_t count, capacity;
    uint64_t version; /* of these clients: no two sets of subscribers, of this topic or another one, have the same */
    uint64_t hash;    /* of its name */
    slice name;       /* lies behind the topic, in the same allocation */
} topic;

/* What a client and a topic have in common: by it each is found in the other. */
typedef struct subscriptionPair {
    const client *c; /* borrowed: leaves before it is freed */
    topic *t;        /* borrowed: lives as long as it has subscribers */
} subscriptionPair;

typedef struct subscription {
    subscriptionPair pair;
    struct subscription *prev, *next; /* of the same client and kind, in order of subscribing */
    uint32_t at;                      /* in the topic's arrays */
} subscription;

/* Fill in a topic that nobody is subscribed to; its name is copied to `room`. */
void topicInit(topic *t, hashedKey name, char *room);
/* Give back its arrays: nobody is subscribed any more. */
void topicClear(topic *t);
/* The client subscribes, by `s`, whose pair says so, or does no longer. Cost: a few stores. */
void topicJoin(topic *t, client *c, subscription *s);
void topicLeave(topic *t, const subscription *s);
/* Assert what holds of it. */
void topicCheck(const topic *t);

#endif
