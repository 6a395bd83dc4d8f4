/* check_rdb_report.c -- prints what was found in a snapshot, as a table, as lines, as CSV or as JSON.
 *
 * Each figure is a row, each type a column. The JSON object has the same figures under the same names, by database and
 * type, without databases and types that have no keys.
 *
 * Not here    the lines that are printed while the file is read (check_rdb_pass.c).
 * Owns        nothing.
 * Threads     one.
 * Tests       tests/persist/check_rdb.tcl, tests/differential/check_rdb
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "check_rdb_report.h"

#include "check_rdb_text.h"

#define GAP_MAX 65536 /* databases without keys get rows if the next one with keys is below this */

typedef unsigned long long ull;

/* ---- Figures ---- */

static const char *const type_names[] = {
    [OBJ_STRING] = "string", [OBJ_LIST] = "list",     [OBJ_SET] = "set",       [OBJ_ZSET] = "zset",
    [OBJ_HASH] = "hash",     [OBJ_MODULE] = "module", [OBJ_STREAM] = "stream",
};
static_assert(array_len(type_names) == OBJ_TYPES, "a name for each type");

typedef struct figure {
    const char *name;
    enum { COUNT, MEAN, PERCENTILE } kind;
    size_t at;         /* in checkRdbTypeStats: the number, the sum, or the samples */
    size_t per;        /* if MEAN: in checkRdbTypeStats, the number of what was summed */
    double percentile; /* if PERCENTILE */
} figure;

#define AT(field) offsetof(checkRdbTypeStats, field)
static const figure figures[] = {
    {"keys.total", COUNT, AT(keys), 0, 0},
    {"expire_keys.total", COUNT, AT(expire_keys), 0, 0},
    {"already_expired.total", COUNT, AT(expired_keys), 0, 0},
    {"keys.size", COUNT, AT(key_bytes), 0, 0},
    {"keys.value_size", COUNT, AT(value_bytes), 0, 0},
    {"elements.total", COUNT, AT(elements), 0, 0},
    {"elements.size", COUNT, AT(value_bytes), 0, 0},
    {"elements.num.max", COUNT, AT(elements_max), 0, 0},
    {"elements.num.avg", MEAN, AT(elements), AT(keys), 0},
    {"elements.num.p99", PERCENTILE, AT(counts), 0, 99},
    {"elements.num.p90", PERCENTILE, AT(counts), 0, 90},
    {"elements.num.p50", PERCENTILE, AT(counts), 0, 50},
    {"elements.size.max", COUNT, AT(element_max), 0, 0},
    {"elements.size.avg", MEAN, AT(value_bytes), AT(elements), 0},
    {"elements.size.p99", PERCENTILE, AT(sizes), 0, 99},
    {"elements.size.p90", PERCENTILE, AT(sizes), 0, 90},
    {"elements.size.p50", PERCENTILE, AT(sizes), 0, 50},
};

#define FIGURE_SIZE 32

static uint64_t numberAt(const checkRdbTypeStats *t, size_t at) {
    return *(const uint64_t *)(const void *)((const char *)t + at);
}

/* Formats a figure. `t` is NULL if there are no keys of the type. */
static void figureText(char out[FIGURE_SIZE], const figure *f, const checkRdbTypeStats *t) {
    static const checkRdbTypeStats none;
    long double real = 0;
    if (!t) t = &none;
    switch (f->kind) {
    case COUNT: snprintf(out, FIGURE_SIZE, "%llu", (ull)numberAt(t, f->at)); return;
    case MEAN:
        if (numberAt(t, f->per)) real = (long double)numberAt(t, f->at) / (long double)numberAt(t, f->per);
        break;
    case PERCENTILE:
        real = (long double)checkRdbPercentile(*(checkRdbSamples *const *)(const void *)((const char *)t + f->at),
                                               f->percentile);
        break;
    }
    snprintf(out, FIGURE_SIZE, "%.2Lf", real);
}

/* ---- Rows ---- */

static void putName(FILE *out, checkRdbFormat format, uint32_t db, const char *name) {
    char text[64];
    snprintf(text, sizeof(text), "db.%u.%s", db, name);
    fprintf(out, format == CHECK_RDB_CSV ? "%s" : "%-30s", text);
}

static void putCell(FILE *out, checkRdbFormat format, const char *text) {
    fprintf(out, format == CHECK_RDB_CSV ? ",%s" : "\t%-5s", text);
}

static void putRows(FILE *out, checkRdbFormat format, const checkRdbStats *s, uint32_t db) {
    char text[FIGURE_SIZE];
    putName(out, format, db, "type.name");
    for (int type = 0; type < OBJ_TYPES; type++) putCell(out, format, type_names[type]);
    fputc('\n', out);
    for (size_t i = 0; i < array_len(figures); i++) {
        putName(out, format, db, figures[i].name);
        for (int type = 0; type < OBJ_TYPES; type++) {
            figureText(text, &figures[i], checkRdbStatsOf(s, db, (objectTypeId)type));
            putCell(out, format, text);
        }
        fputc('\n', out);
    }
}

static void putInfo(FILE *out, const checkRdbStats *s, uint32_t db) {
    char text[FIGURE_SIZE];
    for (size_t i = 0; i < array_len(figures); i++) {
        for (int type = 0; type < OBJ_TYPES; type++) {
            figureText(text, &figures[i], checkRdbStatsOf(s, db, (objectTypeId)type));
            fprintf(out, "[info] db.%u.type.%s.%s:%s\n", db, type_names[type], figures[i].name, text);
        }
    }
}

static void putDb(FILE *out, checkRdbFormat format, const checkRdbStats *s, uint32_t db) {
    if (format == CHECK_RDB_INFO) putInfo(out, s, db);
    else putRows(out, format, s, db);
}

