/* open_metrics.c -- a snapshot of the server as text for metrics collectors.
 *
 * The snapshot contains the text of INFO. A line of it becomes one of these:
 *
 *     keyspace_hits:7                    a family of one sample:  valkey_keyspace_hits_total 7
 *     role:master                        a label:                 valkey_replication_info{role="master",...} 1
 *     db0:keys=1,expires=0,...           a row of a group:        valkey_db_keys{db="0"} 1, valkey_db_expires{db="0"} 0
 *     used_memory_human:1.00M            nothing: another line has it as a number
 *
 * With METRICS_NAMES_REDIS names and labels are those of an exporter, as far as it has the figure, and some families
 * that it makes of several INFO fields are added.
 *
 * The format requires all samples of a family to be adjacent, so a group is walked once for each of its columns.
 * Numbers are never converted: a unit is applied by moving the decimal point within the digits, so no value is rounded.
 *
 * Text that clients or operators chose (names of errors, addresses) is used only in labels, escaped; invalid UTF-8
 * becomes question marks.
 *
 * Not here    properties of single INFO fields (info_table.h); the exporter's names (exporter_names.h); when a text is
 *             made (http_server.c).
 * Owns        nothing.
 * Threads     any.
 * Invariants  1. No family appears twice, whatever INFO contains.
 *             2. A histogram has the same bounds in each snapshot.
 * Cost        docs/metrics.md
 * Tests       tests/unit/web/open_metrics_test.c, tests/clients/metrics.sh
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "open_metrics.h"

#include "exporter_names.h"
#include "hash.h"
#include "info_table.h"
#include "numbers.h"
#include "one_line.h"
#include "panic.h"
#include "version.h"
#include "zmalloc.h"

#include <stdio.h>

#define FAMILIES_MAX 4096 /* slots; half of them is more than INFO will ever need */
#define NAME_MAX_LEN 200
#define KEY_TEXT_MAX 200

static_assert((FAMILIES_MAX & (FAMILIES_MAX - 1)) == 0, "low bits of a hash choose a slot");

typedef struct writer {
    metricsFormat format;
    metricsNames names;
    slice primary_host, primary_port; /* borrowed from the snapshot; ptr is NULL on a primary */
    char *bytes;                      /* owns */
    size_t len, cap;
    size_t families;
    uint64_t seen[FAMILIES_MAX]; /* hash table of the hashes of families' names; 0: empty */
} writer;

/* ---- Bytes ---- */

static void openMetricsPut(writer *w, const char *p, size_t len) {
    if (unlikely(len > w->cap - w->len)) {
        w->cap = (w->cap + len) * 2;
        w->bytes = zrealloc(w->bytes, w->cap);
    }
    if (len) memcpy(w->bytes + w->len, p, len);
    w->len += len;
    debugAssert(w->len <= w->cap);
}

static void putStr(writer *w, const char *text) { openMetricsPut(w, text, strlen(text)); }

static void putSlice(writer *w, slice s) { openMetricsPut(w, s.ptr, s.len); }

static void putNumber(writer *w, long long value) {
    char digits[LONG_STR_SIZE];
    openMetricsPut(w, digits, ll2string(digits, value));
}

/* Appends a number as it is, or divided by 10^shift: "1234567", 6 -> "1.234567"; "-5", 3 -> "-0.005". */
static void putShifted(writer *w, slice number, unsigned shift) {
    char text[64];
    slice rest = number;
    debugAssert(number.len > 0 && shift < 16); /* the text has space for 40 digits and these */
    if (shift == 0 || number.len > 40) {
        putSlice(w, number);
        return;
    }
    if (rest.ptr[0] == '-') openMetricsPut(w, "-", 1), rest.ptr++, rest.len--;
    const char *point = memchr(rest.ptr, '.', rest.len);
    size_t whole = point ? (size_t)(point - rest.ptr) : rest.len, n = 0;
    for (size_t i = whole; i <= shift; i++) text[n++] = '0'; /* at least one digit before the point */
    memcpy(text + n, rest.ptr, whole);
    n += whole;
    memmove(text + n - shift + 1, text + n - shift, shift);
    text[n - shift] = '.';
    debugAssert(n > shift && n + 1 < sizeof(text));
    openMetricsPut(w, text, n + 1);
    if (point) openMetricsPut(w, point + 1, rest.len - whole - 1);
}

