/* pubsub.c -- publish/subscribe: which client is subscribed to which channels and patterns.
 *
 *   channels, patterns, shard channels --name--> topic --> [ clients ]        one message goes to all
 *                                                  ^
 *   client --> pubsubState --first--> subscription +--next--> subscription    one client leaves all
 *                                     found by (client, topic) in `pairs`
 *
 * So subscribing and unsubscribing stay cheap for a topic with many clients and for a client with many topics.
 *
 * Not here    the arrays of clients (pubsub_topic.c), how patterns are found (pubsub_patterns.c), the messages
 *             (pubsub_message.c), commands and their replies (pubsub_commands.c).
 * Owns        topics of channels; subscriptions; each client's pubsubState.
 * Threads     main.
 * Invariants  (pubsubCheck() asserts them)
 *             1. A topic exists as long as it has subscribers.
 *             2. A client is subscribed to a topic once.
 *             3. CLIENT_PUBSUB is set, and GATE_SUBSCRIBED enabled, exactly for clients that have subscriptions.
 * Tests       tests/unit/engine/pubsub/pubsub_test.c, tests/engine/pubsub.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "pubsub.h"

#include "client_describe.h"
#include "gates.h"
#include "panic.h"
#include "pubsub_topic.h"
#include "slot_stats.h"
#include "zmalloc.h"

typedef struct pubsubState {
    subscription *first[PUBSUB_KINDS], *last[PUBSUB_KINDS]; /* owns */
    size_t count[PUBSUB_KINDS];
    size_t bytes; /* size, with names, although other clients may share them */
} pubsubState;

static struct {
    dict *names[PUBSUB_KINDS]; /* owns tables and topics; NULL for patterns */
    dict *pairs;               /* owns the table, but not its subscriptions, which the clients' lists own */
} subscriptions;

static size_t slot; /* const after startup */

static pubsubState **stateOf(const client *c) { return clientSlot(c, slot); }

/* NULL if the client has no subscription. */
static pubsubState *pubsubOf(const client *c) { return *stateOf(c); }

/* ---- Checks ---- */

#define CHECKED_WHOLE 64 /* subscriptions: larger tables are walked by tests only */

/* Asserts the invariants of one client; and, if there are few subscriptions, of all. */
static void clientCheck(const client *c) {
#ifdef DEBUG_ASSERTIONS
    const pubsubState *state = pubsubOf(c);
    bool subscribed = c->flags & CLIENT_PUBSUB;
    size_t all = 0;
    for (int kind = 0; state && kind < PUBSUB_KINDS; kind++) {
        debugAssert(!state->first[kind] == (state->count[kind] == 0) && !state->last[kind] == !state->first[kind]);
        debugAssert(!state->first[kind] || (!state->first[kind]->prev && !state->last[kind]->next));
        all += state->count[kind];
    }
    debugAssert(subscribed == (all > 0) && subscribed == (c->gates >> GATE_SUBSCRIBED & 1));
    debugAssert(!state || (all == 0) == (state->bytes == 0));
    debugAssert(dictSize(subscriptions.pairs) >= all);
    if (dictSize(subscriptions.pairs) <= CHECKED_WHOLE) pubsubCheck();
#else
    unused(c);
#endif
}

/* ---- Topics ---- */

static slice nameOf(const void *entry) { return ((const topic *)entry)->name; }

static slice pairOf(const void *entry) {
    return sliceOf(&((const subscription *)entry)->pair, sizeof(subscriptionPair));
}

static const dictType names_type = {.entryKey = nameOf, .hash = keyHash};
static const dictType pairs_type = {.entryKey = pairOf};

static topic *findTopic(pubsubKind kind, hashedKey name) {
    if (kind == PUBSUB_PATTERN) return patternsFind(name);
    return dictFind(subscriptions.names[kind], name.name, name.hash);
}

static topic *addTopic(pubsubKind kind, hashedKey name) {
    if (kind == PUBSUB_PATTERN) return patternsAdd(name);
    topic *t = ztrymalloc(sizeof(*t) + name.name.len);
    if (!t) return NULL;
    topicInit(t, name, (char *)(t + 1));
    dictAddNew(subscriptions.names[kind], t, name.hash);
    return t;
}

static void removeTopic(pubsubKind kind, topic *t) {
    if (kind == PUBSUB_PATTERN) {
        patternsRemove(t);
        return;
    }
    dictPopEntry(subscriptions.names[kind], t, t->hash);
    topicClear(t);
    zfree(t);
}

