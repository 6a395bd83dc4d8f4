/* replica_expires.h -- keys to which clients of a writable replica have given an expire.
 *
 * The primary deletes expired keys of its replicas, but does not know these keys. So they are recorded here, by name
 * and expire: a key with another expire has been overwritten by the primary, and is removed from the record.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef STORE_REPLICA_EXPIRES_H
#define STORE_REPLICA_EXPIRES_H

#include "slice.h"

/* Records that a key was given an expire while the dataset follows another server's. Does nothing unless a client of
 * this server did it. */
void replicaExpiresNote(int dbid, slice name, int64_t when_ms);
/* Swaps the records of two databases. Visits all of them. */
void replicaExpiresSwap(int a, int b);
size_t replicaExpiresCount(void); /* number of recorded keys */
/* Forgets all keys: the dataset no longer follows another server's, or was deleted. */
void replicaExpiresClear(void);

/* Visits the next keys, at most `most`, none twice: `visit` returns whether a key must stay recorded. It may change the
 * keyspace, but set no expire. */
void replicaExpiresVisit(size_t most, bool (*visit)(int dbid, slice name, int64_t when_ms));

#endif