static void putEscaped(writer *w, slice value) {
    for (size_t i = 0, len; i < value.len; i += len) {
        unsigned char c = (unsigned char)value.ptr[i];
        len = utf8SequenceLen(value.ptr + i, value.len - i);
        if (c == '\\' || c == '"') openMetricsPut(w, c == '"' ? "\\\"" : "\\\\", 2);
        else if (c == '\n') openMetricsPut(w, "\\n", 2);
        else if (len == 0 || c < ' ' || c == 0x7f) openMetricsPut(w, "?", 1), len = 1;
        else openMetricsPut(w, value.ptr + i, len);
    }
}

static void putLabel(writer *w, slice name, slice value, bool first) {
    openMetricsPut(w, first ? "{" : ",", 1);
    putSlice(w, name);
    openMetricsPut(w, "=\"", 2);
    putEscaped(w, value);
    openMetricsPut(w, "\"", 1);
}

/* ---- Words ---- */

static bool startsWith(slice s, const char *start) {
    size_t len = strlen(start);
    return s.len >= len && !memcmp(s.ptr, start, len);
}

static bool endsWith(slice s, const char *end) {
    size_t len = strlen(end);
    return s.len >= len && !memcmp(s.ptr + s.len - len, end, len);
}

/* Returns true for digits with a sign and a fraction as INFO writes them: without an exponent, and without leading
 * zeroes, which identifiers have. */
static bool isNumber(slice s) {
    size_t at = s.len && s.ptr[0] == '-', begin = at, fraction;
    while (at < s.len && s.ptr[at] >= '0' && s.ptr[at] <= '9') at++;
    if (at == begin || (s.ptr[begin] == '0' && at - begin > 1)) return false;
    if (at == s.len) return true;
    fraction = ++at;
    if (s.ptr[at - 1] != '.') return false;
    while (at < s.len && s.ptr[at] >= '0' && s.ptr[at] <= '9') at++;
    return at == s.len && at > fraction;
}

static bool isName(slice s) {
    if (s.len == 0 || s.len > NAME_MAX_LEN || (s.ptr[0] >= '0' && s.ptr[0] <= '9')) return false;
    for (size_t i = 0; i < s.len; i++) {
        char c = s.ptr[i];
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_')) return false;
    }
    return true;
}

/* ---- Families ---- */

/* TYPE_UNKNOWN is a counter of the exporter whose name does not end as a counter's has to. */
typedef enum { TYPE_GAUGE, TYPE_COUNTER, TYPE_INFO, TYPE_HISTOGRAM, TYPE_UNKNOWN } familyType;

typedef struct family {
    slice name; /* without prefix and suffix */
    familyType type;
} family;

/* Returns the suffix of the samples' names, or "". */
static const char *suffixOf(familyType type) {
    return type == TYPE_COUNTER ? "_total" : type == TYPE_INFO ? "_info" : "";
}

/* Returns the family whose samples have the exporter's name. */
static family exporterFamily(const exporterName *row, familyType type) {
    slice name = sliceStr(row->theirs);
    if (!endsWith(name, suffixOf(type))) return (family){name, TYPE_UNKNOWN};
    name.len -= strlen(suffixOf(type));
    return (family){name, type};
}

static family familyOf(const writer *w, const char *name, familyType type) {
    const exporterName *row = w->names == METRICS_NAMES_REDIS ? exporterNameOfFamily(name) : NULL;
    return row ? exporterFamily(row, type) : (family){sliceStr(name), type};
}

static void putPrefix(writer *w) { putStr(w, w->names == METRICS_NAMES_REDIS ? "redis_" : "valkey_"); }

/* Returns true if the name is new, and records it. */
static bool isNew(writer *w, slice name) {
    uint64_t hash = hashBytes(name.ptr, name.len) | 1;
    if (w->families >= FAMILIES_MAX / 2) return false;
    size_t at = hash % FAMILIES_MAX;
    for (; w->seen[at]; at = (at + 1) % FAMILIES_MAX)
        if (w->seen[at] == hash) return false;
    w->seen[at] = hash;
    w->families++;
    return true;
}

/* Writes the lines before a family's samples. In OpenMetrics they name the family, in the older format the samples.
 * Returns false, and writes nothing, if the family was written before. */
