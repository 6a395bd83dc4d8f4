/* mode_stat.c -- --stat: prints figures of the server, a line per interval.
 *
 * Tests       tests/tools/cli.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "modes.h"
#include "numbers.h"
#include "terminal.h"
#include <stdio.h>
#include <stdlib.h>

#define LINES_PER_HEADER 20

/* Returns the number after "\r
 * field:" in the text of INFO; 0 if there is none. */
static long long infoNumber(const char *info, const char *field) {
    size_t len = strlen(field);
    for (const char *at = info; (at = strstr(at, field)); at += len)
        if ((at == info || at[-1] == '\n') && at[len] == ':') return atoll(at + len + 1);
    return 0;
}

/* Returns the number of keys of all databases, from "dbN:keys=123,...". */
static long long infoKeys(const char *info) {
    long long sum = 0;
    for (const char *at = info; (at = strstr(at, ":keys=")); at++) sum += atoll(at + 6);
    return sum;
}

static const char *childState(const char *info) {
    int state = (infoNumber(info, "rdb_bgsave_in_progress") ? 1 : 0) |
                (infoNumber(info, "aof_rewrite_in_progress") ? 2 : 0) | (infoNumber(info, "loading") ? 4 : 0);
    switch (state) {
    case 0: return "";
    case 1: return "SAVE";
    case 2: return "AOF";
    case 3: return "SAVE+AOF";
    default: return "LOAD";
    }
}

/* Scripts recognize the columns by these two lines. */
static const char groups[] = "------- data ------ --------------------- load -------------------- - child -";
static const char names[] = "keys       mem      clients blocked requests            connections          ";

int modeStat(cliConnection *c) {
    double interval_s = c->options->interval_s > 0 ? c->options->interval_s : 1;
    long long requests = 0;
    for (long long line = 0; c->options->repeat_given == false || line < c->options->repeat; line++) {
        replyValue *reply = cliAsk(c, "INFO", NULL);
        const char *info = reply->str ? reply->str : "";
        if (line % LINES_PER_HEADER == 0) printf("%s%s\n%s%s\n", terminalStyle("1"), groups, names, terminalStyle("0"));
        char memory[64], number[64];
        bytes2human(memory, sizeof(memory), (unsigned long long)infoNumber(info, "used_memory"));
        long long now = infoNumber(info, "total_commands_processed");
        printf("%-11lld%-9s%-8lld%-8lld", infoKeys(info), memory, infoNumber(info, "connected_clients"),
               infoNumber(info, "blocked_clients"));
        snprintf(number, sizeof(number), "%lld (+%lld)", now, line ? now - requests : 0);
        printf("%-20s%-12lld%s\n", number, infoNumber(info, "total_connections_received"), childState(info));
        fflush(stdout);
        requests = now;
        replyValueFree(reply);
        cliPause(interval_s);
    }
    return 0;
}
