/* replica_expires.h -- keys with a time that a replica's own clients have made, because it is writable.
 *
 * What is over on a replica its primary deletes; of these keys it does not know. So they are remembered, by name and
 * time: with another time the key is the primary's by now, and no longer among them.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef STORE_REPLICA_EXPIRES_H
#define STORE_REPLICA_EXPIRES_H

#include "slice.h"

/* A key was given a time, while the dataset follows another one. Nothing unless it was one of this server's clients. */
void replicaExpiresNote(int dbid, slice name, int64_t when_ms);
/* Two databases have changed places. Looks at all of them. */
void replicaExpiresSwap(int a, int b);
size_t replicaExpiresCount(void);
/* The dataset follows no other any more, or has gone. */
void replicaExpiresClear(void);

/* Look at the next ones, in turn, at most so many, and no one twice: `look` says of each whether it is to be remembered
 * any longer. It may change the keyspace, but give no key a time. */
void replicaExpiresVisit(size_t most, bool (*look)(int dbid, slice name, int64_t when_ms));

#endif