/* ---- Subscribing ---- */

static uint64_t pairHash(const subscriptionPair *pair) { return hashBytes(pair, sizeof(*pair)); }

static subscription *findSubscription(const client *c, topic *t) {
    const subscriptionPair pair = {c, t};
    return dictFind(subscriptions.pairs, sliceOf(&pair, sizeof(pair)), pairHash(&pair));
}

/* Returns the size of a subscription: itself, its slots in the tables, its part of the topic and of the tree of
 * patterns. */
static size_t costOf(pubsubKind kind, const topic *t) {
    size_t bytes = sizeof(subscription) + 4 * sizeof(void *) + sizeof(topic) + t->name.len;
    return kind == PUBSUB_PATTERN ? bytes + PATTERN_BYTES : bytes;
}

static void setSubscribed(client *c, bool on) {
    if (on) c->flags |= CLIENT_PUBSUB;
    else c->flags &= ~CLIENT_PUBSUB;
    gateEnableClient(c, GATE_SUBSCRIBED, on);
}

static void linkSubscription(pubsubState *state, pubsubKind kind, subscription *s) {
    debugAssert(!s->prev && !s->next);
    s->prev = state->last[kind];
    if (s->prev) s->prev->next = s;
    else state->first[kind] = s;
    state->last[kind] = s;
    state->count[kind]++;
}

static void unlinkSubscription(pubsubState *state, pubsubKind kind, const subscription *s) {
    debugAssert(state->count[kind] > 0 && (s->prev ? s->prev->next == s : state->first[kind] == s));
    if (s->prev) s->prev->next = s->next;
    else state->first[kind] = s->next;
    if (s->next) s->next->prev = s->prev;
    else state->last[kind] = s->prev;
    state->count[kind]--;
}

bool pubsubSubscribe(client *c, pubsubKind kind, hashedKey name) {
    assertMainRole();
    topic *t = findTopic(kind, name);
    if (t && findSubscription(c, t)) return true;
    if (!t && !(t = addTopic(kind, name))) return false;
    pubsubState **state = stateOf(c);
    if (!*state) *state = zcalloc(1, sizeof(**state));
    subscription *s = zmalloc(sizeof(*s));
    *s = (subscription){.pair = {c, t}};
    topicJoin(t, c, s);
    linkSubscription(*state, kind, s);
    dictAddNew(subscriptions.pairs, s, pairHash(&s->pair));
    (*state)->bytes += costOf(kind, t);
    setSubscribed(c, true);
    clientCheck(c);
    return true;
}

static void endSubscription(client *c, pubsubKind kind, subscription *s) {
    topic *t = s->pair.t;
    debugAssert(s->pair.c == c && pubsubOf(c)->bytes >= costOf(kind, t));
    dictPopEntry(subscriptions.pairs, s, pairHash(&s->pair));
    pubsubState *state = pubsubOf(c);
    state->bytes -= costOf(kind, t);
    unlinkSubscription(state, kind, s);
    topicLeave(t, s);
    zfree(s);
    if (t->count == 0) removeTopic(kind, t);
}

static bool isSubscribed(const client *c) {
    const pubsubState *state = pubsubOf(c);
    return state->count[PUBSUB_CHANNEL] || state->count[PUBSUB_PATTERN] || state->count[PUBSUB_SHARD_CHANNEL];
}

void pubsubUnsubscribe(client *c, pubsubKind kind, hashedKey name) {
    assertMainRole();
    topic *t = findTopic(kind, name);
    subscription *s = t ? findSubscription(c, t) : NULL;
    if (!s) return;
    endSubscription(c, kind, s);
    if (!isSubscribed(c)) setSubscribed(c, false);
    clientCheck(c);
}

void pubsubEnd(client *c) {
    assertMainRole();
    if (!pubsubOf(c)) return;
    clientCheck(c);
    for (int kind = 0; kind < PUBSUB_KINDS; kind++)
        while (pubsubOf(c)->first[kind]) endSubscription(c, (pubsubKind)kind, pubsubOf(c)->first[kind]);
    setSubscribed(c, false);
    debugAssert(pubsubOf(c)->bytes == 0);
    zfree(pubsubOf(c));
    *stateOf(c) = NULL;
    clientCheck(c);
}

