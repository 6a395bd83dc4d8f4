/* tracking_readers.c -- the numbers that identify clients in the table of tracked keys.
 *
 *   pages[number / 1024] --> count | state of each of 1024 numbers
 *
 * Numbers increase, so those of existing clients are close together: a page is created with its first client and freed
 * with its last one. A lookup is two loads, which matters when the set of a key with many readers grows and all of them
 * are looked up.
 *
 * Owns        the pages. States are borrowed.
 * Threads     main.
 * Invariants  1. A page exists exactly while one of its numbers has a state; `count` is the number of these.
 * Cost        8 KB for each thousand numbers of which one is in use, 8 bytes for each thousand that were ever assigned.
 * Tests       tests/unit/engine/tracking/tracking_readers_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */

#include "panic.h"
#include "tracking_table.h"
#include "zmalloc.h"

#include <string.h>

#define PAGE_NUMBERS 1024

typedef struct readerPage {
    uint32_t count;
    struct trackingState *states[PAGE_NUMBERS];
} readerPage;

static struct {
    readerPage **pages; /* owns; NULL where no number is in use */
    uint32_t capacity;  /* capacity of pages */
    uint32_t last;      /* the number that was assigned last */
    size_t bytes;
} readers;

struct trackingState *readerState(uint32_t reader) {
    uint32_t at = reader / PAGE_NUMBERS;
    if (at >= readers.capacity || !readers.pages[at]) return NULL;
    return readers.pages[at]->states[reader % PAGE_NUMBERS];
}

/* Asserts the invariants of a number that is in use. */
static void readerCheck(uint32_t reader) {
    debugAssert(reader > 0 && reader <= TRACKING_READER_MAX && reader / PAGE_NUMBERS < readers.capacity);
    debugAssert(readers.pages[reader / PAGE_NUMBERS]->count <= PAGE_NUMBERS);
    debugAssert(readers.bytes >= readers.capacity * sizeof(*readers.pages) + sizeof(readerPage));
    unused(reader);
}

bool readerExists(uint32_t reader) { return readerState(reader) != NULL; }

static void trackingReadersReserve(uint32_t at) {
    if (at < readers.capacity) return;
    uint32_t capacity = readers.capacity ? 2 * readers.capacity : 8;
    if (capacity <= at) capacity = at + 1;
    readers.pages = zrealloc(readers.pages, capacity * sizeof(*readers.pages));
    memset(readers.pages + readers.capacity, 0, (capacity - readers.capacity) * sizeof(*readers.pages));
    readers.bytes += (capacity - readers.capacity) * sizeof(*readers.pages);
    readers.capacity = capacity;
}

static readerPage *pageFor(uint32_t at) {
    trackingReadersReserve(at);
    if (!readers.pages[at]) {
        readers.pages[at] = zcalloc(1, sizeof(readerPage));
        readers.bytes += sizeof(readerPage);
    }
    return readers.pages[at];
}

uint32_t readerNew(struct trackingState *s) {
    assertMainRole();
    do {
        readers.last = readers.last < TRACKING_READER_MAX ? readers.last + 1 : 1;
    } while (readerExists(readers.last));
    readerPage *page = pageFor(readers.last / PAGE_NUMBERS);
    page->states[readers.last % PAGE_NUMBERS] = s;
    page->count++;
    readerCheck(readers.last);
    return readers.last;
}

void readerForget(uint32_t reader) {
    assertMainRole();
    serverAssert(readerExists(reader));
    readerCheck(reader);
    readerPage **page = &readers.pages[reader / PAGE_NUMBERS];
    (*page)->states[reader % PAGE_NUMBERS] = NULL;
    if (--(*page)->count > 0) return;
    zfree(*page);
    *page = NULL;
    readers.bytes -= sizeof(readerPage);
}

size_t readersMemory(void) { return readers.bytes; }