static bool openMetricsBegin(writer *w, family f, const char *help, slice field, unsigned shift) {
    static const char *const types[METRICS_FORMATS][5] = {{"gauge", "counter", "gauge", "histogram", "untyped"},
                                                          {"gauge", "counter", "info", "histogram", "unknown"}};
    static const char *const shifts[] = {"", " / 10", " / 100", " / 1000", "", "", " / 1000000"};
    const char *suffix = w->format == METRICS_TEXT ? suffixOf(f.type) : "";
    debugAssert(isName(f.name) && (w->len == 0 || w->bytes[w->len - 1] == '\n')); /* a family begins a line */
    debugAssert(shift < array_len(shifts) && (shift == 0 || *shifts[shift]));
    if (!isNew(w, f.name)) return false;
    putStr(w, "# HELP ");
    putPrefix(w);
    putSlice(w, f.name);
    putStr(w, suffix);
    openMetricsPut(w, " ", 1);
    if (help) putStr(w, help);
    if (field.len) {
        putStr(w, help ? " (INFO: " : "(INFO: ");
        putSlice(w, field);
        putStr(w, shifts[shift]);
        openMetricsPut(w, ")", 1);
    }
    putStr(w, "\n# TYPE ");
    putPrefix(w);
    putSlice(w, f.name);
    putStr(w, suffix);
    openMetricsPut(w, " ", 1);
    putStr(w, types[w->format][f.type]);
    openMetricsPut(w, "\n", 1);
    return true;
}

static bool beginFamily(writer *w, family f, const char *help) {
    return openMetricsBegin(w, f, help, sliceOf("", 0), 0);
}

static void putSampleName(writer *w, family f) {
    putPrefix(w);
    putSlice(w, f.name);
    putStr(w, suffixOf(f.type));
}

/* Writes a family of one sample, whose value is divided by 10^shift. */
static void putSingleShifted(writer *w, const char *name, familyType type, const char *help, long long value,
                             unsigned shift) {
    char digits[LONG_STR_SIZE];
    family f = familyOf(w, name, type);
    if (!beginFamily(w, f, help)) return;
    putSampleName(w, f);
    openMetricsPut(w, " ", 1);
    putShifted(w, sliceOf(digits, ll2string(digits, value)), shift);
    openMetricsPut(w, "\n", 1);
}

static void putSingle(writer *w, const char *name, familyType type, const char *help, uint64_t value) {
    putSingleShifted(w, name, type, help, (long long)value, 0);
}

/* ---- Single INFO fields ---- */

/* Writes a family of one sample, whose value is divided by 10^shift. `of_primary` adds the primary's address. */
static void putFieldAs(writer *w, family f, const char *help, slice field, slice value, unsigned shift,
                       bool of_primary) {
    if (!openMetricsBegin(w, f, help, field, shift)) return;
    putSampleName(w, f);
    if (of_primary && w->primary_host.ptr && w->primary_port.ptr) {
        putLabel(w, sliceStr("master_host"), w->primary_host, true);
        putLabel(w, sliceStr("master_port"), w->primary_port, false);
        openMetricsPut(w, "}", 1);
    }
    openMetricsPut(w, " ", 1);
    putShifted(w, value, shift);
    openMetricsPut(w, "\n", 1);
}

static void putField(writer *w, const infoMetric *known, slice field, slice value) {
    familyType type = known && known->kind == INFO_COUNTER ? TYPE_COUNTER : TYPE_GAUGE;
    const char *help = known ? known->help : NULL;
    size_t count = 0;
    const exporterName *rows = w->names == METRICS_NAMES_REDIS ? exporterNamesOfField(field, &count) : NULL;
    if (type == TYPE_COUNTER && value.ptr[0] == '-') return; /* a counter cannot be negative */
    for (size_t i = 0; i < count; i++)
        putFieldAs(w, exporterFamily(&rows[i], type), help, field, value, rows[i].shift, rows[i].of_primary);
    if (count > 0) return;
    slice name = known && known->family ? sliceStr(known->family) : field;
    putFieldAs(w, (family){name, type}, help, field, value, known ? known->shift : 0, false);
}

static slice withoutPercent(slice value) {
    if (value.len > 1 && value.ptr[value.len - 1] == '%') value.len--;
    return value;
}

/* Returns true if the line becomes a label of its section, false if it becomes a family of its own. */
static bool isLabel(const infoMetric *known, slice field, slice value) {
    if (known && known->kind == INFO_LABEL) return true;
    if (known && known->kind != INFO_GAUGE && known->kind != INFO_COUNTER) return false;
    if (endsWith(field, "_human")) return false;
    return endsWith(field, "_serial") || !isNumber(withoutPercent(value));
}

