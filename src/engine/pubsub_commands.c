/* pubsub_commands.c -- SUBSCRIBE, PUBLISH, PUBSUB and related commands, and the commands that a subscriber may use.
 *
 * The reply to a subscription is a push message (in RESP2, an array): it is sent although replies are off.
 *
 * Not here    which client has which subscriptions (pubsub.c).
 * Owns        nothing.
 * Threads     main.
 * Tests       tests/engine/pubsub.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "engine.h"

#include "slice.h"
#include "panic.h"
#include "propagate.h"
#include "pubsub.h"
#include "reply.h"
#include "transaction_queue.h"
#include "zmalloc.h"

static const struct {
    const char *joined, *left;
} words[PUBSUB_KINDS] = {
    [PUBSUB_CHANNEL] = {"subscribe", "unsubscribe"},
    [PUBSUB_PATTERN] = {"psubscribe", "punsubscribe"},
    [PUBSUB_SHARD_CHANNEL] = {"ssubscribe", "sunsubscribe"},
};

/* ---- Subscribing ---- */

/* Returns the number of subscriptions that a reply shows: shard channels are counted separately. */
static size_t shownCount(const client *c, pubsubKind kind) {
    if (kind == PUBSUB_SHARD_CHANNEL) return pubsubCount(c, kind);
    return pubsubCount(c, PUBSUB_CHANNEL) + pubsubCount(c, PUBSUB_PATTERN);
}

static void replyChange(client *c, const char *word, const slice *name, size_t count) {
    addReplyPushLen(c, 3);
    addReplyBulkCString(c, word);
    if (name) addReplyBulk(c, *name);
    else addReplyNull(c);
    addReplyLongLong(c, (long long)count);
}

static void subscribe(client *c, pubsubKind kind) {
    c->flags |= CLIENT_PUSHING;
    for (uint32_t i = 1; i < c->argc; i++) {
        if (!pubsubSubscribe(c, kind, clientKeyAt(c, i))) {
            addReplyNoMemory(c);
            break;
        }
        replyChange(c, words[kind].joined, &c->argv[i], shownCount(c, kind));
    }
    c->flags &= ~CLIENT_PUSHING;
}

static void unsubscribeAll(client *c, pubsubKind kind) {
    const topic *t = pubsubFirst(c, kind);
    if (!t) replyChange(c, words[kind].left, NULL, shownCount(c, kind));
    for (; t; t = pubsubFirst(c, kind)) {
        replyChange(c, words[kind].left, &t->name, shownCount(c, kind) - 1);
        pubsubUnsubscribe(c, kind, (hashedKey){t->name, t->hash});
    }
}

static void unsubscribe(client *c, pubsubKind kind) {
    c->flags |= CLIENT_PUSHING;
    if (c->argc == 1) unsubscribeAll(c, kind);
    for (uint32_t i = 1; i < c->argc; i++) {
        pubsubUnsubscribe(c, kind, clientKeyAt(c, i));
        replyChange(c, words[kind].left, &c->argv[i], shownCount(c, kind));
    }
    c->flags &= ~CLIENT_PUSHING;
}

void subscribeCommand(client *c) { subscribe(c, PUBSUB_CHANNEL); }

void unsubscribeCommand(client *c) { unsubscribe(c, PUBSUB_CHANNEL); }

void psubscribeCommand(client *c) { subscribe(c, PUBSUB_PATTERN); }

void punsubscribeCommand(client *c) { unsubscribe(c, PUBSUB_PATTERN); }

void ssubscribeCommand(client *c) {
    if (c->flags & CLIENT_DENY_BLOCKING) addReplyError(c, "SSUBSCRIBE isn't allowed for a DENY BLOCKING client");
    else subscribe(c, PUBSUB_SHARD_CHANNEL);
}

void sunsubscribeCommand(client *c) { unsubscribe(c, PUBSUB_SHARD_CHANNEL); }

/* ---- Shard channels whose slot has left this node ---- */

typedef struct channelList {
    bool (*left)(slice channel);
    slice *names; /* owns the array; borrows the names from their topics */
    size_t count, capacity;
} channelList;

static void collectLeft(void *arg, slice name) {
    channelList *l = arg;
    if (!l->left(name)) return;
    l->names = zgrowArray(l->names, l->count, &l->capacity, sizeof(*l->names));
    l->names[l->count++] = name;
}

