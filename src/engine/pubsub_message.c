/* pubsub_message.c -- one message on its way to subscribers.
 *
 * Its bytes are made once, for all who get it (client/fan_out.h). A large payload is made a value instead, to which
 * all subscribers' replies refer, so that it is in memory once however many patterns match.
 *
 * Not here    who gets it (pubsub.c), what holds it back from a client whose command runs (client/push.h).
 * Owns        a count on the value.
 * Threads     main.
 * Cost        the heading; for a large payload, for each client a copy of it and a reference.
 * Tests       tests/engine/pubsub.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "pubsub_message.h"

#include "fan_out.h"
#include "panic.h"
#include "push.h"
#include "reply.h"
#include "reply_format.h"
#include "zmalloc.h"

#define SHARED_MIN 65536 /* payloads from here on are not copied for each heading */
#define HEAD_SMALL 512

/* What comes before the payload, and its first byte, which RESP2 and RESP3 have different. */
typedef struct heading {
    char *bytes; /* owns, unless it is `small` */
    size_t len;
    char small[HEAD_SMALL];
} heading;

static void addBulk(heading *h, slice s) {
    h->len += respHeader(h->bytes + h->len, '$', (long long)s.len);
    if (s.len) memcpy(h->bytes + h->len, s.ptr, s.len);
    memcpy(h->bytes + h->len + s.len, "\r\n", 2);
    h->len += s.len + 2;
}

/* The heading, and the length of the payload if that is to follow as bytes. False when there is no memory. */
static bool makeHeading(heading *h, const pubsubMessage *m, pubsubHeading what) {
    size_t most = 5 * RESP_HEADER_MAX + what.kind.len + what.pattern.len + m->channel.len + 6;
    h->bytes = most <= sizeof(h->small) ? h->small : ztrymalloc(most);
    if (!h->bytes) return false;
    h->len = respHeader(h->bytes, '*', what.pattern.ptr ? 4 : 3);
    addBulk(h, what.kind);
    if (what.pattern.ptr) addBulk(h, what.pattern);
    addBulk(h, m->channel);
    if (!m->shared) h->len += respHeader(h->bytes + h->len, '$', (long long)m->payload.len);
    return true;
}

/* Without memory for the value the payload stays what it is. */
static void share(pubsubMessage *m) {
    if (m->payload.len < SHARED_MIN || m->shared) return;
    const slice no_key = sliceOf("", 0);
    if (m->from) m->shared = clientEntryOfArg(m->from, no_key, m->argument, false);
    else m->shared = objectTryCreateString(no_key, m->payload, false, object_main_owner);
}

static void push(client *c, heading *h, robj *shared) {
    pushBegin(c);
    h->bytes[0] = fanMark(c->resp);
    addReplyProto(c, h->bytes, h->len);
    addReplyBulkObject(c, shared);
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
    if (m->shared) {
        for (uint32_t i = 0; i < t->count; i++) push(t->clients[i], &h, m->shared);
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
    m->shared = NULL;
}