static void putLine(writer *w, slice field, slice value) {
    const infoMetric *known = infoMetricFind(field);
    if (!isName(field) || isLabel(known, field, value) || endsWith(field, "_human")) return;
    if (known && known->kind == INFO_LEFT_OUT) return;
    if (known && known->kind == INFO_OK) value = sliceStr(sliceIs(value, "ok") ? "1" : "0");
    if (known && known->kind == INFO_UP) value = sliceStr(sliceIs(value, "up") ? "1" : "0");
    putField(w, known, field, withoutPercent(value));
}

/* ---- Groups: lines of one form, each with subfields ---- */

typedef struct groupColumn {
    const char *sub; /* name of the subfield */
    const char *family;
    familyType type;
    unsigned shift;
    const char *help;
} groupColumn;

typedef struct group {
    const char *section, *prefix, *label;
    const groupColumn *columns;   /* up to one without a name */
    bool has_address;             /* "ip" and "port" give one more label */
    const char *info, *info_help; /* name and help of a family of the text subfields; or NULL */
    const char *const *words;     /* names of the text subfields, up to NULL */
} group;

static const groupColumn db_columns[] = {
    {"keys", "db_keys", TYPE_GAUGE, 0, "Keys in the database."},
    {"expires", "db_expires", TYPE_GAUGE, 0, "Keys in the database that have a time to live."},
    {"avg_ttl", "db_avg_ttl_seconds", TYPE_GAUGE, 3, "Estimated average time to live of the keys that have one."},
    {"keys_with_volatile_items", "db_keys_with_volatile_items", TYPE_GAUGE, 0,
     "Keys in the database with fields that have a time to live."},
    {.sub = NULL}};
static const groupColumn command_columns[] = {
    {"calls", "command_calls", TYPE_COUNTER, 0, "Times that the command was executed."},
    {"usec", "command_seconds", TYPE_COUNTER, 6, "Time that executing it has taken."},
    {"rejected_calls", "command_rejected_calls", TYPE_COUNTER, 0, "Times that it was refused before it ran."},
    {"failed_calls", "command_failed_calls", TYPE_COUNTER, 0, "Times that it has replied with an error."},
    {.sub = NULL}};
static const groupColumn error_columns[] = {
    {"count", "errors", TYPE_COUNTER, 0, "Errors that were replied, by their first word."}, {.sub = NULL}};
static const groupColumn replica_columns[] = {
    {"offset", "connected_replica_offset_bytes", TYPE_GAUGE, 0,
     "Replication offset that the replica has acknowledged."},
    {"lag", "connected_replica_lag_seconds", TYPE_GAUGE, 0, "Time since the last acknowledgment of the replica."},
    {.sub = NULL}};
static const groupColumn thread_columns[] = {
    {"active", "thread_busy_seconds", TYPE_COUNTER, 0, "Time that the thread has worked; it slept for the rest."},
    {"acting", "thread_acting_seconds", TYPE_COUNTER, 0,
     "Part of that time in which the thread had the main role and executed commands."},
    {"turns", "thread_turns", TYPE_COUNTER, 0, "Loop iterations of the thread."},
    {"reads", "thread_reads", TYPE_COUNTER, 0, "Reads from sockets."},
    {"writes", "thread_writes", TYPE_COUNTER, 0, "Writes to sockets."},
    {"input", "thread_input_bytes", TYPE_COUNTER, 0, "Bytes that were read."},
    {"output", "thread_output_bytes", TYPE_COUNTER, 0, "Bytes that were written."},
    {"freed", "thread_freed_objects", TYPE_COUNTER, 0, "Objects that other threads have sent back to be freed."},
    {.sub = NULL}};
static const groupColumn engine_columns[] = {
    {"used_memory", "engine_used_memory_bytes", TYPE_GAUGE, 0, "Memory of the engine for scripts."},
    {"memory_overhead", "engine_memory_overhead_bytes", TYPE_GAUGE, 0, "Memory for it outside of the engine."},
    {.sub = NULL}};
static const char *const replica_words[] = {"state", "type", NULL};
static const char *const engine_words[] = {"name", "module", "abi_version", NULL};

static const group groups[] = {
    {"keyspace", "db", "db", db_columns, false, NULL, NULL, NULL},
    {"commandstats", "cmdstat_", "cmd", command_columns, false, NULL, NULL, NULL},
    {"errorstats", "errorstat_", "err", error_columns, false, NULL, NULL, NULL},
    {"replication", "slave", "replica", replica_columns, true, "connected_replica", "State of a replica.",
     replica_words},
    {"threads", "thread_", "thread", thread_columns, false, NULL, NULL, NULL},
    {"scriptingengines", "engine_", "engine", engine_columns, false, "engine", "An engine for scripts.", engine_words}};

