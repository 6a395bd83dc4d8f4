/* debug.c -- the DEBUG command: the table of its subcommands, and the short ones.
 *
 * Each row of the table is a subcommand with its help. HELP prints the rows, so it lists exactly what exists.
 *
 * Not here    subcommands about keys and values (debug_data.c), and about the cluster bus (debug_cluster.c).
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
#include "script_context.h"
#include "replication.h"
#include "reply.h"
#include "resp_format.h"
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

static void debugAssertion(client *c) {
    unused(c);
    serverAssert(1 == 2);
}

static void debugPanic(client *c) {
    unused(c);
    serverPanic("DEBUG PANIC called at Unix time %lld", (long long)(clockWallMs() / 1000));
}

static void debugSegfault(client *c) {
    /* Writing to a read-only page makes the report name an address. */
    char *page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    *(volatile char *)page = 'x';
    addReplyOk(c);
}

static void debugOom(client *c) {
    void *p = zmalloc(SIZE_MAX / 2); /* does not return */
    zfree(p);
    addReplyOk(c);
}

/* ---- Stops and switches ---------------------------------------------------------------------------- */

static void debugSleep(client *c) {
    double seconds = argNumber(c, 2);
    if (seconds > 0) {
        struct timespec wait = {.tv_sec = (time_t)seconds};
        wait.tv_nsec = (long)((seconds - (double)wait.tv_sec) * 1e9);
        while (nanosleep(&wait, &wait) && errno == EINTR) continue; /* interrupted when stacks are recorded */
    }
    addReplyOk(c);
}

bool debugCronPaused(void) { return cron_paused; }

static void setCronPaused(bool on) { cron_paused = on; }

static void setSkipChecksums(bool on) { object_settings.skip_checksums = on; }

/* This server has no mechanism that the subcommand could switch; the help explains it. */
static void debugNothingToSwitch(client *c) { addReplyOk(c); }

static void debugReplyBuffer(client *c) {
    long long ms;
    if (sliceIs(c->argv[2], "resizing")) {
        debugNothingToSwitch(c);
        return;
    }
    if (!sliceIs(c->argv[2], "peak-reset-time")) {
        addReplySubcommandSyntaxError(c);
        return;
    }
    if (sliceIs(c->argv[3], "never")) ms = -1;
    else if (sliceIs(c->argv[3], "reset")) ms = CLIENT_PEAK_PERIOD_MS;
    else if (!getLongLongFromArg(c, 3, &ms, NULL)) return;
    clientPeaksSetPeriod(ms);
    addReplyOk(c);
}

static void debugChangeReplId(client *c) {
    serverLog(LL_NOTICE, "Changing replication IDs after receiving DEBUG change-repl-id");
    replStreamNewId();
    addReplyOk(c);
}

/* Appends the arguments to the replication stream as they are, whether they are a command or not. */
static void debugReplicate(client *c) {
    sds out = respCatRequest(sdsEmpty(), c->argc - 2, c->argv + 2);
    replStreamAppend(sdsSlice(out));
    sdsFree(out);
    addReplyOk(c);
}

static void debugCursorGrace(client *c) {
    replSetCursorGrace((uint64_t)argNumber(c, 2));
    addReplyOk(c);
}

/* ---- Texts ----------------------------------------------------------------------------------------- */

/* Replies with the error text as it is, with any code. It is not counted as an error, as no command has failed. */
static void debugError(client *c) {
    sds line = sdsCatSlice(sdsNew("-"), c->argv[2]);
    for (size_t i = 0; i < sdsLen(line); i++)
        if (line[i] == '\r' || line[i] == '\n') line[i] = ' ';
    addReplySds(c, sdsCatLen(line, "\r\n", 2));
}

static void debugLog(client *c) {
    serverLog(LL_WARNING, "DEBUG LOG: %.*s", (int)c->argv[2].len, c->argv[2].ptr);
    addReplyOk(c);
}

static void debugLeak(client *c) {
    sds lost = sdsFromSlice(c->argv[2]);
    serverLog(LL_DEBUG, "Leaked %zu bytes", sdsLen(lost));
    addReplyOk(c);
}

