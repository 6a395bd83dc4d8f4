/* key_changed.h -- handlers report here that they have changed a key; short forms of store's keyspace_events.h.
 *
 *   keyChanged(c, key, NOTIFY_STRING, "set", 1);          once for each key and change
 *   keyEvent(c, key, NOTIFY_GENERIC, "expire");           a further event of the same change
 *
 * For a key of another database than the client's call dbKeyChanged() or dbKeyMoved().
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_KEY_CHANGED_H
#define ENGINE_KEY_CHANGED_H

#include "client.h"

/* Reports a change of a key. `changes`: see dbKeyChanged(). */
static inline void keyChanged(client *c, hashedKey key, int event_class, const char *event, long long changes) {
    dbKeyChanged(c->db, key, event_class, event, changes);
}

/* Reports a change of a stream beside its entries: of consumer groups or the last ID. */
static inline void keyGroupsChanged(client *c, hashedKey key, int event_class, const char *event, long long changes) {
    dbKeyGroupsChanged(c->db, key, event_class, event, changes);
}

/* Reports a further event of a change. */
static inline void keyEvent(client *c, hashedKey key, int event_class, const char *event) {
    dbKeyEvent(c->db, key, event_class, event);
}

#endif