/* Returns the value of "sub=value,..." in a row; ptr is NULL if there is none. */
static slice subfield(slice row, const char *sub) {
    size_t len = strlen(sub);
    while (row.len) {
        slice one = sliceTakeUntil(&row, ',');
        if (one.len > len && one.ptr[len] == '=' && !memcmp(one.ptr, sub, len))
            return sliceOf(one.ptr + len + 1, one.len - len - 1);
    }
    return sliceOf(NULL, 0);
}

/* Returns true if the name has the group's prefix and the value consists of subfields. */
static bool isRow(const group *g, slice field, slice value) {
    return startsWith(field, g->prefix) && field.len > strlen(g->prefix) && memchr(value.ptr, '=', value.len);
}

static const group *groupOf(slice section) {
    for (size_t i = 0; i < array_len(groups); i++)
        if (sliceEq(section, sliceStr(groups[i].section))) return &groups[i];
    return NULL;
}

/* Takes the next line of a section's body. Returns false at its end. */
static bool openMetricsTakeLine(slice *body, slice *field, slice *value) {
    while (body->len) {
        *value = sliceTakeUntil(body, '\n');
        if (value->len && value->ptr[value->len - 1] == '\r') value->len--;
        *field = sliceTakeUntil(value, ':');
        if (value->ptr > field->ptr + field->len) return true; /* there was a colon */
    }
    return false;
}

/* Writes the labels of a replica as the exporter has them. The number is added, as two rows may have one address. */
static void putExporterReplica(writer *w, slice row) {
    static const char *const subs[][2] = {{"slave_ip", "ip"}, {"slave_port", "port"}, {"slave_state", "state"}};
    for (size_t i = 0; i < array_len(subs); i++) {
        slice value = subfield(row, subs[i][1]);
        if (value.ptr) putLabel(w, sliceStr(subs[i][0]), value, false);
    }
}

static void putRowLabels(writer *w, const group *g, slice field, slice row) {
    bool is_redis = w->names == METRICS_NAMES_REDIS;
    size_t prefix = is_redis && g->columns == db_columns ? 0 : strlen(g->prefix); /* the exporter says db="db0" */
    putLabel(w, sliceStr(g->label), sliceOf(field.ptr + prefix, field.len - prefix), true);
    if (!g->has_address) return;
    if (is_redis) {
        putExporterReplica(w, row);
        return;
    }
    char address[300];
    slice ip = subfield(row, "ip"), port = subfield(row, "port");
    if (!ip.ptr || !port.ptr) return;
    int n = snprintf(address, sizeof(address), memchr(ip.ptr, ':', ip.len) ? "[%.*s]:%.*s" : "%.*s:%.*s", (int)ip.len,
                     ip.ptr, (int)port.len, port.ptr);
    if (n < 0 || n >= (int)sizeof(address)) return;
    putLabel(w, sliceStr("addr"), sliceOf(address, (size_t)n), false);
}

static void putColumn(writer *w, const group *g, const groupColumn *column, slice body) {
    slice field, row;
    family f = familyOf(w, column->family, column->type);
    debugAssert(column->type == TYPE_GAUGE || column->type == TYPE_COUNTER);
    bool begun = false;
    while (openMetricsTakeLine(&body, &field, &row)) {
        if (!isRow(g, field, row)) continue;
        slice value = subfield(row, column->sub);
        if (!value.ptr || !isNumber(value) || (column->type == TYPE_COUNTER && value.ptr[0] == '-')) continue;
        if (!begun && !beginFamily(w, f, column->help)) return;
        begun = true;
        putSampleName(w, f);
        putRowLabels(w, g, field, row);
        openMetricsPut(w, "} ", 2);
        putShifted(w, value, column->shift);
        openMetricsPut(w, "\n", 1);
    }
}

static void putGroupWords(writer *w, const group *g, slice body) {
    slice field, row;
    family f = familyOf(w, g->info, TYPE_INFO);
    debugAssert(g->info_help && g->words);
    bool begun = false;
    while (openMetricsTakeLine(&body, &field, &row)) {
        if (!isRow(g, field, row)) continue;
        if (!begun && !beginFamily(w, f, g->info_help)) return;
        begun = true;
        putSampleName(w, f);
        putRowLabels(w, g, field, row);
        for (const char *const *word = g->words; *word; word++) {
            slice value = subfield(row, *word);
            if (value.ptr) putLabel(w, sliceStr(*word), value, false);
        }
        openMetricsPut(w, "} 1\n", 4);
    }
}

