/* pubsub.h -- publish and subscribe: which client listens to which channels and patterns.
 *
 * Order of delivery: subscribers of the channel before those of patterns, so that a client which is both gets the one
 * before the others; patterns with a shorter literal beginning come first, else in no order. Between clients there is
 * none.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_PUBSUB_H
#define ENGINE_PUBSUB_H

#include "pubsub_message.h"
#include "pubsub_topic.h"

typedef enum { PUBSUB_CHANNEL, PUBSUB_PATTERN, PUBSUB_SHARD_CHANNEL, PUBSUB_KINDS } pubsubKind;

/* Boot: subscriptions end with the client, and with RESET. */
void pubsubInit(void);

/* The client listens to that name, if it did not already. False when there is no memory for the name. */
bool pubsubSubscribe(client *c, pubsubKind kind, hashedKey name) must_check;
/* It listens to it no longer, if it did. */
void pubsubUnsubscribe(client *c, pubsubKind kind, hashedKey name);
/* The client listens to nothing any more. Not while a message is delivered. */
void pubsubEnd(client *c);
/* The name of that kind that the client has subscribed to first; NULL: it listens to none. */
const topic *pubsubFirst(const client *c, pubsubKind kind);
/* Whether `fn` says yes to one of its subscriptions; it asks no more then. */
bool pubsubAny(const client *c, bool (*fn)(const client *c, pubsubKind kind, slice name));
/* Subscriptions of the client. */
size_t pubsubCount(const client *c, pubsubKind kind);

/* Deliver a message to those who listen to `channel`, a channel or shard channel; those of patterns hear of channels
 * only. m->channel is set here; m->receivers and m->failed tell how it went. Takes what the message holds. */
void pubsubPublish(pubsubKind kind, hashedKey channel, pubsubMessage *m);

/* How many names of that kind somebody listens to; how many clients to that one; and each of them but patterns. */
size_t pubsubNames(pubsubKind kind);
size_t pubsubSubscribers(pubsubKind kind, hashedKey name);
void pubsubEachName(pubsubKind kind, void (*fn)(void *arg, slice name), void *arg);
/* Assert the numbered invariants of pubsub.c and those of the topics. */
void pubsubCheck(void);

#endif
