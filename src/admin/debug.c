/* debug.c -- the DEBUG command: the table of its subcommands, and the short ones.
 *
 * Each row of the table is a subcommand with its help. HELP prints the rows, so it lists exactly what exists.
 *
 * Not here    subcommands about keys and values (debug_data.c).
 * Threads     main.
 * Tests       tests/differential/server_compare.py
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "debug.h"

#include "admin_settings.h"
#include "child.h"
#include "client_describe.h"
#include "clock.h"
#include "command_table.h"
#include "debug_internal.h"
#include "expire.h"
#include "log.h"
#include "object_settings.h"
#include "panic.h"
#include "program.h"
#include "repl_cron.h"
#include "reply.h"
#include "request_format.h"
#include "shared_pages.h"
#include "repl_stream.h"
#include "zmalloc.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

static bool cron_paused;

/* Converts the argument to a number, as strtod() does: 0 if it is none. */
static double argNumber(client *c, uint32_t index) {
    sds text = sdsFromSlice(c->argv[index]);
    double n = strtod(text, NULL);
    sdsFree(text);
    return n;
}

/* ---- Crashes --------------------------------------------------------------------------------------- */

static bool debugAssertion(client *c) {
    unused(c);
    serverAssert(1 == 2);
    return true;
}

static bool debugPanic(client *c) {
    unused(c);
    serverPanic("DEBUG PANIC called at Unix time %lld", (long long)(clockWallMs() / 1000));
}

static bool debugSegfault(client *c) {
    /* Writing to a read-only page makes the report name an address. */
    char *page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    *(volatile char *)page = 'x';
    addReplyOk(c);
    return true;
}

static bool debugOom(client *c) {
    void *p = zmalloc(SIZE_MAX / 2); /* does not return */
    zfree(p);
    addReplyOk(c);
    return true;
}

/* ---- Stops and switches ---------------------------------------------------------------------------- */

static bool debugSleep(client *c) {
    double seconds = argNumber(c, 2);
    if (seconds > 0) {
        struct timespec wait = {.tv_sec = (time_t)seconds};
        wait.tv_nsec = (long)((seconds - (double)wait.tv_sec) * 1e9);
        while (nanosleep(&wait, &wait) && errno == EINTR) continue; /* interrupted when stacks are recorded */
    }
    addReplyOk(c);
    return true;
}

static bool debugSetActiveExpire(client *c) {
    expireSetActive(argNumber(c, 2) != 0);
    addReplyOk(c);
    return true;
}

bool debugCronPaused(void) { return cron_paused; }

static bool debugPauseCron(client *c) {
    cron_paused = argNumber(c, 2) != 0;
    addReplyOk(c);
    return true;
}

static bool debugDictResizing(client *c) {
    sharedPagesAllowResizing(argNumber(c, 2) != 0);
    addReplyOk(c);
    return true;
}

static bool debugSkipChecksums(client *c) {
    object_settings.skip_checksums = argNumber(c, 2) != 0;
    addReplyOk(c);
    return true;
}

static bool debugSetDisableDenyScripts(client *c) {
    programLiftNoScript(argNumber(c, 2) != 0);
    addReplyOk(c);
    return true;
}

/* This server has no mechanism that the subcommand could switch; the help explains it. */
static bool debugNothingToSwitch(client *c) {
    addReplyOk(c);
    return true;
}

static bool debugReplyBuffer(client *c) {
    long long ms;
    if (sliceIs(c->argv[2], "resizing")) return debugNothingToSwitch(c);
    if (!sliceIs(c->argv[2], "peak-reset-time")) return false;
    if (sliceIs(c->argv[3], "never")) ms = -1;
    else if (sliceIs(c->argv[3], "reset")) ms = CLIENT_PEAK_PERIOD_MS;
    else if (!getLongLongFromArg(c, 3, &ms, NULL)) return true;
    clientPeaksSetPeriod(ms);
    addReplyOk(c);
    return true;
}

static bool debugChangeReplId(client *c) {
    serverLog(LL_NOTICE, "Changing replication IDs after receiving DEBUG change-repl-id");
    replStreamNewId();
    addReplyOk(c);
    return true;
}

/* Appends the arguments to the replication stream as they are, whether they are a command or not. */
static bool debugReplicate(client *c) {
    sds out = respCatRequest(sdsEmpty(), c->argc - 2, c->argv + 2);
    replStreamAppend(sdsSlice(out));
    sdsFree(out);
    addReplyOk(c);
    return true;
}

static bool debugCursorGrace(client *c) {
    replSetCursorGrace((uint64_t)argNumber(c, 2));
    addReplyOk(c);
    return true;
}

