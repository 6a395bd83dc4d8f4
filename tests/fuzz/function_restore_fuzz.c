/* function_restore_fuzz.c -- feeds payloads of FUNCTION RESTORE without their footer: they are rejected, or give
 * libraries that can be dumped and restored unchanged.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "hash.h"
#include "endian.h"
#include "function_table.h"
#include "function_library.h"
#include "panic.h"
#include "rdb_value.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A language whose source text is one name. */
static sds load(functionLibrary *library, slice code, bool limited) {
    unused(limited);
    const char *refused = functionLibraryAdd(library, code, NULL, 0, 1);
    return refused ? sdsNew(refused) : NULL;
}

static void forget(int function) { unused(function); }

static void reset(bool async) { unused(async); }

static const functionEngine names = {.name = "LUA", .load = load, .forget = forget, .reset = reset};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char foot[10];
    functionEngineSet(&names);
    functionTable *t = functionTableCreate(), *again = functionTableCreate();
    sds payload = sdsNewLen((const char *)data, size);
    storeLe16(foot, RDB_VERSION);
    payload = sdsCatLen(payload, foot, 2);
    storeLe64(foot, crc64(0, payload, sdsLen(payload)));
    payload = sdsCatLen(payload, foot, 8);
    sds error = functionDumpLoad(t, sdsSlice(payload), false, (functionLoading){.replace = true});
    sdsFree(error);
    sdsFree(payload);
    payload = functionDump(t);
    error = functionDumpLoad(again, sdsSlice(payload), false, (functionLoading){.replace = false});
    if (error) serverPanic("What was dumped is refused: %s", error);
    serverAssert(again->count == t->count && dictSize(again->libraries) == dictSize(t->libraries));
    sdsFree(payload);
    functionTableFree(t, true);
    functionTableFree(again, true);
    return 0;
}
