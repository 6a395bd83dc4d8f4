/* key_walk.h -- SCAN through all keys, with what is asked about each on the way.
 *
 * A reply that makes no sense, or a lost connection, ends the program with a message. Ctrl-C ends the walk.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLI_KEY_WALK_H
#define CLI_KEY_WALK_H

#include "progress_line.h"
#include "session.h"

#define KEY_WALK_BATCH 64 /* keys that are asked about in one write */

/* What may be asked about keys. Each of the first two asks for the type as well. */
enum { KEY_ELEMENTS = 1, KEY_BYTES = 2, KEY_FREQUENCY = 4 };

typedef struct keyFacts {
    slice name;          /* borrowed, as all of it, until the next call */
    sds type;            /* NULL: not asked for, or the key has gone */
    long long elements;  /* 0: not known of this type */
    long long bytes;     /* by MEMORY USAGE */
    long long frequency; /* by OBJECT FREQ */
} keyFacts;

typedef struct keyWalk {
    cliSession *session; /* borrowed */
    unsigned wanted;
    char *cursor, *step_cursor; /* own; of the step to come, and of the last one */
    replyValue *step;           /* owns; SCAN's last reply */
    size_t next;                /* the key of it that comes next */
    long long all, seen, steps; /* keys of the database by DBSIZE; keys handed out; calls of SCAN */
    long long seen_before;      /* this step */
    keyFacts batch[KEY_WALK_BATCH];
    size_t batch_len;
    progressLine progress;
} keyWalk;

/* Print what is going to happen, and how to be gentle with a busy server. */
void keyWalkPrint(const cliSession *s, const char *question);
/* From `cursor` (NULL: the beginning), with the options' pattern and count. `wanted`: KEY_* of all questions. */
void keyWalkBegin(keyWalk *w, cliSession *s, const char *cursor, unsigned wanted);
/* The next keys; 0 when all have come, or Ctrl-C has. */
size_t keyWalkNext(keyWalk *w, const keyFacts **facts);
/* Have all keys come? */
bool keyWalkIsWhole(const keyWalk *w);
/* Where another walk would go on. Keys of a step that was not done come once more. */
const char *keyWalkCursor(const keyWalk *w);
/* The progress on the terminal makes room for a line on stdout. */
void keyWalkMakeRoom(keyWalk *w);
void keyWalkEnd(keyWalk *w);

/* What elements of this type are called. */
const char *keyWalkUnit(const char *type);

/* One step of SCAN, for who wants names alone. Returns the keys (in the reply, the caller's) and moves the cursor, a
 * block of zmalloc. */
replyValue *keyWalkStep(cliSession *s, char **cursor, const replyValue **keys);

#endif
