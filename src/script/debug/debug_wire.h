/* debug_wire.h -- the protocol of a debugger run: lines to the client, commands from it.
 *
 * The lines that answer a command are sent as one array of simple strings. A command arrives as an array of bulk
 * strings. Reading and writing block.
 *
 * Runs on: main's own thread, or a forked child.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCRIPT_DEBUG_WIRE_H
#define SCRIPT_DEBUG_WIRE_H

#include "connection.h"
#include "interpreter.h"
#include "sds.h"

#define DEBUG_WORDS_MAX 1024

/* Begin and end the protocol on a connection, which is borrowed in between. Only one run at a time. */
void debugWireBegin(connection *conn);
void debugWireEnd(void);

/* Adds a line to what is sent next and frees it. Line ends within it become blanks. */
void debugPrint(sds line);
/* Same, but cuts the line to the length that the client has chosen, and adds a hint the first time. */
void debugPrintCut(sds line);
/* Adds a formatted line, of at most 511 bytes. */
void debugPrintFormat(const char *fmt, ...) printf_like(1, 2);
/* Returns the length to which lines are cut; 0 if they are not cut. */
size_t debugCutAt(void);
void debugSetCut(size_t bytes); /* sets it */
/* Returns the longest text of a value that is worth building: the rest would be cut. */
size_t debugPrintMax(void);

/* Sends the lines. Returns false if the connection is closed. */
bool debugSend(void);

/* Sends these bytes and closes the sending side; gives the peer a moment to read them. */
void debugSendLast(slice bytes);

typedef enum { DEBUG_COMMAND, DEBUG_CLOSED, DEBUG_MALFORMED, DEBUG_TOO_LONG } debugInput;
/* Waits for a command and sets its words, which are valid until the next call. */
debugInput debugReceive(const slice **words, int *count);

/* --- Values and replies as text (debug_text.c) --- */
/* Appends the value at `index` to `out` in the form `{[name]=x; }` and returns `out`. Calls no metamethod. Stops once
 * `out` is longer than `most`. */
sds debugCatValue(sds out, lua_State *L, int index, size_t most);
/* Appends a reply, RESP2 or RESP3, to `out` in the form `["a",1]` and returns `out`. Stops as debugCatValue() does. */
sds debugCatReply(sds out, slice reply, size_t most);

#endif
