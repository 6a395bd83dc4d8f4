/* pubsub_message.c -- one message on its way to subscribers.
 *
 * Its bytes are made once and copied to each subscriber; RESP2 and RESP3 differ in the first of them only. A large
 * payload is made a value instead, to which all subscribers' replies refer, so that it is in memory once.
 *
 * Not here    who gets it (pubsub.c), what holds it back from a client whose command runs (client/push.h).
 * Owns        a count on the value.
 * Threads     main.
 * Cost        for each client: a copy of the message, or of its heading and a reference.
 * Tests       tests/engine/pubsub.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "pubsub_message.h"

#include "panic.h"
#include "push.h"
#include "reply.h"
#include "reply_format.h"
#include "zmalloc.h"

#define SHARED_MIN 4096 /* payloads from here on are not copied for each subscriber */

/* What is sent as bytes: all of the message, or what comes before a payload that is referred to. */
typedef struct frame {
    char *bytes; /* owns */
    size_t len;
} frame;

static void addBulk(frame *f, slice s) {
    f->len += respHeader(f->bytes + f->len, '$', (long long)s.len);
    if (s.len) memcpy(f->bytes + f->len, s.ptr, s.len);
    memcpy(f->bytes + f->len + s.len, "\r\n", 2);
    f->len += s.len + 2;
}

/* False when there is no memory. */
static bool makeFrame(frame *f, const pubsubMessage *m, pubsubHeading heading) {
    size_t payload = m->shared ? 0 : m->payload.len;
    *f = (frame){0};
    f->bytes = ztrymalloc(5 * RESP_HEADER_MAX + heading.kind.len + heading.pattern.len + m->channel.len + payload + 8);
    if (!f->bytes) return false;
    f->len = respHeader(f->bytes, '*', heading.pattern.ptr ? 4 : 3);
    addBulk(f, heading.kind);
    if (heading.pattern.ptr) addBulk(f, heading.pattern);
    addBulk(f, m->channel);
    if (!m->shared) addBulk(f, m->payload);
    return true;
}

/* Without memory for the value the payload stays what it is. */
static void share(pubsubMessage *m) {
    if (m->payload.len < SHARED_MIN || m->shared) return;
    const slice no_key = sliceOf("", 0);
    if (m->from) m->shared = clientEntryOfArg(m->from, no_key, m->argument, false);
    else m->shared = objectTryCreateString(no_key, m->payload, false, object_main_owner);
}

static void push(client *c, frame *f, robj *shared) {
    pushBegin(c);
    f->bytes[0] = c->resp >= 3 ? '>' : '*';
    addReplyProto(c, f->bytes, f->len);
    if (shared) addReplyBulkObject(c, shared);
    pushEnd(c);
}

void pubsubMessageDeliver(pubsubMessage *m, pubsubHeading heading, client *const *clients, uint32_t count) {
    assertMainRole();
    frame f;
    if (count == 0) return;
    share(m);
    if (!makeFrame(&f, m, heading)) {
        m->failed = true;
        return;
    }
    for (uint32_t i = 0; i < count; i++) push(clients[i], &f, m->shared);
    m->receivers += count;
    zfree(f.bytes);
}

void pubsubMessageEnd(pubsubMessage *m) {
    assertMainRole();
    if (m->shared) decrRefCount(m->shared);
    m->shared = NULL;
}
