/* eval_cache.h -- the scripts of EVAL and SCRIPT LOAD, by the SHA1 of their text.
 *
 * At most EVAL_SCRIPTS_MAX scripts that only EVAL has brought are kept; the least recently used ones are evicted.
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
    int function;       /* reference in the interpreter's registry (luaL_ref) */
    sds text;           /* owns */
    listNode *node;     /* its node in the list of scripts that may be evicted; NULL if it stays (SCRIPT LOAD) */
} evalScript;

/* Creates the interpreter and the empty cache. Call at startup. */
void evalCacheInit(void);
interpreter *evalInterpreter(void); /* the present one; a flush replaces it */

/* Returns the script of that text, which is compiled if it is new. `stay` (SCRIPT LOAD) exempts it from eviction.
 * Returns NULL if it cannot be compiled, with the reason in *error, which the caller frees. */
evalScript *evalCacheAdd(slice text, bool stay, sds *error);
/* Returns the script with that SHA1 (in any case), or NULL. Does not count as a use. */
evalScript *evalCacheFind(slice sha);
/* Marks the script as the most recently used one. Call when it runs. */
void evalCacheUsed(evalScript *s);
/* Removes all scripts and replaces the interpreter by a new one. The old one is freed by a background thread if
 * `async`. Must not be called while a script runs. */
void evalCacheFlush(bool async);

/* Sizes of the cache, for INFO. */
typedef struct evalTotals {
    size_t scripts;     /* number of scripts */
    size_t memory;      /* bytes of the scripts, without the interpreter */
    size_t interpreter; /* bytes of the interpreter */
    long long evicted;  /* number of scripts evicted since the start */
} evalTotals;
evalTotals evalCacheTotals(void); /* computes them */

#endif
