/* modes.h -- what valkey-cli does if the command line has no command.
 *
 * Each function returns the exit code. Those of modes need a connected session.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLI_MODES_H
#define CLI_MODES_H

#include "session.h"

int modeStat(cliSession *s);
int modeLatency(cliSession *s, bool history);
int modeLatencyDist(cliSession *s);
int modeIntrinsicLatency(long long seconds);
int modeScan(cliSession *s);
int modeBigKeys(cliSession *s, bool by_memory);
int modeKeyStats(cliSession *s);
int modeHotKeys(cliSession *s);
int modePipe(cliSession *s);
int modeRdb(cliSession *s, bool functions_only);
int modeReplica(cliSession *s);
int modeLruTest(cliSession *s);

typedef enum { DEBUG_OVER, DEBUG_QUIT, DEBUG_RESTART, DEBUG_BROKEN } debugEnd;
/* Runs the debugger (--ldb) on the words of an EVAL. Returns how the debugger ended; the connection has ended with
 * it. */
debugEnd modeDebug(cliSession *s, int argc, const slice *argv);

/* --- Lines of commands from a terminal or a pipe, until the end of input (repl.c) --- */
int replRunTerminal(cliSession *s);
int replRunPipe(cliSession *s);

#endif
