/* command_defs.c -- the rows of table/ as an array, and the functions that find keys by a command's options.
 *
 * Not here    the macros of the rows (engine/table/command_rows.h); lookup and key extraction
 *             (engine/table/command_table.c); commands whose handlers are in another layer, which registers them.
 * Owns        the array, which is never freed.
 * Threads     commandsRegister() at startup; get_keys functions on any thread.
 * Tests       tests/type/command.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "command_defs.h"

#include "command_rows.h"
#include "commands.h"

static void setKey(requestKey *out, int cap, int n, uint32_t index, uint32_t flags) {
    if (n >= cap) return;
    out[n].index = index;
    out[n].flags = flags;
}

/* Sets the keys of a command that reads its first key and, unless `store` is 0, writes the key in that argument.
 * Returns their number. */
static int setKeyAndStore(requestKey *out, int cap, uint32_t store) {
    setKey(out, cap, 0, 1, CMD_KEY_RO | CMD_KEY_ACCESS);
    if (store) setKey(out, cap, 1, store, CMD_KEY_OW | CMD_KEY_UPDATE);
    return store ? 2 : 1;
}

/* SET with GET also reads the key. */
static int setGetKeys(const serverCommand *cmd, const slice *argv, uint32_t argc, requestKey *out, int cap) {
    unused(cmd);
    uint32_t flags = CMD_KEY_OW | CMD_KEY_UPDATE;
    for (uint32_t i = 3; i < argc; i++) {
        if (sliceIs(argv[i], "get")) flags = CMD_KEY_RW | CMD_KEY_ACCESS | CMD_KEY_UPDATE;
    }
    setKey(out, cap, 0, 1, flags);
    return 1;
}

/* BITFIELD only reads if it has nothing but complete GETs and rules of overflow. */
static int bitfieldGetKeys(const serverCommand *cmd, const slice *argv, uint32_t argc, requestKey *out, int cap) {
    unused(cmd);
    uint32_t at = 2;
    while (at < argc) {
        if (sliceIs(argv[at], "get") && argc - at > 2) at += 3;
        else if (sliceIs(argv[at], "overflow") && argc - at > 1) at += 2;
        else break;
    }
    uint32_t flags = at < argc ? CMD_KEY_RW | CMD_KEY_UPDATE : CMD_KEY_RO;
    setKey(out, cap, 0, 1, flags | CMD_KEY_ACCESS);
    return 1;
}

/* GEORADIUS and GEORADIUSBYMEMBER read their first key and write the one after the last STORE or STOREDIST. */
static int georadiusGetKeys(const serverCommand *cmd, const slice *argv, uint32_t argc, requestKey *out, int cap) {
    unused(cmd);
    uint32_t store = 0;
    for (uint32_t i = 5; i + 1 < argc; i++) {
        if (sliceIs(argv[i], "store") || sliceIs(argv[i], "storedist")) store = ++i;
    }
    return setKeyAndStore(out, cap, store);
}

/* XREAD and XREADGROUP: the keys are the first half of the arguments after STREAMS. The options are parsed as the
 * command parses them, because a group, a consumer or a number may be spelled like that word. Unknown words are
 * skipped; the command will refuse them. */
static int xreadGetKeys(const serverCommand *cmd, const slice *argv, uint32_t argc, requestKey *out, int cap) {
    uint32_t at = 1;
    while (at < argc && !sliceIs(argv[at], "streams")) {
        if (sliceIs(argv[at], "group")) at += 3;
        else if (sliceIs(argv[at], "count") || sliceIs(argv[at], "block")) at += 2;
        else at++;
    }
    if (argc < 3 || at > argc - 3) return -1;
    uint32_t first = at + 1, count = (argc - first) / 2;
    for (uint32_t i = 0; i < count && i < (uint32_t)cap; i++) setKey(out, cap, (int)i, first + i, cmd->specs->flags);
    return (int)count;
}

static int sortRoGetKeys(const serverCommand *cmd, const slice *argv, uint32_t argc, requestKey *out, int cap) {
    unused(cmd), unused(argv), unused(argc);
    return setKeyAndStore(out, cap, 0);
}

/* SORT: the last STORE counts, as it does when the command runs. An argument of BY, GET or LIMIT is no option. */
static int sortGetKeys(const serverCommand *cmd, const slice *argv, uint32_t argc, requestKey *out, int cap) {
    unused(cmd);
    uint32_t store = 0;
    for (uint32_t i = 2; i < argc; i++) {
        if (sliceIs(argv[i], "limit")) {
            i += 2;
        } else if (sliceIs(argv[i], "get") || sliceIs(argv[i], "by")) {
            i++;
        } else if (sliceIs(argv[i], "store") && i + 1 < argc) {
            store = ++i;
        }
    }
    return setKeyAndStore(out, cap, store);
}

static serverCommand commands[] = {
#include "bitmap.def"
#include "cluster.def"
#include "connection.def"
#include "generic.def"
#include "geo.def"
#include "hash.def"
#include "hyperloglog.def"
#include "list.def"
#include "server.def"
#include "set.def"
#include "sorted_set.def"
#include "stream.def"
#include "string.def"
};

void commandsRegister(void) { commandTableRegister(commands, array_len(commands)); }
