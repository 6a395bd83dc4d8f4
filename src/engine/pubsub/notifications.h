/* notifications.h -- keyspace notifications: what happens to keys, published to channels that are named after them.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_NOTIFICATIONS_H
#define ENGINE_NOTIFICATIONS_H

/* Boot: events of the classes in notify-keyspace-events are published from here on. */
void notificationsInit(void);

#endif
