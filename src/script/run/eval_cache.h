/* eval_cache.h -- scripts of EVAL and SCRIPT LOAD that the server keeps, by the SHA1 of their text.
 *
 * Scripts that only EVAL has brought are forgotten when there are too many of them, those unused for longest first.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCRIPT_EVAL_CACHE_H
#define SCRIPT_EVAL_CACHE_H

#include "adlist.h"
#include "interpreter.h"
#include "sds.h"

#define SHA1_HEX 40
#define EVAL_SCRIPTS_MAX 500

typedef struct evalScript {
    char sha[SHA1_HEX]; /* lower case */
    uint32_t flags;     /* SCRIPT_ */
    int function;       /* in the interpreter's registry */
    sds text;           /* owns */
    listNode *node;     /* its place among those that may be forgotten; NULL: it stays (SCRIPT LOAD) */
} evalScript;

/* Boot. */
void evalCacheInit(void);
interpreter *evalInterpreter(void);

/* By its text, compiled when it is new; `stay`: SCRIPT LOAD. NULL, and *error is the caller's. */
evalScript *evalCacheAdd(slice text, bool stay, sds *error);
/* By its SHA1, any case; NULL: it is not there. A look is no use. */
evalScript *evalCacheFind(slice sha);
/* It runs: of those that may be forgotten it is the last now. */
void evalCacheUsed(evalScript *s);
/* All, and the interpreter with its memory; `async`: that is freed in the background. Not while a script runs. */
void evalCacheFlush(bool async);

typedef struct evalTotals {
    size_t scripts;     /* how many */
    size_t memory;      /* what keeping them takes here */
    size_t interpreter; /* what the interpreter has */
    long long evicted;  /* forgotten since the start */
} evalTotals;
evalTotals evalCacheTotals(void);

#endif
