/* modes.h -- what the program does instead of running commands.
 *
 * Each returns the exit code, on a session that is connected.
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
/* --ldb: the words of an EVAL. Tells how the session has ended; the connection has ended with it. */
debugEnd modeDebug(cliSession *s, int argc, const slice *argv);

#endif