/* The links of the cluster bus exist in cluster mode only. */
static bool debugClusterlink(client *c) {
    if (!sliceIs(c->argv[2], "kill")) return false;
    addReplyError(c, "Debug option only available for cluster mode enabled setup!");
    return true;
}

static bool debugPauseAfterFork(client *c) {
    childSetPauseAfterFork(argNumber(c, 2) != 0);
    addReplyOk(c);
    return true;
}

/* ---- Texts ----------------------------------------------------------------------------------------- */

/* Replies with the error text as it is, with any code. It is not counted as an error, as no command has failed. */
static bool debugError(client *c) {
    sds line = sdsCatSlice(sdsNew("-"), c->argv[2]);
    for (size_t i = 0; i < sdsLen(line); i++)
        if (line[i] == '\r' || line[i] == '\n') line[i] = ' ';
    addReplySds(c, sdsCatLen(line, "\r\n", 2));
    return true;
}

static bool debugLog(client *c) {
    serverLog(LL_WARNING, "DEBUG LOG: %.*s", (int)c->argv[2].len, c->argv[2].ptr);
    addReplyOk(c);
    return true;
}

static bool debugLeak(client *c) {
    sds lost = sdsFromSlice(c->argv[2]);
    serverLog(LL_DEBUG, "Leaked %zu bytes", sdsLen(lost));
    addReplyOk(c);
    return true;
}

static bool debugStructsize(client *c) {
    addReplyBulkFormat(c, "bits:%zu robj:%zu dictentry:%zu client:%zu parsedcommand:%zu replyblock:%zu ",
                       sizeof(void *) * 8, sizeof(robj), sizeof(void *), sizeof(client), sizeof(parsedCommand),
                       sizeof(replyBlock));
    return true;
}

/* ---- PROTOCOL -------------------------------------------------------------------------------------- */

static void numbers(client *c) {
    for (int i = 0; i < 3; i++) addReplyLongLong(c, i);
}

static void replyMap(client *c) {
    addReplyMapLen(c, 3);
    for (int i = 0; i < 3; i++) {
        addReplyLongLong(c, i);
        addReplyBool(c, i == 1);
    }
}

static void replyAttribute(client *c) {
    if (c->resp > 2) {
        addReplyAttributeLen(c, 1);
        addReplyBulkCString(c, "key-popularity");
        addReplyArrayLen(c, 2);
        addReplyBulkCString(c, "key:123");
        addReplyLongLong(c, 90);
    }
    addReplyBulkCString(c, "Some real reply following the attribute");
}

static void replyPush(client *c) {
    if (c->resp < 3) {
        addReplyError(c, "RESP2 is not supported by this command");
        return;
    }
    /* A push must not come between a command and its reply, so it follows the reply. */
    addReplyBulkCString(c, "Some real reply following the push reply");
    addReplyPushLen(c, 2);
    addReplyBulkCString(c, "server-cpu-usage");
    addReplyLongLong(c, 42);
}

static bool debugProtocol(client *c) {
    slice type = c->argv[2];
    if (sliceIs(type, "string")) {
        addReplyBulkCString(c, "Hello World");
    } else if (sliceIs(type, "integer")) {
        addReplyLongLong(c, 12345);
    } else if (sliceIs(type, "double")) {
        addReplyDouble(c, 3.141);
    } else if (sliceIs(type, "bignum")) {
        addReplyBigNum(c, sliceStr("1234567999999999999999999999999999999"));
    } else if (sliceIs(type, "null")) {
        addReplyNull(c);
    } else if (sliceIs(type, "array")) {
        addReplyArrayLen(c, 3);
        numbers(c);
    } else if (sliceIs(type, "set")) {
        addReplySetLen(c, 3);
        numbers(c);
    } else if (sliceIs(type, "map")) {
        replyMap(c);
    } else if (sliceIs(type, "attrib")) {
        replyAttribute(c);
    } else if (sliceIs(type, "push")) {
        replyPush(c);
    } else if (sliceIs(type, "verbatim")) {
        addReplyVerbatim(c, sliceStr("This is a verbatim\nstring"), "txt");
    } else if (sliceIs(type, "true")) {
        addReplyBool(c, true);
    } else if (sliceIs(type, "false")) {
        addReplyBool(c, false);
    } else {
        addReplyError(c, "Wrong protocol type name. Please use one of the following: string|integer|double|bignum|null|"
                         "array|set|map|attrib|push|verbatim|true|false");
    }
    return true;
}

