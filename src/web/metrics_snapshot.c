/* metrics_snapshot.c -- a copy of the server's state at one moment, from which the metrics thread makes its texts.
 *
 * The text is INFO's own, so each value is formatted in one place only. Histograms are copied unchanged: copying bytes
 * is faster than adding up buckets, which another thread does.
 *
 * Not here    when one is made (web.c), how it is used (open_metrics.c).
 * Owns        the number of snapshots made.
 * Threads     made on main, freed on the thread that used it last.
 * Cost        one INFO of all sections, and some kilobytes for each command that was called. docs/metrics.md
 * Tests       tests/unit/web/open_metrics_test.c, tests/server/metrics.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "metrics_snapshot.h"

#include "clock.h"
#include "command_table.h"
#include "info_table.h"
#include "one_line.h"
#include "panic.h"
#include "zmalloc.h"

static uint64_t made;

static void putText(void *arg, const char *fmt, va_list ap) {
    sds *text = arg;
    size_t from = sdsLen(*text);
    debugAssert(from == 0 || (*text)[from - 1] == '\n');
    *text = sdsCatVprintf(*text, fmt, ap);
    oneLine(*text + from, sdsLen(*text) - from);
    *text = sdsCatLen(*text, "\r\n", 2);
}

static sds allSections(void) {
    sds text = sdsMakeRoomFor(sdsEmpty(), 16384);
    infoOut o = {putText, &text};
    const infoSection *s;
    const char *last_title = "";
    for (size_t i = 0; (s = infoTableSection(i)) != NULL; i++) {
        /* Two names of one section are adjacent. Percentiles are left out, because histograms contain more. */
        if (!strcmp(s->title, last_title) || !strcmp(s->name, "latencystats")) continue;
        infoLine(&o, "# %s", s->name);
        infoTableWrite(s, &o);
        last_title = s->title;
    }
    return text;
}

static bool wasTimed(const serverCommand *cmd) {
    return cmd->stats && cmd->stats->latency && histogramTotal(cmd->stats->latency) > 0;
}

/* Layout of the one block for all histograms: the array, followed by the histograms. */
typedef struct blockPlan {
    size_t count, bytes;
    char *next; /* borrowed: address of the next histogram */
    commandLatency *latencies;
} blockPlan;

static void plan(void *arg, serverCommand *cmd) {
    blockPlan *p = arg;
    if (wasTimed(cmd)) {
        p->count++;
        p->bytes += sizeof(commandLatency) + histogramCopyBytes(cmd->stats->latency);
    }
    for (int i = 0; i < cmd->nsubcommands; i++) plan(p, &cmd->subcommands[i]);
}

static void metricsSnapshotFill(void *arg, serverCommand *cmd) {
    blockPlan *p = arg;
    if (wasTimed(cmd)) {
        *p->latencies++ = (commandLatency){cmd->fullname, histogramCopyInto(p->next, cmd->stats->latency)};
        p->next += histogramCopyBytes(cmd->stats->latency);
    }
    for (int i = 0; i < cmd->nsubcommands; i++) metricsSnapshotFill(p, &cmd->subcommands[i]);
}

/* Copies the histograms into one block: another thread frees it, so many small blocks would not be reused. If there is
 * no memory for it, the snapshot has no histograms. */
static void copyLatencies(metricsSnapshot *s) {
    blockPlan p = {.count = 0};
    commandEach(plan, &p);
    s->block = p.count ? ztrymalloc(p.bytes) : NULL;
    if (!s->block) return;
    s->latencies = p.latencies = s->block;
    s->latencies_count = p.count;
    p.next = (char *)(s->latencies + p.count);
    commandEach(metricsSnapshotFill, &p);
    /* Exactly the planned bytes are filled. */
    serverAssert(p.latencies == s->latencies + s->latencies_count && p.next == (char *)s->block + p.bytes);
}

metricsSnapshot *metricsSnapshotMake(void) {
    assertMainRole();
    monotime began = clockTicks();
    metricsSnapshot *s = zmalloc(sizeof(*s));
    *s = (metricsSnapshot){
        .text = allSections(), .number = made++, .wall_ms = clockWallMs(), .monotonic_ms = clockMonotonicMs()};
    copyLatencies(s);
    s->cost_ns = clockTicksToNs(clockTicks() - began);
    return s;
}

void metricsSnapshotFree(metricsSnapshot *s) {
    if (!s) return;
    zfree(s->block);
    sdsFree(s->text);
    zfree(s);
}
