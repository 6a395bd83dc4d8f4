/* rdb_aux.h -- a field of a snapshot that tells something of it, as read from the file.
 *
 * Runs on: any thread.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERSIST_RDB_AUX_H
#define PERSIST_RDB_AUX_H

#include "rdb_scan.h"

typedef struct rdbAux {
    sds name, value; /* owns */
} rdbAux;

/* The field of an RDB_ITEM_AUX. False: a string that is malformed, and nothing to free. */
bool rdbAuxRead(const rdbPiece *piece, const rdbItem *item, rdbAux *out) must_check;
void rdbAuxFree(rdbAux *f);
/* Whether a loader can take it: one that it relies on has to be well formed. */
bool rdbAuxIsGood(const rdbAux *f);

#endif
