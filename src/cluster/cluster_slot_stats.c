/* cluster_slot_stats.c -- CLUSTER SLOT-STATS: the figures of slots, by number or by rank.
 *
 * Not here    counting (slot_stats.c in engine).
 * Threads     main.
 * Cost        one pass over the slots; with ORDERBY a sort of at most all of them.
 * Tests       tests/unit/cluster/cluster_slot_stats_test.c, tests/cluster/slot_stats.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "cluster_commands.h"

#include "cluster_settings.h"
#include "command_rows.h"
#include "db_slots.h"
#include "reply.h"
#include "slot_check.h"
#include "slot_stats.h"
#include "slot_table.h"
#include "zmalloc.h"

#include <stdlib.h>

typedef enum { KEY_COUNT, CPU_USEC, NETWORK_BYTES_IN, NETWORK_BYTES_OUT, METRICS } slotMetric;

static const char *const names[METRICS] = {"key-count", "cpu-usec", "network-bytes-in", "network-bytes-out"};

/* Returns how many metrics there are: the counters exist only with cluster-slot-stats-enabled. */
static int metricCount(void) { return cluster_settings.slot_stats ? METRICS : KEY_COUNT + 1; }

typedef struct slotRow {
    unsigned slot;
    uint64_t by[METRICS];
} slotRow;

static slotRow rowOf(unsigned slot) {
    slotFigures f = slotStatsOf(slot);
    slotRow row = {slot,
                   {[CPU_USEC] = f.ns / 1000, [NETWORK_BYTES_IN] = f.bytes_in, [NETWORK_BYTES_OUT] = f.bytes_out}};
    for (int i = 0; i < dbCount(); i++) row.by[KEY_COUNT] += dbSlotSize(dbGet(i), (int)slot);
    return row;
}

/* Returns whether this node's shard owns the slot: only these are shown. */
static bool isOfShard(unsigned slot) {
    slotView v = slotTableLook(slot);
    return v.mine || v.followed;
}

static void addRow(client *c, const slotRow *row) {
    addReplyArrayLen(c, 2);
    addReplyLongLong(c, row->slot);
    addReplyMapLen(c, metricCount());
    for (int m = 0; m < metricCount(); m++) {
        addReplyBulkCString(c, names[m]);
        addReplyLongLong(c, (long long)row->by[m]);
    }
}

/* ---- SLOTSRANGE ---- */

static void replyRange(client *c, unsigned first, unsigned last) {
    long long count = 0;
    for (unsigned slot = first; slot <= last; slot++) count += isOfShard(slot);
    addReplyArrayLen(c, count);
    for (unsigned slot = first; slot <= last; slot++) {
        if (!isOfShard(slot)) continue;
        slotRow row = rowOf(slot);
        addRow(c, &row);
    }
}

static void slotsRange(client *c) {
    unsigned first, last;
    if (!clusterSlotArg(c, 3, &first) || !clusterSlotArg(c, 4, &last)) return;
    if (first > last) addReplyErrorFormat(c, "Start slot number %u is greater than end slot number %u", first, last);
    else replyRange(c, first, last);
}

/* ---- ORDERBY ---- */

static slotMetric sort_metric; /* of the running command */

/* The greatest first; equal ones by slot. */
static int descending(const void *a, const void *b) {
    const slotRow *x = a, *y = b;
    uint64_t v = x->by[sort_metric], w = y->by[sort_metric];
    if (v != w) return v > w ? -1 : 1;
    return x->slot < y->slot ? -1 : 1;
}

static int ascending(const void *a, const void *b) {
    const slotRow *x = a, *y = b;
    uint64_t v = x->by[sort_metric], w = y->by[sort_metric];
    if (v != w) return v < w ? -1 : 1;
    return x->slot < y->slot ? -1 : 1;
}

static void replyOrdered(client *c, size_t limit, bool asc) {
    slotRow *rows = zmalloc(CLUSTER_SLOTS * sizeof(*rows));
    size_t count = 0;
    for (unsigned slot = 0; slot < CLUSTER_SLOTS; slot++)
        if (isOfShard(slot)) rows[count++] = rowOf(slot);
    qsort(rows, count, sizeof(*rows), asc ? ascending : descending);
    if (count > limit) count = limit;
    addReplyArrayLen(c, (long long)count);
    for (size_t i = 0; i < count; i++) addRow(c, &rows[i]);
    zfree(rows);
}

static bool metricArg(client *c, uint32_t index) {
    for (int m = 0; m < metricCount(); m++) {
        if (!sliceIs(c->argv[index], names[m])) continue;
        sort_metric = (slotMetric)m;
        return true;
    }
    return addReplyError(c, "Unrecognized sort metric for ORDERBY.");
}

static bool limitArg(client *c, uint32_t index, size_t *limit) {
    long long n;
    if (!getRangeLongFromArg(c, index, 1, CLUSTER_SLOTS, &n,
                             "Limit has to lie in between 1 and 16384 (maximum number of slots)."))
        return false;
    *limit = (size_t)n;
    return true;
}

static void orderBy(client *c) {
    size_t limit = CLUSTER_SLOTS;
    bool asc = false, has_limit = false, has_order = false;
    if (!metricArg(c, 3)) return;
    for (uint32_t i = 4; i < c->argc; i++) {
        bool is_asc = sliceIs(c->argv[i], "asc"), is_order = is_asc || sliceIs(c->argv[i], "desc");
        bool is_limit = !is_order && sliceIs(c->argv[i], "limit") && i + 1 < c->argc;
        if (!is_order && !is_limit) {
            addReplySyntaxError(c);
            return;
        }
        if (is_limit && !limitArg(c, ++i, &limit)) return;
        if (is_limit ? has_limit : has_order) {
            addReplyError(c, "Multiple filters of the same type are disallowed.");
            return;
        }
        has_limit |= is_limit;
        has_order |= is_order;
        if (is_order) asc = is_asc;
    }
    replyOrdered(c, limit, asc);
}

void clusterSlotStatsCommand(client *c) {
    if (!slotsAreEnabled(c)) return;
    if (c->argc == 5 && sliceIs(c->argv[2], "slotsrange")) slotsRange(c);
    else if (sliceIs(c->argv[2], "orderby")) orderBy(c);
    else addReplySubcommandSyntaxError(c);
}
