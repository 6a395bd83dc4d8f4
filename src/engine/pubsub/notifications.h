/* notifications.h -- keyspace notifications: publishes events of keys to channels that are named after the keys.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_NOTIFICATIONS_H
#define ENGINE_NOTIFICATIONS_H

/* Call at startup: from then on events of the classes in notify-keyspace-events are published. */
void notificationsInit(void);

#endif
