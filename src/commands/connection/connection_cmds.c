/* connection_cmds.c -- commands that begin, set up and end a connection: PING ECHO SELECT AUTH HELLO RESET QUIT.
 *
 * Not here    CLIENT (client_cmds.c, client_list.c), passwords (engine/acl/auth.h).
 * Threads     main.
 * Invariants  1. A HELLO that fails changes nothing, unless it fails after AUTH: then the client stays authenticated.
 * Tests       tests/unit/commands/connection/connection_cmds_test.c, tests/engine/client.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "connection_cmds.h"

#include "auth.h"
#include "call.h"
#include "commands.h"
#include "numbers.h"
#include "panic.h"
#include "redact.h"
#include "reply.h"

static serverIdentity (*get_identity)(void);

void connectionSetIdentity(serverIdentity (*identity)(void)) { get_identity = identity; }

void pingCommand(client *c) {
    if (c->argc > 2) {
        addReplyErrorArity(c);
    } else if ((c->flags & CLIENT_PUBSUB) && c->resp == 2) {
        /* A RESP2 client with subscriptions expects arrays only. */
        addReplyArrayLen(c, 2);
        addReplyBulkCString(c, "pong");
        addReplyBulk(c, c->argc == 2 ? c->argv[1] : sliceStr(""));
    } else if (c->argc == 2) {
        addReplyBulk(c, c->argv[1]);
    } else {
        addReplyPong(c);
    }
}

void echoCommand(client *c) { addReplyBulk(c, c->argv[1]); }

void selectCommand(client *c) {
    int id;
    if (!getIntFromArg(c, 1, &id, NULL)) return;
    serverDb *db = dbSelect(id);
    if (!db) {
        addReplyError(c, "DB index is out of range");
        return;
    }
    c->db = db;
    addReplyOk(c);
}

void quitCommand(client *c) {
    addReplyOk(c);
    c->flags |= CLIENT_CLOSE_AFTER_REPLY;
}

void resetCommand(client *c) {
    clientReset(c);
    authForget(c);
    addReplyStatus(c, "RESET");
}

/* ---- AUTH and HELLO --------------------------------------------------------------------------------------------- */

static void replyWrongPassword(client *c) {
    addReplyError(c, "-WRONGPASS invalid username-password pair or user is disabled.");
}

void authCommand(client *c) {
    if (c->argc > 3) {
        addReplySyntaxError(c);
        return;
    }
    for (uint32_t i = 1; i < c->argc; i++) redactArgument(c, i);
    if (c->argc == 2 && authDefaultHasNone()) {
        addReplyError(c,
                      "AUTH <password> called without any password configured for the default user. Are you sure your "
                      "configuration is correct?");
        return;
    }
    slice user = c->argc == 3 ? c->argv[1] : sliceStr("default");
    if (authClient(c, user, c->argv[c->argc - 1])) addReplyOk(c);
    else replyWrongPassword(c);
}

/* Options of HELLO: the argument index of the first value; 0 if not given. */
typedef struct helloOptions {
    uint32_t auth, setname;
} helloOptions;

static bool helloVersion(client *c, long long *version) {
    *version = c->resp;
    if (c->argc < 2) return true;
    if (!getLongLongFromArg(c, 1, version, "Protocol version is not an integer or out of range")) return false;
    if (*version == 2 || *version == 3) return true;
    return addReplyError(c, "-NOPROTO unsupported protocol version");
}

static bool helloParse(client *c, helloOptions *o) {
    *o = (helloOptions){0};
    for (uint32_t i = 2; i < c->argc;) {
        uint32_t left = c->argc - 1 - i;
        slice word = c->argv[i];
        if (sliceIs(word, "auth") && left >= 2) {
            redactArgument(c, i + 1);
            redactArgument(c, i + 2);
            o->auth = i + 1;
            i += 3;
        } else if (sliceIs(word, "setname") && left >= 1) {
            o->setname = i + 1;
            if (!clientNameIsValid(c->argv[i + 1]))
                return addReplyError(c, "Client names cannot contain spaces, newlines or special characters.");
            i += 2;
        } else {
            return addReplyErrorFormat(c, "Syntax error in HELLO option '%.*s'", (int)word.len, word.ptr);
        }
    }
    return true;
}

static void replyPair(client *c, const char *key, const char *value) {
    addReplyBulkCString(c, key);
    addReplyBulkCString(c, value);
}

static void replyIdentity(client *c) {
    serverAssert(get_identity);
    serverIdentity is = get_identity();
    bool has_zone = is.availability_zone.len > 0;

    addReplyMapLen(c, 7 + has_zone);
    replyPair(c, "server", is.name);
    replyPair(c, "version", is.version);
    addReplyBulkCString(c, "proto");
    addReplyLongLong(c, c->resp);
    addReplyBulkCString(c, "id");
    addReplyLongLong(c, (long long)c->id);
    replyPair(c, "mode", is.mode);
    replyPair(c, "role", is.role);
    addReplyBulkCString(c, "modules");
    replyModules(c);
    if (!has_zone) return;
    addReplyBulkCString(c, "availability_zone");
    addReplyBulk(c, is.availability_zone);
}

void helloCommand(client *c) {
    long long version;
    helloOptions options;

    if (!helloVersion(c, &version) || !helloParse(c, &options)) return;
    if (options.auth && !authClient(c, c->argv[options.auth], c->argv[options.auth + 1])) {
        replyWrongPassword(c);
        return;
    }
    if (!c->authenticated) { /* even if the password was removed after the client connected */
        addReplyError(
            c, "-NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH "
               "<user> <pass> option can be used to authenticate the client and select the RESP protocol version "
               "at the same time");
        return;
    }
    if (options.setname) {
        const char *err;
        bool valid = clientSetName(c, c->argv[options.setname], &err);
        serverAssert(valid);
    }
    c->resp = (uint8_t)version;
    replyIdentity(c);
}