bool pubsubAny(const client *c, bool (*fn)(const client *c, pubsubKind kind, slice name)) {
    for (pubsubKind kind = 0; pubsubOf(c) && kind < PUBSUB_KINDS; kind++)
        for (const subscription *s = pubsubOf(c)->first[kind]; s; s = s->next)
            if (fn(c, kind, s->pair.t->name)) return true;
    return false;
}

const topic *pubsubFirst(const client *c, pubsubKind kind) {
    assertMainRole();
    const subscription *s = pubsubOf(c) ? pubsubOf(c)->first[kind] : NULL;
    return s ? s->pair.t : NULL;
}

size_t pubsubCount(const client *c, pubsubKind kind) {
    assertMainRole();
    return pubsubOf(c) ? pubsubOf(c)->count[kind] : 0;
}

static void pubsubClientInfo(const client *c, clientInfoExtra *extra) {
    const pubsubState *state = pubsubOf(c);
    if (!state) return;
    extra->subscribed_channels = state->count[PUBSUB_CHANNEL];
    extra->subscribed_patterns = state->count[PUBSUB_PATTERN];
    extra->subscribed_shard_channels = state->count[PUBSUB_SHARD_CHANNEL];
    extra->other_bytes += sizeof(*state) + state->bytes;
}

void pubsubInit(void) {
    assertMainRole();
    debugAssert(!subscriptions.pairs);
    slot = clientSlotRegister(sizeof(pubsubState *));
    subscriptions.names[PUBSUB_CHANNEL] = dictCreate(&names_type);
    subscriptions.names[PUBSUB_SHARD_CHANNEL] = dictCreate(&names_type);
    subscriptions.pairs = dictCreate(&pairs_type);
    clientOnFree(pubsubEnd);
    clientOnReset(pubsubEnd);
    clientOnInfo(pubsubClientInfo);
}

/* ---- Publishing ---- */

static void deliverToPattern(void *arg, topic *t) {
    pubsubMessageDeliver(arg, (pubsubHeading){sliceStr("pmessage"), t->name}, t);
}

void pubsubPublish(pubsubKind kind, hashedKey channel, pubsubMessage *m) {
    assertMainRole();
    const topic *t = findTopic(kind, channel);
    bool shard = kind == PUBSUB_SHARD_CHANNEL;
    debugAssert(kind != PUBSUB_PATTERN && (!t || t->count > 0));
    m->channel = channel.name;
    if (t) pubsubMessageDeliver(m, (pubsubHeading){.kind = sliceStr(shard ? "smessage" : "message")}, t);
    if (t && shard && slotStatsAreOn()) slotStatsPublished(channel.name, m->payload, t->count);
    if (!shard) patternsMatch(channel.name, deliverToPattern, m);
    pubsubMessageEnd(m);
}

/* ---- Queries ---- */

size_t pubsubNames(pubsubKind kind) {
    return kind == PUBSUB_PATTERN ? patternsCount() : dictSize(subscriptions.names[kind]);
}

size_t pubsubSubscribers(pubsubKind kind, hashedKey name) {
    assertMainRole();
    const topic *t = findTopic(kind, name);
    return t ? t->count : 0;
}

client *pubsubSubscriber(pubsubKind kind, hashedKey name) {
    assertMainRole();
    const topic *t = findTopic(kind, name);
    return t ? t->clients[0] : NULL;
}

void pubsubEachName(pubsubKind kind, void (*fn)(void *arg, slice name), void *arg) {
    assertMainRole();
    dictIterator it;
    dictIterBegin(&it, subscriptions.names[kind], false);
    for (const topic *t; (t = dictIterNext(&it)) != NULL;) fn(arg, t->name);
    dictIterEnd(&it);
}

void pubsubCheck(void) {
    dictIterator it;
    for (int kind = 0; kind < PUBSUB_KINDS; kind++) {
        if (kind == PUBSUB_PATTERN) continue;
        dictIterBegin(&it, subscriptions.names[kind], false);
        for (const topic *t; (t = dictIterNext(&it)) != NULL;) {
            serverAssert(t->count > 0);
            topicCheck(t);
        }
        dictIterEnd(&it);
    }
    patternsCheck();
    dictIterBegin(&it, subscriptions.pairs, false);
    for (const subscription *s; (s = dictIterNext(&it)) != NULL;) {
        serverAssert(s->pair.c->flags & CLIENT_PUBSUB && s->pair.c->gates >> GATE_SUBSCRIBED & 1);
        serverAssert(s->at < s->pair.t->count && s->pair.t->subscriptions[s->at] == s);
    }
    dictIterEnd(&it);
}
