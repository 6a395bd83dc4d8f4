/* notifications.c -- keyspace notifications: publishes events of keys to channels that are named after the keys.
 *
 *   __keyspace@<db>__:<key>    with K in notify-keyspace-events; the message is the event
 *   __keyevent@<db>__:<event>  with E; the message is the key
 *
 * A client that is subscribed to both gets them in this order.
 *
 * Not here    which command reports which event (store/keyspace_events.h), which classes are on (store_settings.c).
 * Owns        nothing.
 * Threads     main.
 * Cost        a call if there are no subscribers at all; else two names, and the cost of publishing.
 * Tests       tests/engine/notifications.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */

#include "db.h"
#include "pubsub.h"
#include "zmalloc.h"
#include <stdio.h>

#define NAME_ON_STACK 512

/* Publishes to the channel "__<kind>@<db>__:<name>". If there is no memory for that name, it has no subscribers
 * either. */
static void notificationsPublish(const char *kind, int dbid, slice name, slice message) {
    char buffer[NAME_ON_STACK], *channel = buffer;
    size_t len = (size_t)snprintf(buffer, sizeof(buffer), "__%s@%d__:", kind, dbid);
    if (len + name.len > sizeof(buffer)) {
        channel = ztrymalloc(len + name.len);
        if (!channel) return;
        memcpy(channel, buffer, len);
    }
    memcpy(channel + len, name.ptr, name.len);
    pubsubMessage m = {.payload = message};
    pubsubPublish(PUBSUB_CHANNEL, hashedKeyOf(sliceOf(channel, len + name.len)), &m);
    if (channel != buffer) zfree(channel);
}

static void keyEvent(serverDb *db, int event_class, const char *event, slice key) {
    unused(event_class);
    if (pubsubNames(PUBSUB_CHANNEL) == 0 && pubsubNames(PUBSUB_PATTERN) == 0) return;
    slice what = sliceStr(event);
    if (store_settings.notify_events & NOTIFY_KEYSPACE) notificationsPublish("keyspace", dbId(db), key, what);
    if (store_settings.notify_events & NOTIFY_KEYEVENT) notificationsPublish("keyevent", dbId(db), what, key);
}

void notificationsInit(void) { storeObserveEvents(keyEvent); }
