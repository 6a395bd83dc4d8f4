/* debug_wire.h -- the conversation of a debugging session: lines to the client, commands from it.
 *
 * What is said goes out as an array of simple strings, one array for each command; a command comes as an array of bulk
 * strings. Reading and writing wait for the peer.
 *
 * Runs on: main's own thread, or a forked child.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCRIPT_DEBUG_WIRE_H
#define SCRIPT_DEBUG_WIRE_H

#include "connection.h"
#include "sds.h"
#include "slice.h"

#define DEBUG_WORDS_MAX 1024

/* One session at a time. The connection is borrowed until debugWireEnd(). */
void debugWireBegin(connection *conn);
void debugWireEnd(void);

/* A line of what is said next: takes it. Ends of lines in it become blanks. */
void debugPrint(sds line);
/* The same, cut to the length that the client has chosen, with a hint the first time. */
void debugPrintCut(sds line);
void debugPrintFormat(const char *fmt, ...) printf_like(1, 2);
/* The length to which lines are cut; 0: they are not. */
size_t debugCutAt(void);
void debugSetCut(size_t bytes);
/* Bytes of a value worth putting together: what lies behind is cut. */
size_t debugPrintMax(void);

/* Send what was said. False: the peer is gone. */
bool debugSend(void);

/* Send these bytes, and then the end of all; gives the peer a moment to read it. */
void debugSendLast(slice bytes);

typedef enum { DEBUG_COMMAND, DEBUG_GONE, DEBUG_MALFORMED, DEBUG_TOO_LONG } debugInput;
/* Wait for a command: its words, which live until the next call. */
debugInput debugReceive(const slice **words, int *count);

#endif
