/* command_defs.c -- the rows of table/ as arrays, and the functions that find keys by a command's options.
 *
 * Not here    the macros of the rows (engine/table/command_rows.h); lookup and key extraction
 *             (engine/table/command_table.c); commands whose handlers are in another layer, which registers them.
 * Owns        the arrays, which are never freed.
 * Threads     commandsRegister() at startup; get_keys functions on any thread.
 * Tests       tests/type/command.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "command_defs.h"

#include "command_rows.h"
#include "commands.h"

/* SET with GET also reads the key. */
static int setGetKeys(const serverCommand *cmd, const slice *argv, uint32_t argc, requestKey *out, int cap) {
    unused(cmd);
    uint32_t flags = CMD_KEY_OW | CMD_KEY_UPDATE;
    for (uint32_t i = 3; i < argc; i++) {
        if (sliceIs(argv[i], "get")) flags = CMD_KEY_RW | CMD_KEY_ACCESS | CMD_KEY_UPDATE;
    }
    if (cap > 0) {
        out[0].index = 1;
        out[0].flags = flags;
    }
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
    if (cap > 0) {
        out[0].index = 1;
        out[0].flags = at < argc ? CMD_KEY_RW | CMD_KEY_ACCESS | CMD_KEY_UPDATE : CMD_KEY_RO | CMD_KEY_ACCESS;
    }
    return 1;
}

/* GEORADIUS and GEORADIUSBYMEMBER read their first key and write the one after the last STORE or STOREDIST. */
static int georadiusGetKeys(const serverCommand *cmd, const slice *argv, uint32_t argc, requestKey *out, int cap) {
    unused(cmd);
    uint32_t store = 0;
    for (uint32_t i = 5; i + 1 < argc; i++) {
        if (sliceIs(argv[i], "store") || sliceIs(argv[i], "storedist")) store = ++i;
    }
    if (cap > 0) {
        out[0].index = 1;
        out[0].flags = CMD_KEY_RO | CMD_KEY_ACCESS;
    }
    if (cap > 1 && store) {
        out[1].index = store;
        out[1].flags = CMD_KEY_OW | CMD_KEY_UPDATE;
    }
    return store ? 2 : 1;
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
    for (uint32_t i = 0; i < count && i < (uint32_t)cap; i++) {
        out[i].index = first + i;
        out[i].flags = cmd->specs->flags;
    }
    return (int)count;
}

static int sortRoGetKeys(const serverCommand *cmd, const slice *argv, uint32_t argc, requestKey *out, int cap) {
    unused(cmd), unused(argv), unused(argc);
    if (cap > 0) {
        out[0].index = 1;
        out[0].flags = CMD_KEY_RO | CMD_KEY_ACCESS;
    }
    return 1;
}

/* SORT: the last STORE counts, as it does when the command runs. An argument of BY, GET or LIMIT is no option. */
static int sortGetKeys(const serverCommand *cmd, const slice *argv, uint32_t argc, requestKey *out, int cap) {
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
    sortRoGetKeys(cmd, argv, argc, out, cap);
    if (store && cap > 1) {
        out[1].index = store;
        out[1].flags = CMD_KEY_OW | CMD_KEY_UPDATE;
    }
    return store ? 2 : 1;
}

static serverCommand bitmap_commands[] = {
#include "bitmap.def"
};
static serverCommand cluster_commands[] = {
#include "cluster.def"
};
static serverCommand connection_commands[] = {
#include "connection.def"
};
static serverCommand generic_commands[] = {
#include "generic.def"
};
static serverCommand geo_commands[] = {
#include "geo.def"
};
static serverCommand hash_commands[] = {
#include "hash.def"
};
static serverCommand hyperloglog_commands[] = {
#include "hyperloglog.def"
};
static serverCommand list_commands[] = {
#include "list.def"
};
static serverCommand server_commands[] = {
#include "server.def"
};
static serverCommand set_commands[] = {
#include "set.def"
};
static serverCommand sorted_set_commands[] = {
#include "sorted_set.def"
};
static serverCommand stream_commands[] = {
#include "stream.def"
};
static serverCommand string_commands[] = {
#include "string.def"
};

void commandsRegister(void) {
    commandTableRegister(bitmap_commands, array_len(bitmap_commands));
    commandTableRegister(cluster_commands, array_len(cluster_commands));
    commandTableRegister(connection_commands, array_len(connection_commands));
    commandTableRegister(generic_commands, array_len(generic_commands));
    commandTableRegister(geo_commands, array_len(geo_commands));
    commandTableRegister(hash_commands, array_len(hash_commands));
    commandTableRegister(hyperloglog_commands, array_len(hyperloglog_commands));
    commandTableRegister(list_commands, array_len(list_commands));
    commandTableRegister(server_commands, array_len(server_commands));
    commandTableRegister(set_commands, array_len(set_commands));
    commandTableRegister(sorted_set_commands, array_len(sorted_set_commands));
    commandTableRegister(stream_commands, array_len(stream_commands));
    commandTableRegister(string_commands, array_len(string_commands));
}
