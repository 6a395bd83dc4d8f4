/* modes.h -- the modes of valkey-cli that do something else than running commands.
 *
 * Each function needs a connected session and returns the exit code.
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

#endif
