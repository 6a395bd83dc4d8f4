/* main.c -- valkey-cli: runs one command, lines of commands, or a special mode.
 *
 * Running one command does no other work: it calibrates no clock (the system's is precise enough), asks the server
 * nothing but the command, and reads no file of the user.
 *
 * Exit code   0; 1 if there is no connection, the arguments are invalid, or (with -e) the command fails.
 * Tests       tests/tools/cli.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "help.h"
#include "modes.h"
#include "numbers.h"
#include "sds.h"
#include "version.h"
#include "zmalloc.h"
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static sds readAll(FILE *file) {
    sds text = sdsEmpty();
    char part[16384];
    for (size_t n; (n = fread(part, 1, sizeof(part), file)) > 0;) text = sdsCatLen(text, part, n);
    return text;
}

/* Resolves the quotes and escapes of an argument. Ends the program unless the result is exactly one word. */
static sds unquote(const char *text) {
    int count;
    sds *words = sdsSplitInline(text, &count);
    if (!words || count != 1) {
        fprintf(stderr, "Invalid argument: with --quoted-input each argument must be one word or one quoted string\n");
        exit(1);
    }
    sds out = sdsDup(words[0]);
    sdsFreeSplitRes(words, count);
    return out;
}

/* Returns the words of the command: unquoted, and with the contents of stdin in place of the tag of -X, or at the end
 * for -x. */
static sds *commandWords(const cliOptions *o, int *count) {
    sds *words = zmalloc(sizeof(sds) * (size_t)(o->command_count + 1));
    bool used_tag = false;
    *count = 0;
    for (int i = 0; i < o->command_count; i++) {
        if (o->stdin_tag && strcmp(o->command[i], o->stdin_tag) == 0 && !used_tag) {
            words[(*count)++] = readAll(stdin);
            used_tag = true;
        } else {
            words[(*count)++] = o->quoted_input ? unquote(o->command[i]) : sdsNew(o->command[i]);
        }
    }
    if (o->stdin_tag && !used_tag) {
        fprintf(stderr, "The tag of option '-X' is not among the arguments.\n");
        exit(1);
    }
    if (o->last_from_stdin) words[(*count)++] = readAll(stdin);
    return words;
}

static int runCommand(cliConnection *c) {
    int count;
    sds *words = commandWords(c->options, &count);
    slice *argv = linkWordSlices(words, (size_t)count);
    bool ok = true;
    if (sliceIs(argv[0], "sync") || sliceIs(argv[0], "psync")) {
        /* The server sends a replication stream then, not a reply, whatever the other arguments are. */
        ok = cliConnect(c, false) && !c->refused && modeReplica(c) == 0;
    } else if (sliceIs(argv[0], "help") || sliceIs(argv[0], "?")) {
        if (count > 1) cliConnect(c, true);
        helpShow(c, count, argv);
    } else {
        ok = cliRunRepeated(c, count, argv, c->options->repeat);
    }
    zfree(argv);
    sdsFreeSplitRes(words, count);
    return ok ? 0 : 1;
}

/* Runs EVAL with a script from a file; the argument "," separates keys from arguments. */
static int runEval(cliConnection *c) {
    const cliOptions *o = c->options;
    FILE *file = fopen(o->eval_file, "r");
    if (!file) {
        fprintf(stderr, "Cannot read %s: %s\n", o->eval_file, strerror(errno));
        return 1;
    }
    sds script = readAll(file);
    fclose(file);
    slice *argv = zmalloc(sizeof(slice) * (size_t)(o->command_count + 3));
    char keys_text[LONG_STR_SIZE];
    int argc = 3, keys = -1;
    for (int i = 0; i < o->command_count; i++) {
        if (keys < 0 && strcmp(o->command[i], ",") == 0) keys = argc - 3;
        else argv[argc++] = sliceStr(o->command[i]);
    }
    ll2string(keys_text, keys < 0 ? argc - 3 : keys);
    argv[0] = sliceStr("EVAL");
    argv[1] = sdsSlice(script);
    argv[2] = sliceStr(keys_text);
    debugEnd end = DEBUG_ENDED;
    bool ok = true;
    if (o->debug) end = modeDebug(c, argc, argv);
    else ok = cliRunRepeated(c, argc, argv, 1);
    zfree(argv);
    sdsFree(script);
    if (end == DEBUG_RESTART) return cliConnect(c, false) ? runEval(c) : 1;
    return ok && end != DEBUG_BROKEN ? 0 : 1;
}

static int runMode(cliConnection *c) {
    const cliOptions *o = c->options;
    if (!cliConnect(c, false) || c->refused) return 1; /* never as another user or on another database */
    switch (o->mode) {
    case MODE_STAT: return modeStat(c);
    case MODE_LATENCY: return modeLatency(c, false);
    case MODE_LATENCY_HISTORY: return modeLatency(c, true);
    case MODE_LATENCY_DIST: return modeLatencyDist(c);
    case MODE_SCAN: return modeScan(c);
    case MODE_BIGKEYS: return modeBigKeys(c, false);
    case MODE_MEMKEYS: return modeBigKeys(c, true);
    case MODE_KEYSTATS: return modeKeyStats(c);
    case MODE_HOTKEYS: return modeHotKeys(c);
    case MODE_PIPE: return modePipe(c);
    case MODE_RDB: return modeRdb(c, false);
    case MODE_FUNCTIONS_RDB: return modeRdb(c, true);
    case MODE_BACKUP: return modeBackup(c);
    case MODE_REPLICA: return modeReplica(c);
    case MODE_LRU_TEST: return modeLruTest(c);
    default: return runEval(c);
    }
}

/* Gives stdout a static buffer: allocating one would first fill the allocator's cache of blocks of that size, which
 * takes a fifth of the instructions of one command (1.5 of 7.5 million). */
static void bufferOutput(void) {
    static char buffer[BUFSIZ];
    setvbuf(stdout, buffer, isatty(STDOUT_FILENO) ? _IOLBF : _IOFBF, sizeof(buffer));
}

int main(int argc, char **argv) {
    static cliOptions options;
    static cliConnection connection;
    signal(SIGPIPE, SIG_IGN);
    bufferOutput();
    cliOptionsParse(&options, argc, argv);
    connection = (cliConnection){.options = &options, .db = options.login.db, .resp = options.resp};
    int code = 0;
    if (options.mode != MODE_HELP && options.mode != MODE_VERSION) options.target.tls = toolTlsContext(&options.tls);
    switch (options.mode) {
    case MODE_HELP: cliUsage(); break;
    case MODE_VERSION: printf("valkey-cli %s\n", VALKEY_VERSION); break;
    case MODE_INTRINSIC: code = modeIntrinsicLatency(options.intrinsic_s); break;
    case MODE_CLUSTER: code = clusterManagerRun(&options); break;
    case MODE_COMMAND:
        if (options.command_count) code = runCommand(&connection);
        else if (isatty(STDIN_FILENO)) code = replRunTerminal(&connection);
        else code = replRunPipe(&connection);
        break;
    default: code = runMode(&connection);
    }
    cliDisconnect(&connection);
    tlsContextRelease(options.target.tls);
    sdsFree(connection.host);
    return code;
}
