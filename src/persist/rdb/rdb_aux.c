/* rdb_aux.c -- reads an AUX field of a snapshot: metadata of the file as a name and a value.
 *
 * Not here    what a loader does with it (rdb_load.c).
 * Threads     any.
 * Tests       tests/unit/persist/rdb/rdb_load_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "rdb_aux.h"

#include "rdb_format.h"

#include <stdlib.h>
#include <strings.h>

bool rdbAuxRead(const rdbPiece *p, const rdbItem *item, rdbAux *out) {
    rdbReader r = {p->bytes + item->at, p->bytes + item->end};
    rdbText name, value;
    if (!rdbReadText(&r, &name)) return false;
    if (!rdbReadText(&r, &value)) {
        rdbTextFree(&name);
        return false;
    }
    *out = (rdbAux){sdsFromSlice(name.text), sdsFromSlice(value.text)};
    rdbTextFree(&name);
    rdbTextFree(&value);
    return true;
}

void rdbAuxFree(rdbAux *f) {
    sdsFree(f->name);
    sdsFree(f->value);
    *f = (rdbAux){0};
}

/* Accepts "slot,keys,keys with an expiry", and whatever follows. */
static bool slotInfoIsGood(const char *text) {
    for (int i = 0; i < 3; i++) {
        char *end;
        strtoull(text, &end, 10);
        if (end == text || (i < 2 && *end != ',')) return false;
        text = end + 1;
    }
    return true;
}

bool rdbAuxIsGood(const rdbAux *f) { return strcasecmp(f->name, RDB_AUX_SLOT_INFO) != 0 || slotInfoIsGood(f->value); }
