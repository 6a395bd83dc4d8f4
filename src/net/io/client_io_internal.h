/* client_io_internal.h -- what the rooms of a stream's holder share; each function says which room it is in.
 *
 * Nobody but the client_io*.c files includes it.
 *
 * Runs on: the holder.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef NET_CLIENT_IO_INTERNAL_H
#define NET_CLIENT_IO_INTERNAL_H

#include "client_io.h"

/* --- client_io_report.c ------------------------------------------------------------------------ */
/* Nothing more will be read: main learns it, once. */
void clientIoReportEnd(clientIo *s, endReason why);
/* Tell main now of what was written, if anything was. */
void clientIoReportWritten(clientIo *s);
/* Something was written, or given up: tell main at the end of the thread's turn (clientIosReport). */
void clientIoReportLater(clientIo *s);
/* The holder is to lose the stream: not at the end of the turn. */
void clientIoForgetReport(clientIo *s);

/* --- client_io_close.c ------------------------------------------------------------------------- */
/* All output is with the kernel. To close a socket with input that nobody has read makes a reset of it, which throws
 * away what the peer has not got yet: so, unless the input has ended or the peer has all, tell it that this was the end
 * and wait for its own, reading what it still sends. */
void clientIoOutputDrained(clientIo *s);
/* Nothing is to be waited for: main learns that the stream has drained. */
void clientIoReportDrained(clientIo *s);
/* Output is being drained: what still comes in is thrown away, only the end of the connection matters. */
void clientIoDiscardInput(clientIo *s);
void clientIoStopLingering(clientIo *s);

/* --- client_io_read.c -------------------------------------------------------------------------- */
void clientIoInitReader(clientIo *s);
/* Read, or stop reading: install or remove the handler as the stream's state asks for. */
void clientIoUpdateReading(clientIo *s);
/* Main has executed these blocks (takes them): parsing that waited for it, and reading, go on. */
void clientIoTakeReturned(clientIo *s, requestBlock *chain);
/* Let go of a request that is not whole. */
void clientIoDropInput(clientIo *s);

/* --- client_io_write.c ------------------------------------------------------------------------- */
/* Write what the socket takes of it and keep the rest (takes the chain, which is not empty). */
void clientIoTakeOutput(clientIo *s, replyBlock *chain);
/* To a new holder's loop: go on when the socket has room, if output waits. */
void clientIoWatchOutput(clientIo *s);
/* The peer takes no more: give the output back, and tell main. */
void clientIoWriteFailed(clientIo *s);
/* The connection is closed: unsent output is done, unwritten. */
void clientIoDropOutput(clientIo *s);

/* --- client_io_fan.c --------------------------------------------------------------------------- */
/* The same bytes are for many streams of the holder (takes the batch). They are written by clientIosFan(). */
void clientIoTakeFan(ioOwner *h, fanBatch *b);

/* --- all of them ----------------------------------------------------------------------------------- */
/* Part of a request has come or part of the output has gone: the client is not idle. Not called where a command runs
 * anyway, which says so itself: the clock is read beside a rare system call, never for a short request or reply. */
static inline void clientIoNoteBytes(clientIo *s) {
    atomic_store_explicit(&s->last_bytes, clockTicks(), memory_order_relaxed);
}

/* What work of the holder counts for, so that streams can be compared: system calls, commands and bytes, in ns as they
 * were measured (docs/design/threads.md). Not a command at a time but once a socket event: a store, of one writer. */
#define WORK_SOCKET_NS 2000
#define WORK_COMMAND_NS 300
#define WORK_BYTES_PER_NS 4
#define WORK_HANDSHAKE_NS 1000000

static inline void clientIoNoteWork(clientIo *s, uint64_t fixed_ns, uint64_t bytes) {
    ioOwnerStatAdd(&s->work, fixed_ns + bytes / WORK_BYTES_PER_NS);
}

/* At both ends of each function that the loop or a message calls. */
static inline void clientIoDebugCheck(const clientIo *s) {
#ifdef DEBUG_ASSERTIONS
    clientIoCheck(s);
#else
    unused(s);
#endif
}

#endif
