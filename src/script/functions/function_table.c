/* function_table.c -- libraries by their names, and the functions of all of them by theirs.
 *
 * Not here    the table that clients use (functions.c).
 * Owns        nothing.
 * Threads     main.
 * Invariants  1. A function in the table belongs to a library in the table.
 *             2. No two libraries have functions whose names differ only by case.
 *             3. `bytes` and `count` are those of the libraries in the table.
 * Tests       tests/unit/script/functions/function_table_test.c, tests/script/functions.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "function_table.h"

#include "hash.h"
#include "panic.h"
#include "zmalloc.h"

#include <strings.h>

static const functionEngine *only; /* borrowed, forever */

void functionEngineSet(const functionEngine *engine) { only = engine; }
const functionEngine *functionEngineOnly(void) { return only; }

/* --- Finding ------------------------------------------------------------------------------------------------------ */

static slice libraryName(const void *entry) { return sdsSlice(((const functionLibrary *)entry)->name); }
static slice functionName(const void *entry) { return sdsSlice(((const libraryFunction *)entry)->name); }
static uint64_t hashAnyCase(slice name) { return hashBytesNoCase(name.ptr, name.len); }
static bool sameAnyCase(slice a, slice b) { return a.len == b.len && strncasecmp(a.ptr, b.ptr, a.len) == 0; }

/* Asserts the invariants, before and after each change of a table. */
static void tableCheck(const functionTable *t) {
#ifdef DEBUG_ASSERTIONS
    enum { CHECKED_MAX = 1000 };
    debugAssert(dictSize(t->functions) <= t->count && dictSize(t->libraries) <= t->count);
    if (t->count > CHECKED_MAX) return;
    dictIterator it;
    const libraryFunction *f;
    const functionLibrary *library;
    size_t bytes = 0, count = 0;
    dictIterBegin(&it, t->libraries, false);
    while ((library = dictIterNext(&it))) {
        bytes += library->bytes;
        count += dictSize(library->functions);
    }
    dictIterEnd(&it);
    debugAssert(bytes == t->bytes && count == t->count);
    dictIterBegin(&it, t->functions, false);
    while ((f = dictIterNext(&it))) {
        slice name = sdsSlice(f->library->name);
        debugAssert(dictFind(t->libraries, name, dictHash(t->libraries, name)) == f->library);
    }
    dictIterEnd(&it);
#else
    unused(t);
#endif
}

functionTable *functionTableCreate(void) {
    static const dictType libraries = {.entryKey = libraryName},
                          functions = {.entryKey = functionName, .hash = hashAnyCase, .keyEqual = sameAnyCase};
    functionTable *t = zmalloc(sizeof(*t));
    *t = (functionTable){.libraries = dictCreate(&libraries), .functions = dictCreate(&functions)};
    return t;
}

static const functionLibrary *libraryNamed(const functionTable *t, slice name) {
    return dictFind(t->libraries, name, dictHash(t->libraries, name));
}

const libraryFunction *functionTableFind(const functionTable *t, slice name) {
    return dictFind(t->functions, name, dictHash(t->functions, name));
}

size_t functionTableMemory(const functionTable *t) {
    return zmallocSize(t) + t->bytes + dictMemUsage(t->libraries) + dictMemUsage(t->functions);
}

/* --- Adding and removing ------------------------------------------------------------------------------------------ */

static void functionTablePut(functionTable *t, functionLibrary *library) {
    dictIterator it;
    libraryFunction *f;
    dictAddNew(t->libraries, library, dictHash(t->libraries, sdsSlice(library->name)));
    dictIterBegin(&it, library->functions, false);
    while ((f = dictIterNext(&it))) {
        uint64_t hash = dictHash(t->functions, sdsSlice(f->name));
        if (!dictFind(t->functions, sdsSlice(f->name), hash)) dictAddNew(t->functions, f, hash);
    }
    dictIterEnd(&it);
    t->bytes += library->bytes;
    t->count += dictSize(library->functions);
}

