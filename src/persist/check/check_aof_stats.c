/* check_aof_stats.c -- statistics of an append-only file: commands by name, and the time that it covers.
 *
 * A file may be garbage that looks like commands, so the number of names is limited.
 *
 * Owns        names and counts.
 * Threads     one.
 * Invariants  1. At most NAMES_MAX rows, and one for all other names.
 * Tests       tests/tools/check_aof.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "check_aof_stats.h"

#include "command_table.h"
#include "rax.h"
#include "zmalloc.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

#define NAMES_MAX 1000
#define TS_LINE_MAX 64

typedef struct commandRow {
    sds name; /* owns: printable */
    uint64_t count, bytes;
} commandRow;

struct aofStats {
    rax *by_name;                /* owns: rows by name */
    commandRow *rows[NAMES_MAX]; /* owns */
    size_t names;
    commandRow rest, total;
    uint64_t timestamps;
    int64_t first_s, last_s; /* smallest and largest timestamp */
};

aofStats *aofStatsCreate(void) {
    aofStats *s = zcalloc(1, sizeof(*s));
    s->by_name = raxCreate();
    return s;
}

void aofStatsFree(aofStats *s) {
    if (!s) return;
    for (size_t i = 0; i < s->names; i++) {
        sdsFree(s->rows[i]->name);
        zfree(s->rows[i]);
    }
    raxRelease(s->by_name, NULL);
    zfree(s);
}

static commandRow *rowOf(aofStats *s, slice name) {
    void *found = NULL;
    if (raxFind(s->by_name, name, &found)) return found;
    if (s->names == NAMES_MAX) return &s->rest;
    commandRow *row = zcalloc(1, sizeof(*row));
    row->name = sdsCatRepr(sdsEmpty(), name.ptr, name.len);
    sdsRange(row->name, 1, -2); /* without the quotes */
    raxInsert(s->by_name, name, row, NULL);
    s->rows[s->names++] = row;
    return row;
}

void aofStatsCommand(aofStats *s, const aofScanItem *item) {
    bool bad_sub;
    const serverCommand *cmd = commandLookup(item->words, item->argc < 2 ? 1 : 2, &bad_sub);
    char lower[AOF_SCAN_WORD];
    slice name = item->words[0];
    for (size_t i = 0; i < name.len; i++)
        lower[i] = name.ptr[i] >= 'A' && name.ptr[i] <= 'Z' ? name.ptr[i] | 32 : name.ptr[i];
    commandRow *row = rowOf(s, cmd ? sliceStr(cmd->fullname) : sliceOf(lower, name.len));
    row->count++, s->total.count++;
    row->bytes += item->bytes, s->total.bytes += item->bytes;
}

bool aofTimestamp(slice line, int64_t *seconds, bool *good) {
    char text[TS_LINE_MAX] = "", *end;
    if (line.len < 4 || memcmp(line.ptr, "#TS:", 4) != 0) return false;
    memcpy(text, line.ptr + 4, line.len - 4 < sizeof(text) - 1 ? line.len - 4 : sizeof(text) - 1);
    errno = 0;
    *seconds = strtoll(text, &end, 10);
    *good = errno == 0 && *end == '\r';
    return true;
}

void aofStatsAnnotation(aofStats *s, const aofScanItem *item) {
    int64_t seconds;
    bool good;
    if (!aofTimestamp(item->text, &seconds, &good) || !good) return;
    if (s->timestamps == 0 || seconds < s->first_s) s->first_s = seconds;
    if (s->timestamps == 0 || seconds > s->last_s) s->last_s = seconds;
    s->timestamps++;
}

static int moreBytesFirst(const void *a, const void *b) {
    const commandRow *x = *(commandRow *const *)a, *y = *(commandRow *const *)b;
    if (x->bytes != y->bytes) return x->bytes < y->bytes ? 1 : -1;
    return sdsCmp(x->name, y->name);
}

static void printRow(FILE *out, const char *name, const commandRow *row) {
    fprintf(out, "%-32s %14" PRIu64 " %18" PRIu64 "\n", name, row->count, row->bytes);
}

static void printTime(FILE *out, const char *what, int64_t seconds) {
    char text[64];
    time_t t = (time_t)seconds;
    struct tm tm;
    if (!gmtime_r(&t, &tm) || strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S UTC", &tm) == 0) *text = '\0';
    fprintf(out, "%-16s %" PRId64 " (%s)\n", what, seconds, text);
}

void aofStatsPrint(const aofStats *s, FILE *out) {
    commandRow *sorted[NAMES_MAX];
    memcpy(sorted, s->rows, s->names * sizeof(*sorted));
    qsort(sorted, s->names, sizeof(*sorted), moreBytesFirst);
    fprintf(out, "%-32s %14s %18s\n", "command", "count", "bytes");
    for (size_t i = 0; i < s->names; i++) printRow(out, sorted[i]->name, sorted[i]);
    if (s->rest.count) printRow(out, "(others)", &s->rest);
    printRow(out, "(all)", &s->total);
    fprintf(out, "%-16s %" PRIu64 "\n", "timestamps", s->timestamps);
    if (s->timestamps == 0) return;
    printTime(out, "first timestamp", s->first_s);
    printTime(out, "last timestamp", s->last_s);
}
