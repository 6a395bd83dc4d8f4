/* pubsub_message.c -- one message while it is delivered to subscribers.
 *
 * Its bytes are made once for all subscribers (client/fan_out.h). A large payload becomes a value instead, to which all
 * subscribers' replies refer, so that it is in memory once however many patterns match. So does a large name of a
 * channel.
 *
 * Not here    which clients get it (pubsub.c), how it is kept back from a client whose command runs (client/push.c).
 * Owns        a reference to each value.
 * Threads     main.
 * Cost        the heading; for a large payload, for each client a copy of the heading and a reference.
 * Tests       tests/engine/pubsub.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "pubsub_topic.h"

#include "fan_out.h"
#include "panic.h"
#include "reply.h"
#include "resp_format.h"
#include "zmalloc.h"

#define SHARED_MIN 65536 /* payloads of this size or more are not copied for each heading */
#define HEAD_SMALL 512

/* The part of a message that precedes the payload, or the channel if that is shared. Its first byte differs between
 * RESP2 and RESP3. */
typedef struct heading {
    char *bytes; /* owns unless it is `small` */
    size_t len;
    char small[HEAD_SMALL];
} heading;

static void addBulk(heading *h, slice s) { h->len += respBulk(h->bytes + h->len, s); }

/* Returns whether the message is sent to each subscriber in parts, of which the large ones are references. */
static bool inParts(const pubsubMessage *m) { return m->shared || m->shared_channel; }

/* Makes the heading, with the length of the payload if that follows as bytes. Returns false if there is no memory. */
static bool makeHeading(heading *h, const pubsubMessage *m, pubsubHeading what) {
    size_t most = 5 * RESP_HEADER_MAX + what.kind.len + what.pattern.len + 6;
    if (!m->shared_channel) most += m->channel.len;
    h->bytes = most <= sizeof(h->small) ? h->small : ztrymalloc(most);
    if (!h->bytes) return false;
    h->len = respHeader(h->bytes, '*', what.pattern.ptr ? 4 : 3);
    addBulk(h, what.kind);
    if (what.pattern.ptr) addBulk(h, what.pattern);
    if (!m->shared_channel) addBulk(h, m->channel);
    if (!inParts(m)) h->len += respHeader(h->bytes + h->len, '$', (long long)m->payload.len);
    debugAssert(h->len <= most);
    return true;
}

/* Makes values of a large channel name and payload. If there is no memory for a value, the bytes are used. */
static void share(pubsubMessage *m) {
    const slice no_key = sliceOf("", 0);
    debugAssert(!m->from || m->argument < m->from->argc);
    if (m->channel.len >= SHARED_MIN && !m->shared_channel)
        m->shared_channel = objectTryCreateString(no_key, m->channel, false, object_main_owner);
    if (m->payload.len < SHARED_MIN || m->shared) return;
    if (m->from) m->shared = clientEntryOfArg(m->from, no_key, m->argument, false);
    else m->shared = objectTryCreateString(no_key, m->payload, false, object_main_owner);
}

static void pubsubMessagePush(client *c, heading *h, const pubsubMessage *m) {
    debugAssert(inParts(m) && c->flags & CLIENT_PUBSUB);
    pushBegin(c);
    h->bytes[0] = fanMark(c->resp);
    addReplyProto(c, h->bytes, h->len);
    if (m->shared_channel) addReplyBulkObject(c, m->shared_channel);
    if (m->shared) addReplyBulkObject(c, m->shared);
    else addReplyBulk(c, m->payload);
    pushEnd(c);
}

void pubsubMessageDeliver(pubsubMessage *m, pubsubHeading what, const topic *t) {
    assertMainRole();
    heading h;
    if (t->count == 0) return;
    share(m);
    if (!makeHeading(&h, m, what)) {
        m->failed = true;
        return;
    }
    if (inParts(m)) {
        for (uint32_t i = 0; i < t->count; i++) pubsubMessagePush(t->clients[i], &h, m);
    } else {
        const fanAudience to = {t->clients, t->count, t->version};
        const fanText text = {sliceOf(h.bytes + 1, h.len - 1), m->payload, sliceStr("\r\n")};
        fanOut(&to, &text);
    }
    m->receivers += t->count;
    if (h.bytes != h.small) zfree(h.bytes);
}

void pubsubMessageEnd(pubsubMessage *m) {
    assertMainRole();
    if (m->shared) decrRefCount(m->shared);
    if (m->shared_channel) decrRefCount(m->shared_channel);
    m->shared = m->shared_channel = NULL;
}