/* Removes a library from the table and returns it, or NULL if there is none of that name. */
static functionLibrary *functionTableTake(functionTable *t, slice name) {
    functionLibrary *library = dictPop(t->libraries, name, dictHash(t->libraries, name));
    if (!library) return NULL;
    dictIterator it;
    const libraryFunction *f;
    dictIterBegin(&it, library->functions, false);
    while ((f = dictIterNext(&it))) dictPopEntry(t->functions, f, dictHash(t->functions, sdsSlice(f->name)));
    dictIterEnd(&it);
    t->bytes -= library->bytes;
    t->count -= dictSize(library->functions);
    return library;
}

bool functionTableDelete(functionTable *t, slice name) {
    functionLibrary *library = functionTableTake(t, name);
    tableCheck(t);
    if (!library) return false;
    functionLibraryFree(library, true);
    return true;
}

void functionTableFree(functionTable *t, bool forget) {
    dictIterator it;
    functionLibrary *library;
    dictRelease(t->functions);
    dictIterBegin(&it, t->libraries, true);
    while ((library = dictIterNext(&it))) {
        dictPopEntry(t->libraries, library, dictHash(t->libraries, sdsSlice(library->name)));
        functionLibraryFree(library, forget);
    }
    dictIterEnd(&it);
    dictRelease(t->libraries);
    zfree(t);
}

/* --- Joining ------------------------------------------------------------------------------------------------------ */

/* Returns the text of an error if the name of a function of `library` is taken by a library that stays, which is one
 * that `from` does not replace. */
static sds functionConflict(const functionTable *t, const functionLibrary *library, const functionTable *from) {
    dictIterator it;
    const libraryFunction *f;
    sds error = NULL;
    dictIterBegin(&it, library->functions, false);
    while (!error && (f = dictIterNext(&it))) {
        const libraryFunction *other = functionTableFind(t, sdsSlice(f->name));
        if (other && !libraryNamed(from, sdsSlice(other->library->name)))
            error = sdsCatPrintf(sdsEmpty(), "Function %s already exists", f->name);
    }
    dictIterEnd(&it);
    return error;
}

static sds libraryConflict(const functionTable *t, const functionTable *from, bool replace) {
    dictIterator it;
    const functionLibrary *library;
    sds error = NULL;
    dictIterBegin(&it, from->libraries, false);
    while (!error && (library = dictIterNext(&it))) {
        if (!replace && libraryNamed(t, sdsSlice(library->name)))
            error = sdsCatPrintf(sdsEmpty(), "Library %s already exists", library->name);
        else error = functionConflict(t, library, from);
    }
    dictIterEnd(&it);
    return error;
}

sds functionTableJoin(functionTable *t, functionTable *from, bool replace) {
    tableCheck(t);
    tableCheck(from);
    sds error = libraryConflict(t, from, replace);
    if (error) return error;
    /* Replaced libraries are removed first: their functions may reappear in another library. */
    dictIterator it;
    functionLibrary *library;
    dictIterBegin(&it, from->libraries, false);
    while ((library = dictIterNext(&it))) functionTableDelete(t, sdsSlice(library->name));
    dictIterEnd(&it);
    dictIterBegin(&it, from->libraries, true);
    while ((library = dictIterNext(&it))) functionTablePut(t, functionTableTake(from, sdsSlice(library->name)));
    dictIterEnd(&it);
    tableCheck(t);
    debugAssert(from->count == 0 && from->bytes == 0);
    return NULL;
}

static sds checkHead(const functionTable *t, const libraryHead *head, bool replace) {
    if (strcasecmp(head->engine, only->name) != 0)
        return sdsCatPrintf(sdsEmpty(), "Engine '%s' not found", head->engine);
    if (!replace && libraryNamed(t, sdsSlice(head->name)))
        return sdsCatPrintf(sdsEmpty(), "Library '%s' already exists", head->name);
    return NULL;
}

const functionLibrary *functionTableLoad(functionTable *t, slice text, functionLoading how, sds *error) {
    libraryHead head;
    if ((*error = libraryReadHead(text, &head))) return NULL;
    functionLibrary *library = NULL;
    if (!(*error = checkHead(t, &head, how.replace)))
        library = functionLibraryCreate(text, &head, only, how.limited, error);
    libraryHeadFree(&head);
    if (!library) return NULL;
    functionTable *alone = functionTableCreate();
    functionTablePut(alone, library);
    *error = functionTableJoin(t, alone, how.replace);
    functionTableFree(alone, true);
    return *error ? NULL : library;
}
