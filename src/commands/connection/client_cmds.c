/* client_cmds.c -- CLIENT subcommands about one connection: its identity, its replies, how it is treated.
 *
 * Not here    CLIENT LIST and KILL (client_list.c), client-side caching (client_tracking.c), what the flags do
 *             (client/, engine/call.c, engine/wait/pause.c).
 * Threads     main.
 * Tests       tests/unit/commands/connection/connection_cmds_test.c, tests/engine/client.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include <limits.h>

#include "blocking.h"
#include "client_describe.h"
#include "commands.h"
#include "pause.h"
#include "reply.h"
#include "store_state.h"

/* Sets or clears a flag of the client, as argument 2 says (ON or OFF). */
static void setFlag(client *c, uint64_t flag) {
    if (sliceIs(c->argv[2], "on")) {
        c->flags |= flag;
    } else if (sliceIs(c->argv[2], "off")) {
        c->flags &= ~flag;
    } else {
        addReplySyntaxError(c);
        return;
    }
    addReplyOk(c);
}

void clientNoEvictCommand(client *c) { setFlag(c, CLIENT_NO_EVICT); }
void clientNoTouchCommand(client *c) { setFlag(c, CLIENT_NO_TOUCH); }

/* ON is refused unless import-mode is set; OFF is always accepted. */
void clientImportSourceCommand(client *c) {
    if (sliceIs(c->argv[2], "on") && !store_following.imports) addReplyError(c, "Server is not in import mode");
    else setFlag(c, CLIENT_IMPORT_SOURCE);
}

/* ---- Identity --------------------------------------------------------------------------------------------------- */

void clientIdCommand(client *c) { addReplyLongLong(c, (long long)c->id); }

void clientInfoCommand(client *c) {
    sds text = sdsCatLen(clientCatInfo(sdsEmpty(), c), "\n", 1);
    addReplyVerbatim(c, sdsSlice(text), "txt");
    sdsFree(text);
}

void clientGetnameCommand(client *c) {
    if (c->name) addReplyBulk(c, sdsSlice(c->name));
    else addReplyNull(c);
}

void clientSetnameCommand(client *c) {
    const char *err;
    if (clientSetName(c, c->argv[2], &err)) addReplyOk(c);
    else addReplyError(c, err);
}

void clientSetinfoCommand(client *c) {
    slice option = c->argv[2], value = c->argv[3];
    sds *field;

    if (sliceIs(option, "lib-name")) {
        field = &c->lib_name;
    } else if (sliceIs(option, "lib-ver")) {
        field = &c->lib_ver;
    } else {
        addReplyErrorFormat(c, "Unrecognized option '%.*s'", (int)option.len, option.ptr);
        return;
    }
    if (!clientNameIsValid(value)) {
        addReplyErrorFormat(c, "%.*s cannot contain spaces, newlines or special characters.", (int)option.len,
                            option.ptr);
        return;
    }
    sdsFree(*field);
    *field = value.len ? sdsFromSlice(value) : NULL;
    addReplyOk(c);
}

void clientCapaCommand(client *c) {
    for (uint32_t i = 2; i < c->argc; i++) {
        if (!sliceIs(c->argv[i], "redirect")) continue;
        c->capa |= CLIENT_CAPA_REDIRECT;
        gateEnableClient(c, GATE_REDIRECT, true);
    }
    addReplyOk(c);
}

/* ---- Replies ---------------------------------------------------------------------------------------------------- */

void clientReplyCommand(client *c) {
    const uint32_t silent = CLIENT_REPLY_OFF | CLIENT_REPLY_SKIP | CLIENT_REPLY_SKIP_NEXT;

    if (sliceIs(c->argv[2], "on")) {
        c->flags &= ~silent;
        addReplyOk(c);
    } else if (sliceIs(c->argv[2], "off")) {
        c->flags |= CLIENT_REPLY_OFF;
    } else if (sliceIs(c->argv[2], "skip")) {
        if (!(c->flags & CLIENT_REPLY_OFF)) c->flags |= CLIENT_REPLY_SKIP_NEXT;
    } else {
        addReplySyntaxError(c);
    }
}

/* ---- Pausing and blocking --------------------------------------------------------------------------------------- */

void clientPauseCommand(client *c) {
    pauseKind kind = PAUSE_ALL;
    long long timeout_ms;

    if (c->argc == 4) {
        if (sliceIs(c->argv[3], "write")) {
            kind = PAUSE_WRITES;
        } else if (!sliceIs(c->argv[3], "all")) {
            addReplyError(c, "CLIENT PAUSE mode must be WRITE or ALL");
            return;
        }
    }
    if (!getLongLongFromArg(c, 2, &timeout_ms, "timeout is not an integer or out of range")) return;
    int64_t now_ms = clockWallMs();
    if (timeout_ms < 0) {
        addReplyError(c, "timeout is negative");
    } else if (timeout_ms > LLONG_MAX - now_ms) {
        addReplyError(c, "timeout is out of range");
    } else {
        pauseClients(PAUSE_BY_CLIENT_COMMAND, kind, now_ms + timeout_ms);
        addReplyOk(c);
    }
}

void clientUnpauseCommand(client *c) {
    unpauseClients(PAUSE_BY_CLIENT_COMMAND);
    addReplyOk(c);
}

/* Ends the wait of a client whose command blocks. A client that is only paused is not affected. */
void clientUnblockCommand(client *c) {
    long long id;

    if (c->argc == 4 && !sliceIs(c->argv[3], "timeout") && !sliceIs(c->argv[3], "error")) {
        addReplyError(c, "CLIENT UNBLOCK reason should be TIMEOUT or ERROR");
        return;
    }
    if (!getLongLongFromArg(c, 2, &id, NULL)) return;
    client *target = id > 0 ? clientById((uint64_t)id) : NULL;
    bool error = c->argc == 4 && sliceIs(c->argv[3], "error");
    const char *text = error ? "-UNBLOCKED client unblocked via CLIENT UNBLOCK" : NULL;
    addReplyLongLong(c, target && blockingEnd(target, text));
}
