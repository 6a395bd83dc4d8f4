/* key_changed.h -- what a handler says when it has changed a key: the store's door, in the words of commands.
 *
 *   keyChanged(c, key, NOTIFY_STRING, "set", 1);          once for each key and change
 *   keyEvent(c, key, NOTIFY_GENERIC, "expire");           what else that change was
 *
 * A change of a key in another database than the client's: dbKeyChanged(), dbKeyMoved().
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_KEY_CHANGED_H
#define ENGINE_KEY_CHANGED_H

#include "client.h"

/* `changes`: see dbKeyChanged(). */
static inline void keyChanged(client *c, hashedKey key, int event_class, const char *event, long long changes) {
    dbKeyChanged(c->db, key, event_class, event, changes);
}

/* What a stream knows beside its entries has changed: consumer groups, the last ID. */
static inline void keyGroupsChanged(client *c, hashedKey key, int event_class, const char *event, long long changes) {
    dbKeyGroupsChanged(c->db, key, event_class, event, changes);
}

static inline void keyEvent(client *c, hashedKey key, int event_class, const char *event) {
    dbKeyEvent(c->db, key, event_class, event);
}

#endif
