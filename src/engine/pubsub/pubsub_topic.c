/* pubsub_topic.c -- a topic: the subscribers of one name.
 *
 *   clients:        c0  c1  c2  c3    walked to publish
 *   subscriptions:  s0  s1  s2  s3    s.at is the index in both arrays, so that removal takes constant time
 *
 * Not here    how a topic is found by its name (pubsub.c, pubsub_patterns.c), the subscriptions of a client
 *             (pubsub.c).
 * Owns        both arrays.
 * Threads     main.
 * Invariants  (topicCheck() asserts them)
 *             1. subscriptions[i]->at == i, and subscriptions[i]->pair is clients[i] and this topic.
 *             2. More than a quarter of the slots is used, or there are few.
 * Tests       tests/unit/engine/pubsub/pubsub_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "pubsub_topic.h"

#include "panic.h"
#include "zmalloc.h"

#define CAPACITY_FEW 8 /* arrays of this capacity or less do not shrink */

void topicInit(topic *t, hashedKey name, char *name_bytes) {
    *t = (topic){.hash = name.hash, .name = sliceOf(name_bytes, name.name.len)};
    if (name.name.len) memcpy(name_bytes, name.name.ptr, name.name.len);
}

void topicClear(topic *t) {
    serverAssert(t->count == 0);
    zfree(t->clients);
    zfree(t->subscriptions);
}

static void pubsubTopicChanged(topic *t) {
    static uint64_t last;
    t->version = ++last;
}

static void pubsubTopicResize(topic *t, uint32_t capacity) {
    debugAssert(capacity > 0 && t->count <= capacity);
    t->clients = zrealloc(t->clients, capacity * sizeof(*t->clients));
    t->subscriptions = zrealloc(t->subscriptions, capacity * sizeof(*t->subscriptions));
    t->capacity = capacity;
}

void topicJoin(topic *t, client *c, subscription *s) {
    assertMainRole();
    debugAssert(s->pair.t == t && s->pair.c == c);
    if (t->count == t->capacity) pubsubTopicResize(t, t->capacity ? t->capacity * 2 : 1);
    s->at = t->count;
    t->clients[t->count] = c;
    t->subscriptions[t->count++] = s;
    pubsubTopicChanged(t);
}

void topicLeave(topic *t, const subscription *s) {
    assertMainRole();
    debugAssert(s->at < t->count && t->subscriptions[s->at] == s);
    uint32_t last = --t->count;
    t->clients[s->at] = t->clients[last];
    t->subscriptions[s->at] = t->subscriptions[last];
    t->subscriptions[s->at]->at = s->at;
    if (t->capacity > CAPACITY_FEW && t->count <= t->capacity / 4) pubsubTopicResize(t, t->capacity / 2);
    pubsubTopicChanged(t);
}

void topicCheck(const topic *t) {
    serverAssert(t->count <= t->capacity);
    serverAssert(t->capacity <= CAPACITY_FEW || t->count > t->capacity / 4);
    for (uint32_t i = 0; i < t->count; i++) {
        const subscription *s = t->subscriptions[i];
        serverAssert(s->at == i && s->pair.t == t && s->pair.c == t->clients[i]);
    }
}
