/* key_walk.h -- visits all keys by SCAN, and asks the server for facts about each.
 *
 * A malformed reply or a lost connection ends the program with a message. Ctrl-C ends the walk.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLI_KEY_WALK_H
#define CLI_KEY_WALK_H

#include "progress_line.h"
#include "cli_connection.h"

#define KEY_WALK_BATCH 64 /* keys whose questions are sent in one write */

/* The facts that can be requested. Each of the first two requests the type as well. */
enum { KEY_ELEMENTS = 1, KEY_BYTES = 2, KEY_FREQUENCY = 4 };

typedef struct keyFacts {
    slice name;          /* borrowed until the next call, like `type` */
    sds type;            /* NULL if not requested or the key is absent */
    long long elements;  /* 0 if not known for this type */
    long long bytes;     /* from MEMORY USAGE */
    long long frequency; /* from OBJECT FREQ */
} keyFacts;

typedef struct keyWalk {
    cliConnection *connection; /* borrowed */
    unsigned wanted;
    char *cursor, *step_cursor; /* own; of the next call of SCAN, and of the last one */
    replyValue *step;           /* owns; last reply of SCAN */
    size_t next;                /* index in it of the next key */
    long long all, seen, steps; /* keys of the database by DBSIZE; keys returned; calls of SCAN */
    long long seen_before;      /* value of `seen` before this step */
    keyFacts batch[KEY_WALK_BATCH];
    size_t batch_len;
    progressLine progress;
} keyWalk;

/* Prints what the walk does, and how to reduce the load on a busy server. */
void keyWalkPrint(const cliConnection *c, const char *question);
/* Starts at `cursor` (NULL: the beginning), with the pattern and count of the options. `wanted` is a set of KEY_...
 * flags. Catches Ctrl-C from now on. */
void keyWalkBegin(keyWalk *w, cliConnection *c, const char *cursor, unsigned wanted);
/* Stores the next keys in *facts and returns their number; 0 at the end or after Ctrl-C. */
size_t keyWalkNext(keyWalk *w, const keyFacts **facts);
/* Returns true if all keys have been returned. */
bool keyWalkIsWhole(const keyWalk *w);
/* Returns the cursor at which another walk can continue. Keys of an incomplete step are returned again by it. */
const char *keyWalkCursor(const keyWalk *w);
/* Clears the progress line. Call before a line is printed on stdout. */
void keyWalkClearLine(keyWalk *w);
void keyWalkEnd(keyWalk *w); /* frees what the walk owns */

/* The keys with the largest values seen, largest first. */
typedef struct topKey {
    sds name, type; /* own; the name quoted, as it is printed; the type may be NULL */
    long long value;
} topKey;
typedef struct topKeys {
    topKey *keys; /* owns */
    size_t count, capacity;
} topKeys;
topKeys topKeysCreate(long long capacity); /* keeps at most `capacity` keys, which must be at least 1 */
/* Adds a key if its value is among the largest. */
void topKeysAdd(topKeys *t, const keyFacts *key, long long value);
void topKeysFree(topKeys *t);

/* Returns the name of the elements of this type, such as "members". */
const char *keyWalkUnit(const char *type);

/* Calls SCAN once, for callers that need only the names. Returns the reply, which the caller frees and *keys points
 * into, and replaces *cursor, a zmalloc'ed string. */
replyValue *keyWalkStep(cliConnection *c, char **cursor, const replyValue **keys);

#endif
