/* rdb_aux.h -- reads an AUX field of a snapshot: metadata of the file as a name and a value.
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

/* Reads the field of an RDB_ITEM_AUX. Returns false, with nothing to free, if a string is malformed. */
bool rdbAuxRead(const rdbPiece *piece, const rdbItem *item, rdbAux *out) must_check;
void rdbAuxFree(rdbAux *f);
/* Returns false if the loader relies on the field (slot-info) and its value is malformed. */
bool rdbAuxIsGood(const rdbAux *f);

#endif