/* ---- Sections ---- */

/* Returns true if the same INFO field occurred earlier in the section: a label may occur only once. */
static bool isRepeated(slice body, slice field) {
    slice other, value;
    while (openMetricsTakeLine(&body, &other, &value) && other.ptr != field.ptr)
        if (sliceEq(other, field)) return true;
    return false;
}

static void putWords(writer *w, slice section, const group *g, slice body) {
    slice rest = body, field, value;
    family f = {section, TYPE_INFO};
    bool begun = false;
    while (openMetricsTakeLine(&rest, &field, &value)) {
        if ((g && isRow(g, field, value)) || !isName(field) || value.len == 0) continue;
        if (!isLabel(infoMetricFind(field), field, value) || isRepeated(body, field)) continue;
        if (!begun && !beginFamily(w, f, "Texts in this section of INFO.")) return;
        if (!begun) putSampleName(w, f);
        putLabel(w, field, value, !begun);
        begun = true;
    }
    if (begun) openMetricsPut(w, "} 1\n", 4);
}

static void putSection(writer *w, slice section, slice body) {
    const group *g = groupOf(section);
    slice rest = body, field, value;
    while (openMetricsTakeLine(&rest, &field, &value))
        if (!g || !isRow(g, field, value)) putLine(w, field, value);
    if (isName(section)) putWords(w, section, g, body);
    if (!g) return;
    for (const groupColumn *column = g->columns; column->sub; column++) putColumn(w, g, column, body);
    if (g->info) putGroupWords(w, g, body);
}

/* "# section" is the heading of the following lines. */
static void putSections(writer *w, slice text) {
    slice section = sliceOf("", 0);
    const char *begin_at = text.ptr;
    while (text.len) {
        const char *line_at = text.ptr;
        slice line = sliceTakeUntil(&text, '\n');
        if (!startsWith(line, "# ")) continue;
        putSection(w, section, sliceOf(begin_at, (size_t)(line_at - begin_at)));
        section = sliceOf(line.ptr + 2, line.len - 2 - endsWith(line, "\r"));
        begin_at = text.ptr;
    }
    putSection(w, section, sliceOf(begin_at, (size_t)(text.ptr - begin_at)));
}

/* ---- Histograms ---- */

/* Powers of two of microseconds, in seconds. The last one is above the range of the histograms
 * (engine/observe/latency.c). */
static const char *const bounds[] = {"1e-06",    "2e-06",    "4e-06",    "8e-06",    "1.6e-05",  "3.2e-05",
                                     "6.4e-05",  "0.000128", "0.000256", "0.000512", "0.001024", "0.002048",
                                     "0.004096", "0.008192", "0.016384", "0.032768", "0.065536", "0.131072",
                                     "0.262144", "0.524288", "1.048576"};
#define FIRST_BOUND_NS 1000
/* The same in microseconds. */
static const char *const usec_bounds[] = {"1.0",      "2.0",      "4.0",         "8.0",     "16.0",    "32.0",
                                          "64.0",     "128.0",    "256.0",       "512.0",   "1024.0",  "2048.0",
                                          "4096.0",   "8192.0",   "16384.0",     "32768.0", "65536.0", "131072.0",
                                          "262144.0", "524288.0", "1.048576e+06"};
static_assert(array_len(usec_bounds) == array_len(bounds), "each bound in both units");

static const char *boundText(const writer *w, size_t at) {
    return w->names == METRICS_NAMES_REDIS ? usec_bounds[at] : bounds[at];
}

typedef struct bucketWriter {
    writer *w;
    const char *start; /* beginning of each bucket's line, up to the bound */
    size_t start_len, at;
    int64_t last; /* count of the previous bucket */
} bucketWriter;

static void putBucketLine(writer *w, const bucketWriter *b, const char *bound, int64_t count) {
    debugAssert(count >= b->last); /* buckets are cumulative */
    openMetricsPut(w, b->start, b->start_len);
    putStr(w, bound);
    openMetricsPut(w, "\"} ", 3);
    putNumber(w, count);
    openMetricsPut(w, "\n", 1);
}

static void putBucket(void *arg, int64_t bound, int64_t step_count, int64_t cumulative) {
    bucketWriter *b = arg;
    unused(bound), unused(step_count);
    if (b->at < array_len(bounds)) putBucketLine(b->w, b, boundText(b->w, b->at++), cumulative);
    b->last = cumulative;
}

