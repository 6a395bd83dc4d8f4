/* script_debug.c -- SCRIPT DEBUG, and a debugger run: its connection, its process, its end.
 *
 *     EVAL --take the connection--> synchronous: run --> reply, close after it is written
 *                               '-> fork --> child:  run --> reply, _exit()
 *                                        '-> parent: abandons the client; its peer does not notice
 *
 * Not here    the debugger itself (debugger.c).
 * Owns        the pids of the children.
 * Threads     main; debugger runs: main's own thread, or a child's only one.
 * Invariants  1. A child serves only its client, and has no effect outside its process.
 * Tests       tests/script/debugger.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "script_debug.h"

#include "bio.h"
#include "debugger.h"
#include "forked.h"
#include "lazyfree.h"
#include "log.h"
#include "panic.h"
#include "script_context.h"
#include "reply.h"
#include "yield.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHILDREN_MAX 64

enum { DEBUG_OFF, DEBUG_FORKED, DEBUG_SYNC };

static struct {
    debugDetach detach; /* const after startup */
    size_t slot;        /* const after startup: the byte of a client that SCRIPT DEBUG sets */
    connection *conn;   /* borrowed: of the run in this process */
    pid_t children[CHILDREN_MAX];
    int nchildren;
} debugging;

static uint8_t *modeOf(const client *c) { return clientSlot(c, debugging.slot); }

bool scriptIsDebugged(const client *c) { return *modeOf(c) != DEBUG_OFF; }

void scriptDebugInit(const debugDetach *detach) {
    assertMainRole();
    debugging.slot = clientSlotRegister(sizeof(uint8_t));
    debugging.detach = *detach;
}

void scriptDebugCommand(client *c) {
    if (c->argc > 4) {
        addReplySubcommandSyntaxError(c);
    } else if (c->argc == 4 && !sliceIs(c->argv[3], "lua")) {
        addReplyErrorFormat(c, "No scripting engine found with name '%.*s' to enable debug",
                            (int)(c->argv[3].len < 128 ? c->argv[3].len : 128), c->argv[3].ptr);
    } else if (c->output_bytes != 0) {
        addReplyError(c, "SCRIPT DEBUG must be called outside a pipeline");
    } else if (c->flags & CLIENT_DENY_BLOCKING) {
        addReplyError(c, "SCRIPT DEBUG isn't allowed for DENY BLOCKING client");
    } else if (sliceIs(c->argv[2], "no")) {
        *modeOf(c) = DEBUG_OFF;
        addReplyOk(c);
    } else if (sliceIs(c->argv[2], "yes") || sliceIs(c->argv[2], "sync")) {
        *modeOf(c) = sliceIs(c->argv[2], "yes") ? DEBUG_FORKED : DEBUG_SYNC;
        addReplyOk(c);
    } else {
        addReplyError(c, "Use SCRIPT DEBUG YES/SYNC/NO");
    }
}

/* ---- Children ---------------------------------------------------------------------------------------------------- */

void scriptDebugTick(void) {
    for (int i = 0; i < debugging.nchildren;) {
        pid_t pid = waitpid(debugging.children[i], NULL, WNOHANG);
        if (pid == 0 || (pid < 0 && errno == EINTR)) i++;
        else debugging.children[i] = debugging.children[--debugging.nchildren];
    }
}

void scriptDebugEndChildren(void) {
    for (int i = 0; i < debugging.nchildren; i++) kill(debugging.children[i], SIGKILL);
    for (int i = 0; i < debugging.nchildren; i++) {
        pid_t pid;
        do pid = waitpid(debugging.children[i], NULL, 0);
        while (pid < 0 && errno == EINTR);
    }
    debugging.nchildren = 0;
}

/* Makes this process the child of a debugger run: it does itself what the parent leaves to other threads, and serves no
 * other client. */
static void beChild(pid_t parent) {
    forkedSettle(parent, debugging.conn->fd, debugging.conn->fd);
    bioRunInline();
    storeSetFreeSink(NULL);
    yieldSetServe(NULL);
    forkedBecomeCopy();
    scriptContextAllowNoScript(false); /* most commands that act on the server are noscript: files, listeners, threads,
                                 * shutdown */
    debugging.nchildren = 0;
    serverLog(LL_NOTICE, "Valkey forked for debugging eval");
}

/* Returns true in the child. */
static bool forkChild(client *c) {
    pid_t parent = getpid(), pid = forkQuietly();
    if (pid == 0) {
        beChild(parent);
        return true;
    }
    if (pid < 0) {
        int error = errno;
        serverLog(LL_WARNING, "Cannot fork a child process for script debugging: %s", strerror(error));
        addReplyErrorFormat(c, "can't fork for debugging: %s", strerror(error));
        debugging.detach.giveBack(c);
    } else {
        debugging.children[debugging.nchildren++] = pid;
        debugging.detach.abandon(c);
    }
    debugging.conn = NULL;
    return false;
}

/* ---- Debugger runs ----------------------------------------------------------------------------------------------- */

bool scriptDebugBegin(client *c, slice text) {
    assertMainRole();
    bool sync = *modeOf(c) == DEBUG_SYNC;
    scriptDebugTick();
    if (!sync && debugging.nchildren == CHILDREN_MAX) {
        addReplyErrorFormat(c, "too many debugging sessions: the limit is %d", CHILDREN_MAX);
        return false;
    }
    debugging.conn = panicOnMainThread() && debugging.detach.take ? debugging.detach.take(c) : NULL;
    if (!debugging.conn) {
        addReplyError(c, "cannot start a debugging session: the client has unread replies");
        return false;
    }
    if (sync) serverLog(LL_NOTICE, "Valkey synchronous debugging eval session started");
    else if (!forkChild(c)) return false;
    debuggerBegin(debugging.conn, text, sync ? ON_CLOSE_CONTINUE : ON_CLOSE_END);
    return true;
}

noreturn_fn static void endChild(client *c) {
    replyBlock *chain = clientTakeReplies(c);
    sds reply = chain ? replyBlockCatChain(sdsEmpty(), chain) : sdsEmpty();
    debuggerEnd(sdsSlice(reply), true);
    serverLog(LL_NOTICE, "Lua debugging session child exiting");
    _exit(0);
}

void scriptDebugEnd(client *c) {
    if (forkedIsCopy()) endChild(c);
    debuggerEnd(sliceOf("", 0), false);
    *modeOf(c) = DEBUG_OFF;
    c->flags |= CLIENT_CLOSE_AFTER_REPLY;
    debugging.conn = NULL;
    debugging.detach.giveBack(c);
    serverLog(LL_NOTICE, "Valkey synchronous debugging eval session ended");
}