/* ---- The table ------------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    uint32_t argc_min, argc_max; /* including DEBUG and the name */
    bool (*run)(client *c);      /* false, without a reply, if the arguments have another form */
    const char *help[8];
} subcommands[] = {
    {"assert", 2, 2, debugAssertion, {"ASSERT", "    Fail an assertion, which ends the server."}},
    {"change-repl-id",
     2,
     2,
     debugChangeReplId,
     {"CHANGE-REPL-ID", "    Draw a new replication id. Replicas then need the whole dataset",
      "    again, so this is for tests."}},
    {"clusterlink",
     5,
     5,
     debugClusterlink,
     {"CLUSTERLINK KILL <to|from|all> <node-id>",
      "    Close links to another node of the cluster. It is refused, because this",
      "    server has no cluster mode."}},
    {"delay-rdb-client-free-seconds",
     3,
     3,
     debugCursorGrace,
     {"DELAY-RDB-CLIENT-FREE-SECONDS <seconds>", "    Hold a replica's place in the stream for so long when it has got",
      "    the dataset by a connection of its own."}},
    {"digest", 2, 2, debugDigest, {"DIGEST", "    Show a checksum of all databases, equal where their contents are."}},
    {"digest-value",
     2,
     UINT32_MAX,
     debugDigestValue,
     {"DIGEST-VALUE <key> [<key> ...]", "    Show a checksum of each of these values."}},
    {"error",
     3,
     3,
     debugError,
     {"ERROR <string>", "    Reply with this error, code and all, so that clients can test how", "    they take it."}},
    {"leak", 3, 3, debugLeak, {"LEAK <string>", "    Forget memory of the size of this string without freeing it."}},
    {"loadaof",
     2,
     2,
     debugLoadAof,
     {"LOADAOF", "    Drop the dataset and load what the append-only file has, written to the", "    end first."}},
    {"log", 3, 3, debugLog, {"LOG <message>", "    Put a line into the log."}},
    {"force-free-primary-async",
     3,
     3,
     debugNothingToSwitch,
     {"FORCE-FREE-PRIMARY-ASYNC <0|1>", "    Nothing changes: the client of a primary is always freed between two",
      "    commands, never by the function that closes it."}},
    {"hashtable-can-abort-shrink",
     3,
     3,
     debugNothingToSwitch,
     {"HASHTABLE-CAN-ABORT-SHRINK <0|1>", "    Nothing changes: a hash table that shrinks always does so to the end."}},
    {"htstats", 3, 4, debugHtstats, {"HTSTATS <dbid> [full]", "    Describe the hash tables of a database."}},
    {"htstats-key", 3, 4, debugHtstatsKey, {"HTSTATS-KEY <key> [full]", "    Describe the hash table inside a value."}},
    {"listpack",
     3,
     3,
     debugListpack,
     {"LISTPACK <key>", "    Print the elements of a listpack to the standard output."}},
    {"mallctl", 3, 4, debugMallctl, {"MALLCTL <key> [<val>]", "    Read or set a number of jemalloc."}},
    {"mallctl-str", 3, 4, debugMallctlStr, {"MALLCTL-STR <key> [<val>]", "    Read or set a text of jemalloc."}},
    {"object",
     3,
     4,
     debugObject,
     {"OBJECT <key> [fast]", "    Describe how a value is kept. With `fast`, leave out what takes long",
      "    to find, such as its length when serialized."}},
    {"oom", 2, 2, debugOom, {"OOM", "    Ask for more memory than there is, which ends the server."}},
    {"panic", 2, 2, debugPanic, {"PANIC", "    Panic, which ends the server."}},
    {"pause-after-fork",
     3,
     3,
     debugPauseAfterFork,
     {"PAUSE-AFTER-FORK <0|1>", "    Whether the server stops (SIGSTOP) behind each fork of a child."}},
    {"populate",
     3,
     5,
     debugPopulate,
     {"POPULATE <count> [<prefix>] [<size>]",
      "    Make so many strings, named <prefix>:<number> from 0 on (prefix: key) and",
      "    of <size> bytes if given. Names that are taken are left alone. Neither",
      "    replicas nor the slots of a cluster are heeded."}},
    {"protocol",
     3,
     3,
     debugProtocol,
     {"PROTOCOL <type>", "    Reply with a value of this RESP type, one of: string, integer,",
      "    double, bignum, null, array, set, map, attrib, push, verbatim, true, false."}},
    {"quicklist",
     3,
     4,
     debugQuicklist,
     {"QUICKLIST <key> [<0|1>]", "    Print the nodes of a quicklist to the standard output, with 1 also what",
      "    is in those that are not compressed."}},
    {"quicklist-packed-threshold",
     3,
     3,
     debugPlainThreshold,
     {"QUICKLIST-PACKED-THRESHOLD <size>", "    From so many bytes on an element of a quicklist has a node of its own.",
      "    With 0, that depends on the size of nodes again."}},
    {"replicate",
     3,
     UINT32_MAX,
     debugReplicate,
     {"REPLICATE <string> [<string> ...]", "    Write these words into the stream that replicas get, which may then",
      "    have other data."}},
    {"reload",
     2,
     5,
     debugReload,
     {"RELOAD [MERGE] [NOFLUSH] [NOSAVE]", "    Save the dataset and load it again. With NOSAVE, load the file as it",
      "    is; with NOFLUSH, into what there is; with MERGE, keys that are there", "    already are replaced."}},
    {"replybuffer",
     4,
     4,
     debugReplyBuffer,
     {"REPLYBUFFER PEAK-RESET-TIME <NEVER|RESET|milliseconds>",
      "    After how long the reply peaks of clients (CLIENT LIST, rbp) are reset;", "    RESET stands for 5 seconds.",
      "REPLYBUFFER RESIZING <0|1>", "    Nothing changes: replies are written into blocks that all clients share,",
      "    so no client has a buffer of its own to resize."}},
    {"segfault", 2, 2, debugSegfault, {"SEGFAULT", "    Touch memory that may not be touched, which ends the server."}},
    {"set-active-expire",
     3,
     3,
     debugSetActiveExpire,
     {"SET-ACTIVE-EXPIRE <0|1>", "    With 0, expired keys go only when somebody asks for them; with 1, in",
      "    the background as well."}},
    {"set-disable-deny-scripts",
     3,
     3,
     debugSetDisableDenyScripts,
     {"SET-DISABLE-DENY-SCRIPTS <0|1>", "    With 1, scripts may run commands that have the flag noscript. Still",
      "    refused are those that act on their own connection (MULTI, SUBSCRIBE,",
      "    AUTH ...), on scripts and functions, SYNC, SHUTDOWN, and DEBUG RELOAD", "    and LOADAOF."}},
    {"set-skip-checksum-validation",
     3,
     3,
     debugSkipChecksums,
     {"SET-SKIP-CHECKSUM-VALIDATION <0|1>", "    With 1, RESTORE, FUNCTION RESTORE and snapshots that are loaded are",
      "    accepted whatever their checksum is."}},
    {"sleep",
     3,
     3,
     debugSleep,
     {"SLEEP <seconds>", "    Do nothing for so long, decimals included; nobody is served meanwhile."}},
    {"structsize", 2, 2, debugStructsize, {"STRUCTSIZE", "    Show how large the main structures are."}},
    {"pause-cron",
     3,
     3,
     debugPauseCron,
     {"PAUSE-CRON <0|1>", "    With 1, hold back all work that is done at intervals."}},
    {"dict-resizing",
     3,
     3,
     debugDictResizing,
     {"DICT-RESIZING <0|1>", "    With 0, the tables of the databases keep their size."}},
};