void pubsubLeaveShardChannels(bool (*left)(slice channel)) {
    const pubsubKind kind = PUBSUB_SHARD_CHANNEL;
    channelList l = {.left = left};
    pubsubEachName(kind, collectLeft, &l);
    for (size_t i = 0; i < l.count; i++) {
        hashedKey key = hashedKeyOf(l.names[i]);
        for (size_t subscribers = pubsubSubscribers(kind, key); subscribers; subscribers--) {
            client *c = pubsubSubscriber(kind, key);
            pushBegin(c);
            replyChange(c, words[kind].left, &key.name, pubsubCount(c, kind) - 1);
            pushEnd(c);
            pubsubUnsubscribe(c, kind, key); /* the last one frees the name */
        }
    }
    zfree(l.names);
}

/* ---- Publishing ---- */

static pubsubForward *forward; /* NULL unless this server is a node of a cluster */

void pubsubSetForward(pubsubForward *fn) { forward = fn; }

/* In a cluster the message reaches replicas by the bus as well. */
static void publish(client *c, pubsubKind kind) {
    pubsubMessage m = {.payload = c->argv[2], .from = c, .argument = 2};
    pubsubPublish(kind, clientKeyAt(c, 1), &m);
    if (forward) forward(kind, c->argv[1], c->argv[2]);
    else propagateAsSentTo(PROPAGATE_REPLICAS);
    if (m.failed) addReplyNoMemory(c);
    else addReplyLongLong(c, (long long)m.receivers);
}

void publishCommand(client *c) { publish(c, PUBSUB_CHANNEL); }

void spublishCommand(client *c) { publish(c, PUBSUB_SHARD_CHANNEL); }

/* ---- PUBSUB ---- */

typedef struct listing {
    client *c;
    const slice *pattern; /* NULL for all */
    long long count;
} listing;

static void listName(void *arg, slice name) {
    listing *l = arg;
    if (l->pattern && !globMatch(*l->pattern, name, false)) return;
    addReplyBulk(l->c, name);
    l->count++;
}

static void replyNames(client *c, pubsubKind kind) {
    if (c->argc > 3) {
        addReplySubcommandSyntaxError(c);
        return;
    }
    listing l = {c, c->argc == 3 ? &c->argv[2] : NULL, 0};
    void *length = addReplyDeferredLen(c);
    pubsubEachName(kind, listName, &l);
    setDeferredArrayLen(c, length, l.count);
}

static void replySubscribers(client *c, pubsubKind kind) {
    addReplyArrayLen(c, 2 * ((long long)c->argc - 2));
    for (uint32_t i = 2; i < c->argc; i++) {
        addReplyBulk(c, c->argv[i]);
        addReplyLongLong(c, (long long)pubsubSubscribers(kind, hashedKeyOf(c->argv[i])));
    }
}

void pubsubChannelsCommand(client *c) { replyNames(c, PUBSUB_CHANNEL); }

void pubsubShardchannelsCommand(client *c) { replyNames(c, PUBSUB_SHARD_CHANNEL); }

void pubsubNumsubCommand(client *c) { replySubscribers(c, PUBSUB_CHANNEL); }

void pubsubShardnumsubCommand(client *c) { replySubscribers(c, PUBSUB_SHARD_CHANNEL); }

void pubsubNumpatCommand(client *c) { addReplyLongLong(c, (long long)pubsubNames(PUBSUB_PATTERN)); }

/* ---- Commands that a subscriber may use ---- */

static const char *const allowed_names[] = {"subscribe",    "unsubscribe", "psubscribe", "punsubscribe", "ssubscribe",
                                            "sunsubscribe", "ping",        "quit",       "reset"};
static const serverCommand *allowed[array_len(allowed_names)];

void pubsubCommandsInit(void) {
    assertMainRole();
    for (size_t i = 0; i < array_len(allowed); i++) allowed[i] = commandNamed(allowed_names[i]);
}

gateResult subscribedGate(client *c) {
    assertMainRole();
    if (c->resp >= 3) return GATE_PASSED;
    for (size_t i = 0; i < array_len(allowed); i++)
        if (c->cmd == allowed[i]) return GATE_PASSED;
    sds error = sdsCatPrintf(sdsEmpty(),
                             "Can't execute '%s': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are "
                             "allowed in this context",
                             c->cmd->fullname);
    transactionRefuse(c, error);
    sdsFree(error);
    return GATE_REFUSED;
}
