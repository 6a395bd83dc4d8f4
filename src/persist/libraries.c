/* libraries.c -- see libraries.h.
 *
 * A library begins with a line "#!ENGINE name=NAME". What does not is kept as well: it is not for this file to judge.
 *
 * Not here    where they stand in a file (rdb_save.c, rdb_load.c).
 * Owns        the texts.
 * Threads     main.
 * Tests       tests/persist/loading.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "libraries.h"

#include "zmalloc.h"

#include <ctype.h>
#include <string.h>

#define NAMES_SHOWN_MAX 10

static struct {
    sds *code; /* owns, each */
    size_t count;
} libraries;

/* What follows "name=" in the first line, as far as it can be a name; empty: there is none. */
static slice nameOf(slice code) {
    const char *end = code.ptr + code.len, *line_end = code.len ? memchr(code.ptr, '\n', code.len) : NULL;
    if (line_end) end = line_end;
    size_t len = (size_t)(end - code.ptr), skip = strlen(" name=");
    const char *at = len ? memmem(code.ptr, len, " name=", skip) : NULL;
    if (!at) return sliceOf("", 0);
    at += skip;
    const char *to = at;
    while (to < end && (isalnum((unsigned char)*to) || *to == '_')) to++;
    return sliceOf(at, (size_t)(to - at));
}

/* One called `name` goes. */
static void drop(slice name) {
    for (size_t i = 0; i < libraries.count; i++) {
        if (!sliceEq(name, nameOf(librariesAt(i)))) continue;
        sdsFree(libraries.code[i]);
        libraries.code[i] = libraries.code[--libraries.count];
        return;
    }
}

void librariesAdd(slice code, bool replace) {
    if (replace) drop(nameOf(code));
    libraries.code = zrealloc(libraries.code, (libraries.count + 1) * sizeof(*libraries.code));
    libraries.code[libraries.count++] = sdsFromSlice(code);
}

void librariesClear(void) {
    for (size_t i = 0; i < libraries.count; i++) sdsFree(libraries.code[i]);
    zfree(libraries.code);
    libraries.code = NULL;
    libraries.count = 0;
}

size_t librariesCount(void) {
    return libraries.count;
}

slice librariesAt(size_t index) {
    return sdsSlice(libraries.code[index]);
}

sds librariesNames(void) {
    sds names = sdsEmpty();
    for (size_t i = 0; i < libraries.count && i < NAMES_SHOWN_MAX; i++) {
        slice name = nameOf(librariesAt(i));
        names = sdsCatPrintf(names, "%s%.*s", i ? ", " : "", (int)name.len, name.ptr);
    }
    return libraries.count > NAMES_SHOWN_MAX ? sdsCat(names, ", ...") : names;
}
