/* function_library.c -- one library: its name, its text, its functions.
 *
 * Not here    the table of libraries (function_table.c), running their text (function_lua.c).
 * Owns        nothing.
 * Threads     main.
 * Tests       tests/unit/script/functions/function_table_test.c, tests/script/functions.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "function_library.h"

#include "script_flags.h"
#include "zmalloc.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

static bool isName(slice name) {
    for (size_t i = 0; i < name.len; i++)
        if (!isalnum((unsigned char)name.ptr[i]) && name.ptr[i] != '_') return false;
    return name.len > 0;
}

/* --- The first line ----------------------------------------------------------------------------------------------- */

/* Parses the words after the first: "name=NAME", exactly once. */
static sds readWords(const sds *words, int count, libraryHead *head) {
    static const char option[] = "name=";
    for (int i = 1; i < count; i++) {
        if (strncasecmp(words[i], option, sizeof(option) - 1) != 0)
            return sdsCatPrintf(sdsEmpty(), "Invalid metadata value given: %s", words[i]);
        if (head->name) return sdsNew("Invalid metadata value, name argument was given multiple times");
        head->name = sdsNew(words[i] + sizeof(option) - 1);
    }
    if (!head->name) return sdsNew("Library name was not given");
    if (!isName(sdsSlice(head->name)))
        return sdsNew("Library names can only contain letters, numbers, or underscores(_) and must be at least one "
                      "character long");
    head->engine = sdsNew(words[0] + strlen("#!"));
    return NULL;
}

sds libraryReadHead(slice text, libraryHead *head) {
    *head = (libraryHead){.name = NULL};
    if (text.len < 2 || memcmp(text.ptr, "#!", 2) != 0) return sdsNew("Missing library metadata");
    const char *end = memchr(text.ptr, '\n', text.len < SCRIPT_HEAD_BYTES ? text.len : SCRIPT_HEAD_BYTES);
    if (!end) return sdsNew("Invalid library metadata");
    head->code = sliceOf(end, text.len - (size_t)(end - text.ptr));
    sds line = sdsNewLen(text.ptr, (size_t)(end - text.ptr));
    int count = 0;
    sds *words = sdsSplitArgs(line, &count);
    sdsFree(line);
    if (!words) return sdsNew("Invalid library metadata");
    sds error = readWords(words, count, head);
    sdsFreeSplitRes(words, count);
    if (error) libraryHeadFree(head);
    return error;
}

void libraryHeadFree(libraryHead *head) {
    sdsFree(head->name);
    sdsFree(head->engine);
    *head = (libraryHead){.name = NULL};
}

/* --- The library -------------------------------------------------------------------------------------------------- */

static slice nameOf(const void *entry) { return sdsSlice(((const libraryFunction *)entry)->name); }

static void freeFunction(void *entry) {
    libraryFunction *f = entry;
    sdsFree(f->name);
    sdsFree(f->description);
    zfree(f);
}

const char *functionLibraryAdd(functionLibrary *library, slice name, const slice *description, uint32_t flags,
                               int function) {
    if (!isName(name))
        return "Function names can only contain letters, numbers, or underscores(_) and must be at least one "
               "character long";
    uint64_t hash = dictHash(library->functions, name);
    if (dictFind(library->functions, name, hash)) return "Function already exists in the library";
    libraryFunction *f = zmalloc(sizeof(*f));
    *f = (libraryFunction){.name = sdsFromSlice(name),
                           .description = description ? sdsFromSlice(*description) : NULL,
                           .flags = flags,
                           .function = function,
                           .library = library};
    dictAddNew(library->functions, f, hash);
    library->bytes += zmallocSize(f) + sdsAllocSize(f->name) + (f->description ? sdsAllocSize(f->description) : 0);
    return NULL;
}

functionLibrary *functionLibraryCreate(slice text, const libraryHead *head, const functionEngine *engine, bool limited,
                                       sds *error) {
    static const dictType type = {.entryKey = nameOf, .entryFree = freeFunction};
    functionLibrary *library = zmalloc(sizeof(*library));
    *library = (functionLibrary){.name = sdsFromSlice(sdsSlice(head->name)),
                                 .text = sdsFromSlice(text),
                                 .engine = engine,
                                 .functions = dictCreate(&type)};
    library->bytes = zmallocSize(library) + sdsAllocSize(library->name) + sdsAllocSize(library->text);
    *error = engine->load(library, head->code, limited);
    if (!*error && dictSize(library->functions) == 0) *error = sdsNew("No functions registered");
    if (!*error) {
        library->bytes += dictMemUsage(library->functions);
        return library;
    }
    functionLibraryFree(library, true);
    return NULL;
}

void functionLibraryFree(functionLibrary *library, bool forget) {
    if (forget) {
        dictIterator it;
        const libraryFunction *f;
        dictIterBegin(&it, library->functions, false);
        while ((f = dictIterNext(&it))) library->engine->forget(f->function);
        dictIterEnd(&it);
    }
    dictRelease(library->functions);
    sdsFree(library->name);
    sdsFree(library->text);
    zfree(library);
}
