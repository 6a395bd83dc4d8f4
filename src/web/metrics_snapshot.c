/* metrics_snapshot.c -- what main leaves for those who look at figures: its state at one moment, as it is at hand.
 *
 * The text is INFO's own, so a figure is formatted in one place, whoever reads it. Histograms are copied as they are:
 * bytes are moved faster than buckets are added up, and that is another thread's work.
 *
 * Not here    when one is made (web.c), what becomes of it (open_metrics.c).
 * Owns        the count of them.
 * Threads     made on main, freed where it was used last.
 * Cost        one INFO of all sections, and some kilobytes for each command that was called. docs/metrics.md
 * Tests       tests/unit/web/open_metrics_test.c, tests/server/metrics.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "metrics_snapshot.h"

#include "clock.h"
#include "command_table.h"
#include "info_table.h"
#include "panic.h"
#include "zmalloc.h"

static uint64_t made;

static void putText(void *arg, const char *fmt, va_list ap) {
    sds *text = arg;
    *text = sdsCatVprintf(*text, fmt, ap);
    *text = sdsCatLen(*text, "\r\n", 2);
}

static sds allSections(void) {
    sds text = sdsMakeRoomFor(sdsEmpty(), 16384);
    infoOut o = {putText, &text};
    const infoSection *s;
    const char *last_title = "";
    for (size_t i = 0; (s = infoTableSection(i)) != NULL; i++) {
        /* Two names of one section stand side by side. Percentiles are left out: histograms say more. */
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

static void countTimed(void *arg, serverCommand *cmd) {
    *(size_t *)arg += wasTimed(cmd);
    for (int i = 0; i < cmd->nsubcommands; i++) countTimed(arg, &cmd->subcommands[i]);
}

static void copyTimed(void *arg, serverCommand *cmd) {
    metricsSnapshot *s = arg;
    if (wasTimed(cmd)) {
        histogram *copy = histogramTryCopy(cmd->stats->latency);
        if (copy) s->latencies[s->latencies_count++] = (commandLatency){cmd->fullname, copy};
    }
    for (int i = 0; i < cmd->nsubcommands; i++) copyTimed(arg, &cmd->subcommands[i]);
}

metricsSnapshot *metricsSnapshotMake(void) {
    assertMainRole();
    monotime began = clockTicks();
    metricsSnapshot *s = zmalloc(sizeof(*s));
    *s = (metricsSnapshot){
        .text = allSections(), .number = made++, .wall_ms = clockWallMs(), .monotonic_ms = clockMonotonicMs()};
    size_t count = 0;
    commandEach(countTimed, &count);
    s->latencies = zmalloc((count + 1) * sizeof(*s->latencies));
    commandEach(copyTimed, s);
    s->cost_ns = clockTicksToNs(clockTicks() - began);
    return s;
}

void metricsSnapshotFree(metricsSnapshot *s) {
    if (!s) return;
    for (size_t i = 0; i < s->latencies_count; i++) histogramFree(s->latencies[i].spread);
    zfree(s->latencies);
    sdsFree(s->text);
    zfree(s);
}
