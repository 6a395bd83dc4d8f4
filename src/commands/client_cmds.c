/* client_cmds.c -- CLIENT: what a connection asks about itself, and how it wants to be treated.
 *
 * Not here    CLIENT LIST and KILL (client_list.c), what the flags do (client/, engine/call.c, engine/pause.c).
 * Owns        nothing.
 * Threads     main.
 * Tests       tests/unit/commands/connection_cmds_test.c, tests/engine/client.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include <limits.h>

#include "commands.h"
#include "pause.h"
#include "reply.h"

/* ON or OFF in argument 2 as a flag of the client. */
static void setFlag(client *c, uint32_t flag) {
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

void clientNoEvictCommand(client *c) {
    setFlag(c, CLIENT_NO_EVICT);
}

void clientNoTouchCommand(client *c) {
    setFlag(c, CLIENT_NO_TOUCH);
}

/* There is no import mode to be a source for, and so nothing but to say so; OFF holds already. */
void clientImportSourceCommand(client *c) {
    if (sliceIs(c->argv[2], "off")) addReplyOk(c);
    else addReplyError(c, "Server is not in import mode");
}

/* ---- Who it is -------------------------------------------------------------------------------------------------- */

void clientIdCommand(client *c) {
    addReplyLongLong(c, (long long)c->id);
}

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
        if (sliceIs(c->argv[i], "redirect")) c->capa |= CLIENT_CAPA_REDIRECT;
    }
    addReplyOk(c);
}

/* ---- What it is sent -------------------------------------------------------------------------------------------- */

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

void clientGetredirCommand(client *c) {
    addReplyLongLong(c, -1); /* invalidations go nowhere without tracking */
}

void clientTrackinginfoCommand(client *c) {
    addReplyMapLen(c, 3);
    addReplyBulkCString(c, "flags");
    addReplySetLen(c, 1);
    addReplyBulkCString(c, "off");
    addReplyBulkCString(c, "redirect");
    addReplyLongLong(c, -1);
    addReplyBulkCString(c, "prefixes");
    addReplyEmptyArray(c);
}

/* ---- When it is served ------------------------------------------------------------------------------------------ */

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

/* Only a command that blocks can be ended early; a pause cannot. */
void clientUnblockCommand(client *c) {
    long long id;

    if (c->argc == 4 && !sliceIs(c->argv[3], "timeout") && !sliceIs(c->argv[3], "error")) {
        addReplyError(c, "CLIENT UNBLOCK reason should be TIMEOUT or ERROR");
        return;
    }
    if (!getLongLongFromArg(c, 2, &id, NULL)) return;
    addReplyZero(c);
}

void clientHelpCommand(client *c) {
    static const char *lines[] = {
        "CACHING (YES|NO)",
        "    Enable/disable tracking of the keys for next command in OPTIN/OPTOUT modes.",
        "CAPA <option> [options...]",
        "    The client claims its some capability options. Options are:",
        "    * REDIRECT",
        "      The client can handle redirection during primary and replica failover in standalone mode.",
        "GETREDIR",
        "    Return the client ID we are redirecting to when tracking is enabled.",
        "GETNAME",
        "    Return the name of the current connection.",
        "ID",
        "    Return the ID of the current connection.",
        "INFO",
        "    Return information about the current client connection.",
        "KILL <ip:port>",
        "    Kill connection made from <ip:port>.",
        "KILL <option> <value> [<option> <value> [...]]",
        "    Kill connections. Options are:",
        "    * ADDR (<ip:port>|<unixsocket>:0)",
        "      Kill connections made from the specified address.",
        "    * LADDR (<ip:port>|<unixsocket>:0)",
        "      Kill connections made to the specified local address.",
        "    * TYPE (NORMAL|PRIMARY|REPLICA|PUBSUB)",
        "      Kill connections by type.",
        "    * USER <username>",
        "      Kill connections authenticated by <username>.",
        "    * SKIPME (YES|NO)",
        "      Skip killing current connection (default: yes).",
        "    * ID <client-id> [<client-id>...]",
        "      Kill connections by client IDs.",
        "    * MAXAGE <maxage>",
        "      Kill connections older than the specified age.",
        "    * FLAGS <flags>",
        "      Kill connections that include the specified flags.",
        "    * NAME <client-name>",
        "      Kill connections with the specified name.",
        "    * IDLE <idle>",
        "      Kill connections with idle time greater than or equal to <idle> seconds.",
        "    * LIB-NAME <library-name>",
        "      Kill connections with the specified library name.",
        "    * LIB-VER <library-version>",
        "      Kill connections with the specified library version.",
        "    * DB <db-id>",
        "      Kill connections currently operating on the specified database ID.",
        "    * CAPA <capa>",
        "      Kill connections currently with the specified capa.",
        "    * IP <ip>",
        "      Kill connections made from the specified ip.",
        "LIST [options ...]",
        "    Return information about client connections. Options:",
        "    * TYPE (NORMAL|PRIMARY|REPLICA|PUBSUB)",
        "      Return clients of specified type.",
        "    * USER <username>",
        "      Return clients authenticated by <username>.",
        "    * ADDR <ip:port>",
        "      Return clients connected from the specified address.",
        "    * LADDR <ip:port>",
        "      Return clients connected to the specified local address.",
        "    * ID <client-id> [<client-id>...]",
        "      Return clients with the specified IDs.",
        "    * SKIPME (YES|NO)",
        "      Exclude the current client from the list (default: no).",
        "    * MAXAGE <maxage>",
        "      List connections older than the specified age.",
        "    * FLAGS <flags>",
        "      Return clients with the specified flags.",
        "    * NAME <client-name>",
        "      Return clients with the specified name.",
        "    * IDLE <idle>",
        "      Return clients with idle time greater than or equal to <idle> seconds.",
        "    * LIB-NAME <lib-name>",
        "      Return clients with the specified lib name.",
        "    * LIB-VER <lib-version>",
        "      Return clients with the specified lib version.",
        "    * DB <db-id>",
        "      Return clients currently operating on the specified database ID.",
        "    * CAPA <capa>",
        "      Return connections currently with the specified capa.",
        "    * IP <ip>",
        "      Return connections made from the specified ip.",
        "UNPAUSE",
        "    Stop the current client pause, resuming traffic.",
        "PAUSE <timeout> [WRITE|ALL]",
        "    Suspend all, or just write, clients for <timeout> milliseconds.",
        "REPLY (ON|OFF|SKIP)",
        "    Control the replies sent to the current connection.",
        "SETNAME <name>",
        "    Assign the name <name> to the current connection.",
        "SETINFO <option> <value>",
        "    Set client meta attr. Options are:",
        "    * LIB-NAME: the client lib name.",
        "    * LIB-VER: the client lib version.",
        "UNBLOCK <clientid> [TIMEOUT|ERROR]",
        "    Unblock the specified blocked client.",
        "TRACKING (ON|OFF) [REDIRECT <id>] [BCAST] [PREFIX <prefix> [...]]",
        "         [OPTIN] [OPTOUT] [NOLOOP]",
        "    Control server assisted client side caching.",
        "TRACKINGINFO",
        "    Report tracking status for the current connection.",
        "NO-EVICT (ON|OFF)",
        "    Protect current client connection from eviction.",
        "NO-TOUCH (ON|OFF)",
        "    Will not touch LRU/LFU stats when this mode is on.",
        "IMPORT-SOURCE (ON|OFF)",
        "    Mark this connection as an import source if import-mode is enabled.",
        "    Sync tools can set their connections into 'import-source' state to visit",
        "    expired keys.",
        NULL,
    };
    addReplyHelp(c, lines);
}
