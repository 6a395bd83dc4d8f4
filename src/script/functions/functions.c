/* functions.c -- the libraries whose functions clients can call.
 *
 * Owns        the table.
 * Threads     main.
 * Tests       tests/script/functions.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "functions.h"

#include "bio.h"
#include "panic.h"
#include "script_run.h"

static functionTable *in_use; /* owns */

void functionsInit(void) {
    serverAssert(!in_use);
    in_use = functionTableCreate();
}

functionTable *functionsInUse(void) { return in_use; }

static void freeTable(void *arg) { functionTableFree(arg, false); }

void functionsFlush(bool async) {
    debugAssert(!scriptRunning());
    functionTable *old = in_use;
    in_use = functionTableCreate();
    functionEngineOnly()->reset(async);
    if (async) bioSubmit(BIO_LAZY_FREE, freeTable, old);
    else freeTable(old);
}

void functionsExchange(functionTable *with) {
    debugAssert(!scriptRunning());
    functionTable *old = in_use;
    debugAssert(with != old);
    in_use = with;
    functionTableFree(old, true);
}

/* --- Libraries in files ------------------------------------------------------------------------------------------- */

void functionsEach(void (*take)(void *arg, slice text), void *arg) {
    dictIterator it;
    const functionLibrary *library;
    dictIterBegin(&it, in_use->libraries, false);
    while ((library = dictIterNext(&it))) take(arg, sdsSlice(library->text));
    dictIterEnd(&it);
}

sds functionsTake(slice text, bool replace) {
    sds error;
    debugAssert(!scriptRunning());
    functionTableLoad(in_use, text, (functionLoading){.replace = replace}, &error);
    return error;
}

void functionsClear(void) { functionsFlush(false); }
