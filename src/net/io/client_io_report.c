/* client_io_report.c -- reports to main: what a connection has written, and its end.
 *
 * Written blocks are not reported after each write, but at the end of some of the thread's loop iterations, or with the
 * next requests.
 *
 * Not here    requests on their way to main (client_io_read.c).
 * Owns        the owner thread's list of connections with something to report.
 * Threads     the owner thread.
 * Invariants  1. After IO_MSG_END nothing is sent to main for the connection but IO_MSG_WRITTEN, IO_MSG_LEFT,
 *                IO_MSG_CLOSED, and, if main has asked for a drain, IO_MSG_END once more.
 *             2. Written output is reported once, in the order of the chain.
 * Tests       tests/unit/net/io/client_io_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "client_io_internal.h"

#include "io_threads.h"
#include "panic.h"

void clientIoReportEnd(clientIo *s, endReason why) {
    s->input_ended = true;
    if (s->end_reported) return;
    s->end_reported = true;
    ioMessage m = {.type = IO_MSG_END, .number = (uint16_t)why, .io = s};
    ioThreadPostToMain(s->owner, &m);
}

void clientIoReportWritten(clientIo *s) {
    if (!s->done && !s->done_bytes) return;
    ioMessage m = {.type = IO_MSG_WRITTEN, .io = s, .bytes = s->done_bytes, .reply = s->done};
    s->done = NULL;
    s->done_bytes = 0;
    ioThreadPostToMain(s->owner, &m);
}

void clientIoReportLater(clientIo *s) {
    if (s->has_unreported) return;
    s->has_unreported = true;
    clientIo *first = s->owner->unreported;
    s->next_unreported = first;
    if (first) first->prev_unreported = s;
    s->owner->unreported = s;
}

void clientIosReport(ioOwner *h) {
    while (h->unreported) {
        clientIo *s = h->unreported;
        debugAssert(s->owner == h);
        debugAssert(s->has_unreported);
        h->unreported = s->next_unreported;
        s->has_unreported = false;
        clientIoReportWritten(s);
    }
}

void clientIoCancelReport(clientIo *s) {
    if (!s->has_unreported) return;
    if (s == s->owner->unreported) s->owner->unreported = s->next_unreported;
    else s->prev_unreported->next_unreported = s->next_unreported;
    if (s->next_unreported) s->next_unreported->prev_unreported = s->prev_unreported;
    s->has_unreported = false;
}