static void replyHelp(client *c) {
    const char *lines[array_len(subcommands) * array_len(subcommands[0].help) + 1];
    size_t n = 0;
    for (size_t i = 0; i < array_len(subcommands); i++)
        for (size_t j = 0; j < array_len(subcommands[i].help) && subcommands[i].help[j]; j++)
            lines[n++] = subcommands[i].help[j];
    lines[n] = NULL;
    addReplyHelp(c, lines);
}

gateResult protectedGate(client *c) {
    bool debug = c->cmd->proc == debugCommand;
    int access = debug ? admin_settings.enable_debug_command : admin_settings.enable_module_command;
    if (access == ACCESS_YES || (access == ACCESS_LOCAL && clientIsLocal(c))) return GATE_PASSED;
    addReplyErrorFormat(c,
                        "%s command not allowed. If the enable-%s-command option is set to \"local\", you can "
                        "run it from a local connection, otherwise you need to set this option in the configuration "
                        "file, and then restart the server.",
                        debug ? "DEBUG" : "MODULE", debug ? "debug" : "module");
    return GATE_REFUSED;
}

void debugCommand(client *c) {
    if (c->argc == 2 && sliceIs(c->argv[1], "help")) {
        replyHelp(c);
        return;
    }
    for (size_t i = 0; i < array_len(subcommands); i++) {
        if (!sliceIs(c->argv[1], subcommands[i].name)) continue;
        if (c->argc < subcommands[i].argc_min || c->argc > subcommands[i].argc_max) break;
        if (subcommands[i].run(c)) return;
        break;
    }
    addReplySubcommandSyntaxError(c);
}
