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
    client **clients;                    /* owns the array of `count` subscribers */
    struct subscription **subscriptions; /* owns the array; the subscription of each client */
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

/* Initializes a topic without subscribers; copies its name to `name_bytes`, which has name.len of them. */
void topicInit(topic *t, hashedKey name, char *name_bytes);
/* Frees the arrays of a topic that has no subscribers any more. */
void topicClear(topic *t);
/* Add and remove a subscriber. `s` is its subscription, whose pair is set. Cost: a few stores, and now and then a
 * resize of the arrays. */
void topicJoin(topic *t, client *c, subscription *s);
void topicLeave(topic *t, const subscription *s);
/* Asserts the invariants. */
void topicCheck(const topic *t);

/* --- The patterns that have subscribers, found by their text or by a channel that they match (pubsub_patterns.c) -- */

#define PATTERN_BYTES 96 /* size of a pattern in addition to its topic and name: its group and its part of the tree */

/* Returns the pattern with this text, or NULL. */
topic *patternsFind(hashedKey text);
/* Adds a pattern, which must be absent. Returns NULL if there is no memory for the text. */
topic *patternsAdd(hashedKey text) must_check;
/* Removes and frees a pattern that has no subscribers any more. */
void patternsRemove(topic *t);
/* Calls `fn` for each pattern that matches the channel: those with a shorter literal prefix first, otherwise in no
 * order. `fn` must not add or remove patterns. */
void patternsMatch(slice channel, void (*fn)(void *arg, topic *t), void *arg);
/* Returns the number of different patterns. */
size_t patternsCount(void);
/* Asserts the invariants of the index. */
void patternsCheck(void);

/* --- One message while it is delivered to subscribers (pubsub_message.c) ------------------------------------------ */

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
