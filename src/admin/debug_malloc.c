/* debug_malloc.c -- DEBUG MALLCTL and MALLCTL-STR: reads and changes the allocator's own settings.
 *
 * Besides base/zmalloc*.c this is the only file that calls jemalloc by name. A setting is a bool, a 32-bit or a 64-bit
 * number, and the allocator refuses a wrong width, so all are tried. Without jemalloc the subcommands do not exist.
 *
 * Threads     main.
 * Tests       tests/differential/server_compare.py
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "debug_internal.h"

#include "reply.h"

#ifdef USE_LIBC_MALLOC

void debugMallctl(client *c) { addReplySubcommandSyntaxError(c); }

void debugMallctlStr(client *c) { addReplySubcommandSyntaxError(c); }

#else

#include <errno.h>
#include <jemalloc/jemalloc.h>

/* A number of any of the three widths, in little-endian order. */
typedef union number {
    bool flag;
    uint32_t narrow;
    uint64_t wide;
} number;

static int readNumber(const char *key, number *out) {
    static const size_t widths[] = {sizeof(uint64_t), sizeof(uint32_t), sizeof(bool)};
    int error = EINVAL;
    for (size_t i = 0; i < array_len(widths) && error == EINVAL; i++) {
        size_t len = widths[i];
        out->wide = 0;
        error = mallctl(key, out, &len, NULL, 0);
    }
    return error;
}

static int writeNumber(const char *key, uint64_t value) {
    number n = {.wide = value};
    int error = mallctl(key, NULL, NULL, &n, sizeof(n.wide));
    if (error == EINVAL) {
        n.narrow = (uint32_t)value;
        error = mallctl(key, NULL, NULL, &n, sizeof(n.narrow));
    }
    if (error == EINVAL) {
        n.flag = value != 0;
        error = mallctl(key, NULL, NULL, &n, sizeof(n.flag));
    }
    return error;
}

/* MALLCTL key [value]: replies with the value before the change. */
void debugMallctl(client *c) {
    long long value = 0;
    if (c->argc == 4 && !getLongLongFromArg(c, 3, &value, NULL)) return;
    sds key = sdsFromSlice(c->argv[2]);
    number old;
    int error = readNumber(key, &old);
    if (c->argc == 4 && (error == 0 || error == EPERM)) {
        bool write_only = error == EPERM;
        if (write_only) old.wide = 0;
        error = writeNumber(key, (uint64_t)value);
    }
    if (error) addReplyErrorFormat(c, "%s", strerror(error));
    else addReplyLongLong(c, (long long)old.wide);
    sdsFree(key);
}

void debugMallctlStr(client *c) {
    sds key = sdsFromSlice(c->argv[2]);
    const char *old = "";
    size_t len = sizeof(old);
    int error = mallctl(key, &old, &len, NULL, 0);
    if (c->argc == 4 && (error == 0 || error == EPERM)) {
        /* The allocator keeps the pointer: the text is never freed. */
        const char *text = sdsFromSlice(c->argv[3]);
        error = mallctl(key, NULL, NULL, (void *)&text, sizeof(text));
    }
    if (error) addReplyErrorFormat(c, "%s", strerror(error));
    else addReplyBulkCString(c, old);
    sdsFree(key);
}

#endif
