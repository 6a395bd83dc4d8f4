/* apply_faults.c -- reacts to commands of the primary that fail on this replica, or that cannot be written to its disk.
 *
 * Either means that this replica differs from its primary, or will after a restart. The settings
 * propagation-error-behavior and replica-ignore-disk-write-errors decide whether it logs that and continues, or ends.
 *
 * Threads     main.
 * Tests       tests/repl/faults.tcl, tests/repl/strange_primary.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "apply_faults.h"

#include "call.h"
#include "clock.h"
#include "disk_gate.h"
#include "gates.h"
#include "log.h"
#include "repl_settings.h"
#include "reply.h"

#include <unistd.h>

#define LOG_EVERY_MS 10000

/* Ends the process, with _exit() because other threads, such as those of the loader, are running. */
static void endProcess(const char *why) {
    serverLog(LL_WARNING, "%s Exiting...", why);
    _exit(1);
}

/* Returns which side adds the error reply, and sets *to to the one for which it is. */
static const char *sidesOf(const client *c, const char **to) {
    if (c->flags & CLIENT_REPLAYS) {
        *to = "AOF-loading-client";
        return "server";
    }
    bool from_primary = c->flags & CLIENT_PRIMARY;
    *to = from_primary ? "primary" : "replica";
    return from_primary ? "replica" : "primary";
}

static bool isFatal(const client *c) {
    int behavior = repl_settings.error_behavior;
    if (c->flags & CLIENT_REPLAYS) return behavior == ON_ERROR_PANIC;
    return c->flags & CLIENT_PRIMARY && repl_settings.read_only && behavior != ON_ERROR_IGNORE;
}

/* Called when an error reply is added for the primary, for a replica, or for the client that replays the AOF. */
static void logFault(client *c, slice text) {
    const char *to, *from = sidesOf(c, &to);
    if (text.len && text.ptr[0] == '-') text = sliceOf(text.ptr + 1, text.len - 1);
    bool hidden = log_hide_user_data;
    serverLog(LL_WARNING,
              "== CRITICAL == This %s is sending an error to its %s: '%.*s' after processing the command '%s'", from,
              to, hidden ? 10 : (int)text.len, hidden ? "*redacted*" : text.ptr, clientCommandName(c->cmd));
    if (isFatal(c)) endProcess("The setting propagation-error-behavior stops the server.");
}

void applyFaultsCheck(const client *c) {
    static uint64_t logged_ms;
    if (likely(!(gates_enabled & 1u << GATE_DISK)) || !c->cmd)
        return; /* c->cmd is NULL if this server does not know the command */
    if (!(c->cmd->flags & CMD_WRITE) || !diskGateIsShut()) return;
    if (!repl_settings.ignore_disk_errors)
        endProcess("A command of the primary cannot be written to disk, and replica-ignore-disk-write-errors is no.");
    uint64_t now_ms = clockMonotonicMs();
    if (logged_ms && now_ms - logged_ms < LOG_EVERY_MS) return;
    logged_ms = now_ms;
    serverLog(
        LL_WARNING,
        "Applying commands of the primary although they cannot be written to disk (replica-ignore-disk-write-errors).");
}

void applyFaultsInit(void) { replyErrorOnUnexpected(logFault); }
