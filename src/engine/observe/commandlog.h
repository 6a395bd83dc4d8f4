/* commandlog.h -- the last commands that were slow, or had a large request or reply.
 *
 * Three logs of bounded length, newest entry first. SLOWLOG reads the log of slow commands, COMMANDLOG all three.
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_COMMANDLOG_H
#define ENGINE_COMMANDLOG_H

#include "command_table.h"
#include "engine_settings.h"

typedef enum { COMMANDLOG_SLOW, COMMANDLOG_LARGE_REQUEST, COMMANDLOG_LARGE_REPLY, COMMANDLOG_KINDS } commandlogKind;

/* Adds the command that has just been executed to the logs whose threshold it reaches, and drops the oldest entries
 * beyond their lengths. Callers check commandlogWanted() first, which is inline. */
void commandlogRecord(client *c, uint64_t duration_ns, size_t request_bytes, size_t reply_bytes);
/* Returns the number of entries. */
size_t commandlogLength(commandlogKind kind);
/* Returns the bytes that the entries of all logs use (MEMORY STATS, INFO mem_overhead). */
size_t commandlogMemUsage(void);

/* Returns whether one of the thresholds is reached. */
static inline bool commandlogWanted(uint64_t duration_ns, size_t request_bytes, size_t reply_bytes) {
    /* -1, which disables a log, is the largest unsigned number. A threshold of centuries overflows; then
     * commandlogRecord() compares again and logs nothing. */
    return duration_ns >= (uint64_t)engine_settings.slower_than_us * 1000 ||
           request_bytes >= (unsigned long long)engine_settings.request_larger_than ||
           reply_bytes >= (unsigned long long)engine_settings.reply_larger_than;
}

commandHandler slowlogGetCommand, slowlogLenCommand, slowlogResetCommand;
commandHandler commandlogGetCommand, commandlogLenCommand, commandlogResetCommand;

#endif
