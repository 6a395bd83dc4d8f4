/* fork_forecast.c -- what the next fork will cost, computed from the last one and from today's size.
 *
 * A fork copies the page tables: eight bytes for each page of 4 KB. Its time grows with resident memory, so the last
 * fork is scaled to today's size; before the first one a typical rate is assumed. The memory is that of the tables and
 * of the pages that are written while the child lives. Changes hit pages at random, so of P pages n hits leave
 * P * exp(-n / P) untouched; how many pages one change hits is computed from the last child.
 *
 * Not here    the facts (fork_outlook.c).
 * Threads     any.
 * Tests       tests/unit/persist/file/fork_forecast_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fork_forecast.h"

#include <math.h>

#define PAGE 4096.0
#define HUGE_SHARE 512.0                /* a huge page has one entry in place of so many */
#define TABLE_SHARE 512.0               /* of resident memory: 8 of 4096 bytes */
#define STALL_US_PER_MB 23.0            /* before the first fork: 9.9 GB took 227 ms (docs/design/persistence.md) */
#define SAVED_MB_PER_S 150.0            /* before the first save */
#define PAGES_PER_CHANGE 2.0            /* before the first save: the entry, and what refers to it */
#define PAGES_PER_CHANGE_MIN 0.05       /* commands of a pipeline may change one value again and again */
#define PAGES_PER_CHANGE_MAX 16.0       /* a change counts elements, and other memory is written beside them */
#define RATE_BYTES_MIN (64.0 * 1048576) /* a smaller fork costs more for its beginning and end than for its pages */
#define COPIED_MIN (16.0 * 1048576)     /* less is mostly the child's own memory */
#define CHANGES_MIN 1000

static double bytesInTables(const forkFacts *f) {
    double huge = f->huge < f->rss ? (double)f->huge : (double)f->rss;
    return (double)f->rss - huge + huge / HUGE_SHARE;
}

static double stallUs(const forkFacts *f) {
    const double per_byte = STALL_US_PER_MB / 1048576;
    if (f->forked_rss == 0) return bytesInTables(f) * per_byte;
    double rss = (double)f->rss, then = (double)f->forked_rss, measured = (double)f->fork_us / then;
    if (rss <= then) return rss * measured;
    return (double)f->fork_us + (rss - then) * (then >= RATE_BYTES_MIN ? measured : per_byte);
}

/* Returns the pages that a change has hit while the last child lived. */
static double pagesPerChange(const forkFacts *f) {
    double then = (double)f->saved_rss / PAGE, copied = (double)f->copied / PAGE;
    if (f->changes < CHANGES_MIN || (double)f->copied < COPIED_MIN || copied > 0.9 * then) return PAGES_PER_CHANGE;
    double pages = -then * log1p(-copied / then) / (double)f->changes;
    if (pages < PAGES_PER_CHANGE_MIN) return PAGES_PER_CHANGE_MIN;
    return pages < PAGES_PER_CHANGE_MAX ? pages : PAGES_PER_CHANGE_MAX;
}

static double copiedBytes(const forkFacts *f) {
    double rss = (double)f->rss, seconds = rss / (SAVED_MB_PER_S * 1048576), pages = rss / PAGE;
    if (pages < 1) return 0;
    if (f->saved_rss) seconds = (double)f->saved_us / 1e6 * rss / (double)f->saved_rss;
    double hits = f->changes_per_s * seconds * pagesPerChange(f);
    return hits > 0 ? -rss * expm1(-hits / pages) : 0;
}

forkForecast forkForecastOf(const forkFacts *f) {
    double tables = bytesInTables(f) / TABLE_SHARE;
    return (forkForecast){.stall_us = (uint64_t)stallUs(f),
                          .memory = (size_t)(tables + copiedBytes(f)),
                          .memory_limit = (size_t)(tables + (double)f->rss)};
}
