/* pubsub.h -- publish/subscribe: which client is subscribed to which channels and patterns.
 *
 * Order of delivery: a message goes to the subscribers of its channel before those of patterns, so that a client that
 * is both gets it first for the channel. Patterns with a shorter literal prefix come first, otherwise in no order.
 * There is no order between clients.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_PUBSUB_H
#define ENGINE_PUBSUB_H

#include "pubsub_topic.h"

typedef enum { PUBSUB_CHANNEL, PUBSUB_PATTERN, PUBSUB_SHARD_CHANNEL, PUBSUB_KINDS } pubsubKind;

/* Call at startup: subscriptions end when the client is freed or reset (RESET). */
void pubsubInit(void);

/* Subscribes the client to a channel, pattern or shard channel, unless it is subscribed. Returns false if there is no
 * memory for the name. */
bool pubsubSubscribe(client *c, pubsubKind kind, hashedKey name) must_check;
/* Unsubscribes the client from that name, if it is subscribed. */
void pubsubUnsubscribe(client *c, pubsubKind kind, hashedKey name);
/* Ends all subscriptions of the client. Do not call while a message is being delivered. */
void pubsubEnd(client *c);
/* Returns the oldest subscription of that kind; NULL if the client has none. */
const topic *pubsubFirst(const client *c, pubsubKind kind);
/* Calls `fn` for the client's subscriptions until it returns true. Returns whether it did. */
bool pubsubAny(const client *c, bool (*fn)(const client *c, pubsubKind kind, slice name));
/* Returns the number of the client's subscriptions of that kind. */
size_t pubsubCount(const client *c, pubsubKind kind);

/* Delivers a message to the subscribers of `channel`, a channel or shard channel, and, for a channel, to those of
 * matching patterns. Sets m->channel, m->receivers and m->failed. Releases the values that the message owns. */
void pubsubPublish(pubsubKind kind, hashedKey channel, pubsubMessage *m);

/* Returns the number of names of that kind that have subscribers. */
size_t pubsubNames(pubsubKind kind);
/* Returns the number of subscribers of that name. */
size_t pubsubSubscribers(pubsubKind kind, hashedKey name);
/* Returns a subscriber of that name; NULL if it has none. */
client *pubsubSubscriber(pubsubKind kind, hashedKey name);
/* Calls `fn` for each channel or shard channel that has subscribers. */
void pubsubEachName(pubsubKind kind, void (*fn)(void *arg, slice name), void *arg);
/* Asserts the numbered invariants of pubsub.c and those of the topics. */
void pubsubCheck(void);

/* --- Keyspace notifications (notifications.c) --------------------------------------------------------------------- */

/* Call at startup: from then on events of the classes in notify-keyspace-events are published. */
void notificationsInit(void);

#endif