static void putLatencySample(writer *w, const char *suffix, slice cmd) {
    putSampleName(w, familyOf(w, "command_duration_seconds", TYPE_HISTOGRAM));
    putStr(w, suffix);
    putLabel(w, sliceStr("cmd"), cmd, true);
}

static void putLatency(writer *w, const commandLatency *l) {
    /* The beginning of the lines is formatted once and copied from there. */
    char start[256];
    slice cmd = sliceStr(l->name);
    size_t from = w->len;
    int64_t total = histogramTotal(l->durations);
    putLatencySample(w, "_bucket", cmd);
    putStr(w, ",le=\"");
    bucketWriter b = {.w = w, .start = start, .start_len = w->len - from};
    if (b.start_len > sizeof(start)) b.start_len = sizeof(start); /* no command has such a long name */
    memcpy(start, w->bytes + from, b.start_len);
    w->len = from;
    histogramIterLog(l->durations, FIRST_BOUND_NS, 2, putBucket, &b);
    debugAssert(total > 0 && b.last <= total);
    while (b.at < array_len(bounds)) putBucketLine(w, &b, boundText(w, b.at++), total);
    putBucketLine(w, &b, "+Inf", total);
    putLatencySample(w, "_sum", cmd);
    char sum[DOUBLE_STR_SIZE];
    double unit_ns = w->names == METRICS_NAMES_REDIS ? 1e3 : 1e9;
    openMetricsPut(w, "} ", 2);
    openMetricsPut(w, sum, d2string(sum, sizeof(sum), histogramMean(l->durations) * (double)total / unit_ns));
    openMetricsPut(w, "\n", 1);
    putLatencySample(w, "_count", cmd);
    openMetricsPut(w, "} ", 2);
    putNumber(w, total);
    openMetricsPut(w, "\n", 1);
}

static void putLatencies(writer *w, const metricsSnapshot *s) {
    if (s->latencies_count == 0) return;
    if (!beginFamily(w, familyOf(w, "command_duration_seconds", TYPE_HISTOGRAM),
                     "How long single calls of the command have taken."))
        return;
    for (size_t i = 0; i < s->latencies_count; i++) putLatency(w, &s->latencies[i]);
}

/* ---- Metrics of the port itself ---- */

static void putPortMetrics(writer *w, const metricsSnapshot *s, const webCounters *c) {
    putSingle(w, "up", TYPE_GAUGE, "Whether the server has replied: always 1.", 1);
    family build = familyOf(w, "build", TYPE_INFO);
    if (beginFamily(w, build, "Version of the server.")) {
        putSampleName(w, build);
        putLabel(w, sliceStr("version"), sliceStr(VALKEY_VERSION), true);
        openMetricsPut(w, "} 1\n", 4);
    }
    putSingleShifted(w, "snapshot_timestamp_seconds", TYPE_GAUGE,
                     "When the server's figures were taken, in seconds since 1970.", s->wall_ms, 3);
    putSingle(w, "snapshots", TYPE_COUNTER, "Snapshots of the figures that were taken.", s->number + 1);
    putSingleShifted(w, "snapshot_cost_seconds", TYPE_GAUGE, "Time that main took for the last snapshot.",
                     (long long)s->cost_ns / 1000, 6);
    putSingle(w, "web_scrapes", TYPE_COUNTER, "Requests for metrics that were served.", c->scrapes);
    putSingle(w, "web_requests", TYPE_COUNTER, "Requests of any kind.", c->requests);
    putSingle(w, "web_bad_requests", TYPE_COUNTER, "Requests that were malformed or are not supported.",
              c->bad_requests);
    putSingle(w, "web_denied", TYPE_COUNTER, "Requests that were refused: no user, or one that may not read metrics.",
              c->denied);
    putSingle(w, "web_accepted", TYPE_COUNTER, "Connections to this port.", c->connections);
    putSingle(w, "web_turned_away", TYPE_COUNTER, "Connections that were refused, or closed for others.",
              c->turned_away);
    putSingle(w, "web_connections", TYPE_GAUGE, "Connections to this port that are open.", c->open);
}

/* ---- Families that the exporter makes of several INFO fields ---- */

/* Returns the value of the first line of this name; ptr is NULL if there is none. */
static slice infoValue(slice text, const char *name) {
    slice field, value;
    while (openMetricsTakeLine(&text, &field, &value))
        if (sliceEq(field, sliceStr(name))) return value;
    return sliceOf(NULL, 0);
}