static void debugStructsize(client *c) {
    addReplyBulkFormat(c, "bits:%zu robj:%zu dictentry:%zu client:%zu parsedcommand:%zu replyblock:%zu ",
                       sizeof(void *) * 8, sizeof(robj), sizeof(void *), sizeof(client), sizeof(parsedCommand),
                       sizeof(replyBlock));
}

/* ---- PROTOCOL -------------------------------------------------------------------------------------- */

static void replyNumbers(client *c, void (*begin)(client *c, long long n)) {
    begin(c, 3);
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

static void debugProtocol(client *c) {
    slice type = c->argv[2];
    if (sliceIs(type, "string")) addReplyBulkCString(c, "Hello World");
    else if (sliceIs(type, "integer")) addReplyLongLong(c, 12345);
    else if (sliceIs(type, "double")) addReplyDouble(c, 3.141);
    else if (sliceIs(type, "bignum")) addReplyBigNum(c, sliceStr("1234567999999999999999999999999999999"));
    else if (sliceIs(type, "null")) addReplyNull(c);
    else if (sliceIs(type, "array")) replyNumbers(c, addReplyArrayLen);
    else if (sliceIs(type, "set")) replyNumbers(c, addReplySetLen);
    else if (sliceIs(type, "map")) replyMap(c);
    else if (sliceIs(type, "attrib")) replyAttribute(c);
    else if (sliceIs(type, "push")) replyPush(c);
    else if (sliceIs(type, "verbatim")) addReplyVerbatim(c, sliceStr("This is a verbatim\nstring"), "txt");
    else if (sliceIs(type, "true")) addReplyBool(c, true);
    else if (sliceIs(type, "false")) addReplyBool(c, false);
    else
        addReplyError(c, "Wrong protocol type name. Please use one of the following: string|integer|double|bignum|null|"
                         "array|set|map|attrib|push|verbatim|true|false");
}

/* ---- The table ------------------------------------------------------------------------------------- */

/* A subcommand. Its name is the first word of its help. */
static const struct {
    uint32_t argc_min, argc_max; /* including DEBUG and the name */
    void (*run)(client *c);      /* NULL if there is a switch: */
    void (*turn)(bool on);       /* is called with whether the argument is a number but 0 */
    const char *help;            /* lines, each with its end */
} subcommands[] = {
    {2, 2, debugAssertion, NULL,
     "ASSERT\n"
     "    Fail an assertion, which ends the server.\n"},
    {2, 2, debugChangeReplId, NULL,
     "CHANGE-REPL-ID\n"
     "    Set a new replication ID. All replicas then need a full\n"
     "    synchronization, so this is for tests.\n"},
    {3, 3, NULL, debugDropCloses,
     "CLOSE-CLUSTER-LINK-ON-PACKET-DROP <0|1>\n"
     "    With 1, a link of the cluster bus is closed when one of its frames is\n"
     "    dropped by DROP-CLUSTER-PACKET-FILTER.\n"},
    {5, 5, debugClusterlink, NULL,
     "CLUSTERLINK KILL <to|from|all> <node-id>\n"
     "    Close the link of the cluster bus that this server has opened to a node,\n"
     "    the link that the node has opened, or both. Nodes open links again.\n"},
    {3, 3, NULL, debugNoRandomPings,
     "DISABLE-CLUSTER-RANDOM-PING <0|1>\n"
     "    With 1, do not ping a random node of the cluster each second. Nodes are\n"
     "    still pinged when they have been silent for long.\n"},
    {3, 3, NULL, debugNoConnects,
     "DISABLE-CLUSTER-RECONNECTION <0|1>\n"
     "    With 1, open no link to a node of the cluster. Existing links stay, and\n"
     "    links of other nodes are accepted.\n"},
    {3, 3, debugDropFilter, NULL,
     "DROP-CLUSTER-PACKET-FILTER <packet-type>\n"
     "    Drop received frames of the cluster bus that have this type, a number\n"
     "    (0 is PING, 1 PONG, 2 MEET ...). With -1 none is dropped, with -2 all are.\n"},
    {3, 3, debugCursorGrace, NULL,
     "DELAY-RDB-CLIENT-FREE-SECONDS <seconds>\n"
     "    How long the backlog is kept for a dual-channel replica that has\n"
     "    received the dataset, until it requests the replication stream.\n"},
    {2, 2, debugDigest, NULL,
     "DIGEST\n"
     "    Show a checksum of all databases. Equal datasets have equal checksums.\n"},
    {2, UINT32_MAX, debugDigestValue, NULL,
     "DIGEST-VALUE <key> [<key> ...]\n"
     "    Show a checksum of each of these values.\n"},
    {3, 3, debugError, NULL,
     "ERROR <string>\n"
     "    Reply with this error, its code included, so that clients can test\n"
     "    their error handling.\n"},
    {3, 3, debugLeak, NULL,
     "LEAK <string>\n"
     "    Allocate memory of the size of this string and never free it.\n"},
    {2, 2, debugLoadAof, NULL,
     "LOADAOF\n"
     "    Write the append-only file to its end, then replace the dataset by what\n"
     "    the file has.\n"},
    {3, 3, debugLog, NULL,
     "LOG <message>\n"
     "    Write a line to the log.\n"},
    {3, 3, debugNothingToSwitch, NULL,
     "FORCE-FREE-PRIMARY-ASYNC <0|1>\n"
     "    Nothing changes: the client of a primary is always freed between two\n"
     "    commands, never by the function that closes it.\n"},
    {3, 3, debugNothingToSwitch, NULL,
     "HASHTABLE-CAN-ABORT-SHRINK <0|1>\n"
     "    Nothing changes: a hash table that shrinks always does so to the end.\n"},
    {3, 4, debugHtstats, NULL,
     "HTSTATS <dbid> [full]\n"
     "    Describe the hash tables of a database.\n"},
    {3, 4, debugHtstatsKey, NULL,
     "HTSTATS-KEY <key> [full]\n"
     "    Describe the hash table inside a value.\n"},
    {3, 3, debugListpack, NULL,
     "LISTPACK <key>\n"
     "    Print the elements of a listpack to the standard output.\n"},
    {3, 4, debugMallctl, NULL,
     "MALLCTL <key> [<val>]\n"
     "    Read or set a number of jemalloc.\n"},
    {3, 4, debugMallctlStr, NULL,
     "MALLCTL-STR <key> [<val>]\n"
     "    Read or set a text of jemalloc.\n"},
    {3, 4, debugObject, NULL,
     "OBJECT <key> [fast]\n"
     "    Describe how a value is stored. With `fast`, omit what takes long to\n"
     "    compute, such as its serialized length.\n"},
    {2, 2, debugOom, NULL,
     "OOM\n"
     "    Allocate more memory than there is, which ends the server.\n"},
    {2, 2, debugPanic, NULL,
     "PANIC\n"
     "    Panic, which ends the server.\n"},
    {3, 3, NULL, childSetPauseAfterFork,
     "PAUSE-AFTER-FORK <0|1>\n"
     "    With 1, stop the server (SIGSTOP) after each fork of a child.\n"},
    {3, 5, debugPopulate, NULL,
     "POPULATE <count> [<prefix>] [<size>]\n"
     "    Create <count> strings, named <prefix>:<number> from 0 on (default prefix:\n"
     "    key), of <size> bytes if given. Existing keys are not changed. The new\n"
     "    keys are not propagated to replicas.\n"},
    {3, 3, debugProtocol, NULL,
     "PROTOCOL <type>\n"
     "    Reply with a value of this RESP type, one of: string, integer,\n"
     "    double, bignum, null, array, set, map, attrib, push, verbatim, true, false.\n"},
    {3, 4, debugQuicklist, NULL,
     "QUICKLIST <key> [<0|1>]\n"
     "    Print the nodes of a quicklist to the standard output, with 1 also what\n"
     "    is in those that are not compressed.\n"},
    {3, 3, debugPlainThreshold, NULL,
     "QUICKLIST-PACKED-THRESHOLD <size>\n"
     "    An element of a quicklist of at least <size> bytes gets a node of its own.\n"
     "    With 0, that depends on the maximum size of nodes again.\n"},
    {3, UINT32_MAX, debugReplicate, NULL,
     "REPLICATE <string> [<string> ...]\n"
     "    Append these words to the replication stream. Replicas may then have\n"
     "    other data than this server.\n"},
    {2, 5, debugReload, NULL,
     "RELOAD [MERGE] [NOFLUSH] [NOSAVE]\n"
     "    Save the dataset and load it again. With NOSAVE, load the file as it\n"
     "    is; with NOFLUSH, into what there is; with MERGE, keys that are there\n"
     "    already are replaced.\n"},
    {4, 4, debugReplyBuffer, NULL,
     "REPLYBUFFER PEAK-RESET-TIME <NEVER|RESET|milliseconds>\n"
     "    Set after how long the reply peaks of clients (CLIENT LIST, rbp) are\n"
     "    reset. RESET stands for 5 seconds.\n"
     "REPLYBUFFER RESIZING <0|1>\n"
     "    Nothing changes: replies are written into blocks that all clients share,\n"
     "    so no client has a buffer of its own to resize.\n"},
    {2, 2, debugSegfault, NULL,
     "SEGFAULT\n"
     "    Access invalid memory, which ends the server.\n"},
    {3, 3, NULL, expireSetActive,
     "SET-ACTIVE-EXPIRE <0|1>\n"
     "    With 0, expired keys are deleted only when they are accessed; with 1,\n"
     "    in the background as well.\n"},
    {3, 3, NULL, scriptContextAllowNoScript,
     "SET-DISABLE-DENY-SCRIPTS <0|1>\n"
     "    With 1, scripts may run commands that have the flag noscript. Still\n"
     "    refused are those that act on their own connection (MULTI, SUBSCRIBE,\n"
     "    AUTH ...), on scripts and functions, SYNC, SHUTDOWN, and DEBUG RELOAD\n"
     "    and LOADAOF.\n"},
    {3, 3, NULL, setSkipChecksums,
     "SET-SKIP-CHECKSUM-VALIDATION <0|1>\n"
     "    With 1, RESTORE, FUNCTION RESTORE and snapshots that are loaded are\n"
     "    accepted whatever their checksum is.\n"},
    {3, 3, debugSleep, NULL,
     "SLEEP <seconds>\n"
     "    Block the server for <seconds>, which may have a fraction.\n"},
    {2, 2, debugStructsize, NULL,
     "STRUCTSIZE\n"
     "    Show how large the main structures are.\n"},
    {3, 3, NULL, setCronPaused,
     "PAUSE-CRON <0|1>\n"
     "    With 1, suspend all periodic work.\n"},
    {3, 3, NULL, sharedPagesAllowResizing,
     "DICT-RESIZING <0|1>\n"
     "    With 0, the hash tables of the databases are not resized.\n"},
};

static void replyHelp(client *c) {
    int count;
    sds text = sdsEmpty();
    for (size_t i = 0; i < array_len(subcommands); i++) text = sdsCat(text, subcommands[i].help);
    sds *lines = sdsSplitLen(text, sdsLen(text), "\n", 1, &count);
    sdsFree(lines[--count]); /* empty, as it is after the last line end */
    lines[count] = NULL;
    addReplyHelp(c, (const char *const *)lines);
    sdsFreeSplitRes(lines, count);
    sdsFree(text);
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

static bool isName(slice word, const char *help) {
    return word.len == strcspn(help, " \n") && !strncasecmp(word.ptr, help, word.len);
}

void debugCommand(client *c) {
    if (c->argc == 2 && sliceIs(c->argv[1], "help")) {
        replyHelp(c);
        return;
    }
    for (size_t i = 0; i < array_len(subcommands); i++) {
        if (!isName(c->argv[1], subcommands[i].help)) continue;
        if (c->argc < subcommands[i].argc_min || c->argc > subcommands[i].argc_max) break;
        if (subcommands[i].run) {
            subcommands[i].run(c);
        } else {
            subcommands[i].turn(argNumber(c, 2) != 0);
            addReplyOk(c);
        }
        return;
    }
    addReplySubcommandSyntaxError(c);
}