void checkRdbPutStats(FILE *out, checkRdbFormat format, const checkRdbStats *s) {
    uint32_t db, row = 0;
    for (size_t next = 0; checkRdbStatsNextDb(s, &next, &db);) {
        for (; row < db && db < GAP_MAX; row++) putDb(out, format, s, row);
        putDb(out, format, s, db);
        row = db + 1;
    }
    if (row == 0) putDb(out, format, s, 0);
    if (checkRdbStatsLeftOut(s))
        fprintf(out, "[info] %llu keys of further databases are not counted\n", (ull)checkRdbStatsLeftOut(s));
}

void checkRdbPutBiggest(FILE *out, const checkRdbBiggest *b) {
    for (size_t i = 0; i < b->count; i++) {
        const checkRdbBig *k = &b->keys[i];
        fprintf(out, "[biggest] %llu bytes, %llu elements, type %d (%s), offset %llu, db %u, key '%s'\n", (ull)k->bytes,
                (ull)k->elements, k->rdb_type, checkRdbTypeName(k->rdb_type), (ull)k->offset, k->db, k->name);
    }
}

/* ---- JSON ---- */

static void putDatabase(FILE *out, const checkRdbStats *s, uint32_t db) {
    uint64_t keys = 0, expires = 0, expired = 0;
    for (int type = 0; type < OBJ_TYPES; type++) {
        const checkRdbTypeStats *t = checkRdbStatsOf(s, db, (objectTypeId)type);
        if (!t) continue;
        keys += t->keys;
        expires += t->expire_keys;
        expired += t->expired_keys;
    }
    fprintf(out, "{\"db\":%u,\"keys\":%llu,\"expires\":%llu,\"already_expired\":%llu,\"types\":{", db, (ull)keys,
            (ull)expires, (ull)expired);
    bool first = true;
    for (int type = 0; type < OBJ_TYPES; type++) {
        const checkRdbTypeStats *t = checkRdbStatsOf(s, db, (objectTypeId)type);
        char text[FIGURE_SIZE];
        if (!t) continue;
        fprintf(out, "%s\"%s\":", first ? "" : ",", type_names[type]);
        first = false;
        for (size_t i = 0; i < array_len(figures); i++) {
            figureText(text, &figures[i], t);
            fprintf(out, "%s\"%s\":%s", i ? "," : "{", figures[i].name, text);
        }
        fputc('}', out);
    }
    fputs("}}", out);
}

static void putFault(FILE *out, const checkRdbFound *found) {
    if (found->is_good) {
        fputs("null", out);
        return;
    }
    fprintf(out, "{\"offset\":%llu,\"text\":", (ull)found->offset);
    checkRdbPutJson(out, found->fault);
    fprintf(out, ",\"doing\":\"%s\",\"key\":", checkRdbStepName(found->step));
    if (found->fault_key) checkRdbPutJson(out, found->fault_key);
    else fputs("null", out);
    if (found->fault_type < 0) fputs(",\"type\":null}", out);
    else fprintf(out, ",\"type\":\"%s\"}", checkRdbTypeName(found->fault_type));
}

static void putAux(FILE *out, const checkRdbFound *found) {
    fputs(",\"aux\":[", out);
    for (size_t i = 0; i < found->aux_count; i++) {
        fputs(i ? ",{\"name\":" : "{\"name\":", out);
        checkRdbPutJson(out, found->aux[i][0]);
        fputs(",\"value\":", out);
        checkRdbPutJson(out, found->aux[i][1]);
        fputc('}', out);
    }
    fputc(']', out);
}

static void putBigKeys(FILE *out, const checkRdbBiggest *b) {
    fputs(",\"biggest\":[", out);
    for (size_t i = 0; i < b->count; i++) {
        const checkRdbBig *k = &b->keys[i];
        fprintf(out, "%s{\"db\":%u,\"key\":", i ? "," : "", k->db);
        checkRdbPutJson(out, k->name);
        fprintf(out, ",\"type\":\"%s\",\"bytes\":%llu,\"elements\":%llu,\"offset\":%llu}",
                checkRdbTypeName(k->rdb_type), (ull)k->bytes, (ull)k->elements, (ull)k->offset);
    }
    fputc(']', out);
}

void checkRdbPutObject(FILE *out, const char *path, const checkRdbFound *found, const checkRdbStats *s,
                       const checkRdbBiggest *b) {
    uint32_t db;
    sds file = checkRdbText(sliceStr(path));
    fputs("{\"file\":", out);
    checkRdbPutJson(out, file);
    sdsFree(file);
    fprintf(out, ",\"ok\":%s,\"version\":%u,\"needs_relaxed\":%s,\"checksum\":%s,\"offset\":%llu,\"error\":",
            found->is_good ? "true" : "false", found->version, checkRdbNeedsRelaxed(found) ? "true" : "false",
            found->has_checksum ? "true" : "false", (ull)found->offset);
    putFault(out, found);
    fprintf(
        out,
        ",\"keys\":%llu,\"expires\":%llu,\"already_expired\":%llu,\"empty\":%llu,\"functions\":%llu,\"scripts\":%llu",
        (ull)found->keys, (ull)found->expires, (ull)found->expired, (ull)found->empty, (ull)found->functions,
        (ull)found->scripts);
    putAux(out, found);
    fputs(",\"databases\":[", out);
    for (size_t next = 0, i = 0; checkRdbStatsNextDb(s, &next, &db); i++) {
        if (i) fputc(',', out);
        putDatabase(out, s, db);
    }
    fprintf(out, "],\"keys_left_out\":%llu", (ull)checkRdbStatsLeftOut(s));
    putBigKeys(out, b);
    fputs("}\n", out);
}