static void putLabels(writer *w, slice text, const char *name, const char *help, const exporterLabel *labels) {
    family f = {sliceStr(name), TYPE_INFO};
    if (!beginFamily(w, f, help)) return;
    putSampleName(w, f);
    for (const exporterLabel *one = labels; one->label; one++) {
        slice value = infoValue(text, one->field);
        putLabel(w, sliceStr(one->label), value.ptr ? value : sliceOf("", 0), one == labels);
    }
    openMetricsPut(w, "} 1\n", 4);
}

static void putExporterFamilies(writer *w, const metricsSnapshot *s) {
    slice text = sdsSlice(s->text), uptime = infoValue(text, "uptime_in_seconds");
    long long uptime_s;
    putLabels(w, text, "instance", "What this server is.", exporter_instance_labels);
    if (w->primary_host.ptr) putLabels(w, text, "slave", "What this replica follows.", exporter_replica_labels);
    if (uptime.ptr && string2ll(uptime.ptr, uptime.len, &uptime_s))
        putSingleShifted(w, "start_time_seconds", TYPE_GAUGE, "When the server was started, in seconds since 1970.",
                         s->wall_ms / 1000 - uptime_s, 0);
    family f = {sliceStr("exporter_last_scrape_error"), TYPE_GAUGE};
    if (!beginFamily(w, f, "Whether figures could not be read: always 0.")) return;
    putSampleName(w, f);
    putStr(w, "{err=\"\"} 0\n");
}

/* Returns a key as text: different keys have different texts, whatever their bytes. */
static sds keyText(slice key) {
    sds text = sdsCatRepr(sdsEmpty(), key.ptr, key.len);
    if (sdsLen(text) <= KEY_TEXT_MAX) sdsRange(text, 1, -2); /* without its quotes */
    else {
        sdsRange(text, 1, KEY_TEXT_MAX - 20);
        text = sdsCatPrintf(text, "...%016llx", (unsigned long long)hashBytes(key.ptr, key.len));
    }
    return text;
}

static void putHotKeys(writer *w, const webHotKeys *hot, hotKeysMetric metric, const char *name, unsigned shift,
                       const char *help) {
    family f = familyOf(w, name, TYPE_GAUGE);
    if (hot->count[metric] == 0 || !beginFamily(w, f, help)) return;
    for (size_t i = 0; i < hot->count[metric]; i++) {
        const heavyKey *k = &hot->keys[metric][i];
        char digits[LONG_STR_SIZE];
        sds text = keyText(sdsSlice(k->key));
        putSampleName(w, f);
        putLabel(w, sliceStr("key"), sdsSlice(text), true);
        openMetricsPut(w, "} ", 2);
        putShifted(w, sliceOf(digits, ll2string(digits, (long long)k->weight)), shift);
        openMetricsPut(w, "\n", 1);
        sdsFree(text);
    }
}

char *openMetricsWrite(const metricsSnapshot *s, const webCounters *counters, const webHotKeys *hot,
                       metricsFormat format, metricsNames names, size_t *len) {
    writer *w = zcalloc(1, sizeof(*w));
    debugAssert(format < METRICS_FORMATS && names < METRICS_NAMES);
    w->format = format;
    w->names = names;
    w->cap = sdsLen(s->text) * 4 + s->latencies_count * 2500 + 4096;
    w->bytes = zmalloc(w->cap);
    if (names == METRICS_NAMES_REDIS) {
        w->primary_host = infoValue(sdsSlice(s->text), "master_host");
        w->primary_port = infoValue(sdsSlice(s->text), "master_port");
    }
    putPortMetrics(w, s, counters);
    if (names == METRICS_NAMES_REDIS) putExporterFamilies(w, s);
    putSections(w, sdsSlice(s->text));
    putLatencies(w, s);
    if (hot) {
        putHotKeys(w, hot, HOT_KEYS_CPU, "hot_key_cpu_seconds", 9, "Time that commands of the key have taken.");
        putHotKeys(w, hot, HOT_KEYS_NET, "hot_key_net_bytes", 0, "Bytes of the key's requests and replies.");
    }
    if (format == METRICS_OPEN) putStr(w, "# EOF\n");
    debugAssert(w->len > 0 && w->bytes[w->len - 1] == '\n');
    debugAssert(w->families < FAMILIES_MAX / 2); /* otherwise families are missing */
    char *bytes = zrealloc(w->bytes, w->len);
    *len = w->len;
    zfree(w);
    return bytes;
}
