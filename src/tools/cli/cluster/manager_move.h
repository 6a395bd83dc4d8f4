/* manager_move.h -- moves a slot, or its keys, from one node to another.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef MANAGER_MOVE_H
#define MANAGER_MOVE_H

#include "manager_cluster.h"

/* Moves a slot with its keys from its owner to another primary, and has all primaries know it. Returns false after a
 * message; the slot is then open, and the same call or `fix` goes on. */
bool managerMoveSlot(managerCluster *m, int slot, int from, int to) must_check;
/* Moves the keys of a slot. The slot must be open at `from`, and owned or imported by `to`. A key that both have is
 * moved if the values are equal, or with --cluster-replace. Returns false after a message. */
bool managerMoveKeys(managerCluster *m, int slot, int from, int to) must_check;
/* Sends CLUSTER SETSLOT; `id` is NULL for STABLE. Returns false after a message. */
bool managerSetSlotState(managerCluster *m, int node, int slot, const char *state, const char *id) must_check;
/* Appends the words of MIGRATE to a node, up to KEYS: "MIGRATE host port "" db timeout [COPY] [REPLACE] [AUTH..] KEYS".
 * Returns their number. `words` has MIGRATE_HEAD_MAX elements; `numbers` holds the texts of three numbers. */
#define MIGRATE_HEAD_MAX 16
typedef char managerNumbers[3][24];
int managerMigrateHead(const managerCluster *m, int to, long long db, bool copy, bool replace, managerNumbers numbers,
                       slice *words);

#endif
