/* multi_pop.h -- commands that pop elements of the first of several keys that exists: LMPOP, BLPOP, ZMPOP and more.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef COMMANDS_MULTI_POP_H
#define COMMANDS_MULTI_POP_H

#include "client.h"
#include "object.h"

/* Describes how values of one type are popped. */
typedef struct popKind {
    objectTypeId type;
    const char *ends[2];     /* the words for the two ends of a value */
    const char *commands[2]; /* "NAME key [count]", which pop from these ends and are propagated */
    long long parts;         /* elements of the reply of firstPopBlocking(): 2 for key and element */
    size_t (*count)(const robj *o);
    /* Adds `n` elements from the end `at_second` to the reply and removes them. `nested` is set if the reply has a list
     * of elements, as that of LMPOP and ZMPOP. */
    void (*pop)(client *c, hashedKey key, robj *o, bool at_second, size_t n, bool nested);
} popKind;

/* Runs LMPOP or ZMPOP: numkeys key [key ...] END [COUNT count] */
void multiPop(client *c, const popKind *kind);
/* Runs BLMPOP or BZMPOP: timeout numkeys key [key ...] END [COUNT count] */
void multiPopBlocking(client *c, const popKind *kind);
/* Runs BLPOP, BRPOP, BZPOPMIN or BZPOPMAX: key [key ...] timeout */
void firstPopBlocking(client *c, const popKind *kind, bool at_second);

#endif
