/* client_io_internal.h -- functions that the client_io*.c files share, by file.
 *
 * Only client_io*.c files include it.
 *
 * Runs on: the owner thread.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef NET_CLIENT_IO_INTERNAL_H
#define NET_CLIENT_IO_INTERNAL_H

#include "client_io.h"

/* --- client_io_report.c ------------------------------------------------------------------------ */
/* Ends the input, and reports that to main unless an end was reported before. */
void clientIoReportEnd(clientIo *s, endReason why);
/* Reports to main now what was written, if anything was. */
void clientIoReportWritten(clientIo *s);
/* Call after output was written or dropped: clientIosReport() will report it to main. */
void clientIoReportLater(clientIo *s);
/* Takes the connection off the list of those to report, as it leaves its owner thread. */
void clientIoCancelReport(clientIo *s);

/* --- client_io_close.c ------------------------------------------------------------------------- */
/* Call when all output is with the kernel and the connection is to be closed. Closing a socket with unread input resets
 * the connection, and the peer loses what it has not received yet. So unless the peer has all output, this function
 * ends the output only and waits for the peer's end, while clientIoDiscardInput() reads what still arrives. */
void clientIoOutputDrained(clientIo *s);
/* Reports to main that the connection has drained and may be closed. */
void clientIoReportDrained(clientIo *s);
/* Reads and discards input while output is drained, and notices the end of the connection. */
void clientIoDiscardInput(clientIo *s);
void clientIoStopLingering(clientIo *s); /* deletes the timer of clientIoOutputDrained() */

/* --- client_io_read.c -------------------------------------------------------------------------- */
/* Prepares the parser of a new connection. */
void clientIoInitReader(clientIo *s);
/* Installs or removes the read handler, as the state of the connection requires. */
void clientIoUpdateReading(clientIo *s);
/* Takes ownership of blocks that main has executed, and resumes parsing and reading that waited for them. */
void clientIoTakeReturned(clientIo *s, requestBlock *chain);
/* Drops an incomplete request, and bytes that were read ahead. */
void clientIoDropInput(clientIo *s);

/* --- client_io_ahead.c ------------------------------------------------------------------------- */
size_t clientIoAheadBytes(const clientIo *s);
/* Returns whether bytes may be read ahead while no requests are read, because main is behind. */
bool clientIoMayReadAhead(const clientIo *s);
/* Reads what the socket has, up to some limit. */
void clientIoReadAhead(clientIo *s);
/* Takes up to `most` of the bytes that were read ahead; returns how many, at least one. Only while `ahead` is set. */
size_t clientIoTakeAhead(clientIo *s, char *to, size_t most);
void clientIoDropAhead(clientIo *s);

/* --- client_io_write.c ------------------------------------------------------------------------- */
/* Takes ownership of the chain, which is not empty; writes as much of it as the socket accepts and keeps the rest. */
void clientIoTakeOutput(clientIo *s, replyBlock *chain);
/* Call after attaching to a loop: continues to write when the socket is writable, if output is pending. */
void clientIoWatchOutput(clientIo *s);
/* Call when the peer accepts no more: returns the output to main and reports the end. */
void clientIoWriteFailed(clientIo *s);
/* Marks unsent output as done, unwritten, as the connection is closed. */
void clientIoDropOutput(clientIo *s);

/* --- client_io_fan.c --------------------------------------------------------------------------- */
/* Takes ownership of a batch: the same bytes for many connections of this thread. clientIosFan() writes them. */
void clientIoTakeFan(ioOwner *h, fanBatch *b);

/* --- all of them ----------------------------------------------------------------------------------- */
/* Records that part of a request or of the output has moved, so that the client is not idle. Not called for whole
 * commands, which record it themselves: so the clock is read only next to a rare system call, never for a short request
 * or reply. */
static inline void clientIoNoteBytes(clientIo *s) {
    atomic_store_explicit(&s->last_bytes, clockTicks(), memory_order_relaxed);
}

/* Weights of the owner thread's work, to compare connections: system calls, commands and bytes, in ns as measured
 * (docs/design/threads.md). Added once for each socket event, not for each command. */
#define WORK_SOCKET_NS 2000
#define WORK_COMMAND_NS 300
#define WORK_BYTES_PER_NS 4
#define WORK_HANDSHAKE_NS 1000000

static inline void clientIoNoteWork(clientIo *s, uint64_t fixed_ns, uint64_t bytes) {
    netCounterAdd(&s->work, fixed_ns + bytes / WORK_BYTES_PER_NS);
}

/* Call at both ends of each function that the loop or a message calls. */
static inline void clientIoDebugCheck(const clientIo *s) {
#ifdef DEBUG_ASSERTIONS
    clientIoCheck(s);
#else
    unused(s);
#endif
}

#endif
