/* cluster_commands.c -- the subcommands of CLUSTER that change something: words become a clusterCommand.
 *
 * Here the words are checked (numbers, their count, options); what needs to know nodes and slots is checked by the
 * machine, whose reply is passed on.
 *
 * Not here    subcommands that only read (cluster_reading.c); what a command does (cluster_core/machine_commands.c).
 * Threads     main.
 * Tests       tests/cluster/basics.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "cluster_commands.h"

#include "cluster.h"
#include "command_rows.h"
#include "db_slots.h"
#include "engine.h"
#include "hash.h"
#include "open_slots.h"
#include "reply.h"
#include "setslot_wait.h"
#include "slot_check.h"

#include <stdio.h>

#include <arpa/inet.h>

#define BUS_PORT_OFFSET 10000
#define NAME_SHOWN 128 /* bytes of a wrong name in an error */

/* Handles what does not exist in this version, whether or not cluster mode is on. */
void clusterDisabledCommand(client *c) {
    if (slotsAreEnabled(c)) addReplyErrorFormat(c, "%s is not supported by this version", c->cmd->fullname);
}

void clusterHelpCommand(client *c) {
    if (slotsAreEnabled(c)) containerHelpCommand(c);
}

/* Works without cluster mode as well, as in Valkey. */
void clusterKeyslotCommand(client *c) { addReplyLongLong(c, keyHashSlot(c->argv[2].ptr, c->argv[2].len)); }

/* Reads a node's name. */
bool clusterNodeArg(client *c, uint32_t index, const char *error, nodeId *id) {
    slice text = c->argv[index];
    if (text.len == sizeof(id->text)) {
        memcpy(id->text, text.ptr, sizeof(id->text));
        return true;
    }
    return addReplyErrorFormat(c, error, (int)(text.len < NAME_SHOWN ? text.len : NAME_SHOWN), text.ptr);
}

static bool argIs(const client *c, uint32_t index, const char *word) { return sliceIs(c->argv[index], word); }

bool clusterSlotArg(client *c, uint32_t index, unsigned *slot) {
    long long n;
    if (!getRangeLongFromArg(c, index, 0, CLUSTER_SLOTS - 1, &n, "Invalid or out of range slot")) return false;
    *slot = (unsigned)n;
    return true;
}

/* ---- Slots ---- */

/* Slots in the order of the arguments, up to the first mistake. */
typedef struct slotList {
    slotSet set;
    uint16_t order[CLUSTER_SLOTS];
    size_t count;
    sds mistake; /* owns: the error reply; NULL: none */
} slotList;

static bool parseSlot(slice text, unsigned *slot) {
    long long n;
    if (!string2ll(text.ptr, text.len, &n) || n < 0 || n >= CLUSTER_SLOTS) return false;
    *slot = (unsigned)n;
    return true;
}

static void addSlot(slotList *list, unsigned slot) {
    if (list->mistake) return;
    if (slotSetHas(&list->set, slot)) {
        list->mistake = sdsCatPrintf(sdsEmpty(), "-ERR Slot %u specified multiple times", slot);
        return;
    }
    slotSetAdd(&list->set, slot);
    list->order[list->count++] = (uint16_t)slot;
}

static bool slotArgs(client *c, slotList *list) {
    unsigned slot;
    for (uint32_t i = 2; i < c->argc; i++)
        if (!clusterSlotArg(c, i, &slot)) return false;
    for (uint32_t i = 2; i < c->argc && !list->mistake; i++)
        if (parseSlot(c->argv[i], &slot)) addSlot(list, slot);
    return true;
}

/* A mistake in a range counts after those about the slots of the ranges before it. */
static bool rangeArgs(client *c, slotList *list) {
    unsigned first, last;
    if (c->argc % 2) return addReplyErrorArity(c);
    for (uint32_t i = 2; i < c->argc && !list->mistake; i += 2) {
        if (!parseSlot(c->argv[i], &first) || !parseSlot(c->argv[i + 1], &last))
            list->mistake = sdsNew("-ERR Invalid or out of range slot");
        else if (first > last)
            list->mistake =
                sdsCatPrintf(sdsEmpty(), "-ERR start slot number %u is greater than end slot number %u", first, last);
        else
            for (unsigned slot = first; slot <= last; slot++) addSlot(list, slot);
    }
    return true;
}

static void changeSlots(client *c, clusterCommandKind kind, bool (*read)(client *c, slotList *list)) {
    slotList list = {.count = 0};
    if (!slotsAreEnabled(c) || !read(c, &list)) return;
    clusterRun(
        c,
        &(clusterCommand){
            .kind = kind, .slots = &list.set, .order = list.order, .order_count = list.count, .refusal = list.mistake});
    sdsFree(list.mistake);
}

void clusterAddslotsCommand(client *c) { changeSlots(c, CLUSTER_ADD_SLOTS, slotArgs); }
void clusterAddslotsrangeCommand(client *c) { changeSlots(c, CLUSTER_ADD_SLOTS, rangeArgs); }
void clusterDelslotsCommand(client *c) { changeSlots(c, CLUSTER_DEL_SLOTS, slotArgs); }
void clusterDelslotsrangeCommand(client *c) { changeSlots(c, CLUSTER_DEL_SLOTS, rangeArgs); }

static void flushedKey(void *arg, serverDb *db, hashedKey key) {
    unused(arg);
    dbKeyChanged(db, key, NOTIFY_GENERIC, "del", 1);
}

/* Deletes the keys of a slot in all databases, also if this node does not own it. Each key is reported as deleted, so
 * the time grows with their number; the memory of large values is freed in the background, with SYNC as well. */
void clusterFlushslotCommand(client *c) {
    unsigned slot;
    if (!slotsAreEnabled(c)) return;
    if (c->argc > 4) {
        addReplySubcommandSyntaxError(c);
        return;
    }
    if (!clusterSlotArg(c, 2, &slot)) return;
    if (c->argc == 4 && !argIs(c, 3, "SYNC") && !argIs(c, 3, "ASYNC")) {
        addReplySyntaxError(c);
    } else {
        for (int i = 0; i < dbCount(); i++) (void)dbSlotDelete(dbGet(i), (int)slot, UINT64_MAX, flushedKey, NULL);
        addReplyOk(c);
    }
}

/* ---- Nodes ---- */

/* Returns as much of a text as an error shows. */
static slice cut(slice text) { return sliceOf(text.ptr, text.len < 128 ? text.len : 128); }

static bool portArg(client *c, uint32_t index, const char *what, long long *port) {
    slice text = cut(c->argv[index]);
    char error[160];
    snprintf(error, sizeof(error), "Invalid %s port specified: %.*s", what, (int)text.len, text.ptr);
    return getLongLongFromArg(c, index, port, error);
}

static bool isAddress(const char *text) {
    unsigned char bytes[16];
    return inet_pton(AF_INET, text, bytes) == 1 || inet_pton(AF_INET6, text, bytes) == 1;
}

/* Reads the ports of MEET. */
static bool meetPorts(client *c, clusterCommand *meet) {
    long long port, bus_port;
    if (!portArg(c, 3, "base", &port)) return false;
    if (port <= 0 || port > UINT16_MAX) return addReplyError(c, "Port number is out of range");
    bus_port = port + BUS_PORT_OFFSET;
    if (c->argc == 5 && !portArg(c, 4, "bus", &bus_port)) return false;
    if (bus_port <= 0 || bus_port > UINT16_MAX) return addReplyError(c, "Cluster bus port number is out of range");
    meet->port = (uint16_t)port;
    meet->bus_port = (uint16_t)bus_port;
    return true;
}

static bool meetAddress(client *c, char ip[NODE_IP_LEN]) {
    slice text = cut(c->argv[2]), port = cut(c->argv[3]);
    snprintf(ip, NODE_IP_LEN, "%.*s", (int)text.len, text.ptr);
    if (text.len < NODE_IP_LEN && isAddress(ip)) return true;
    return addReplyErrorFormat(c, "Invalid node address specified: %.*s:%.*s", (int)text.len, text.ptr, (int)port.len,
                               port.ptr);
}

void clusterMeetCommand(client *c) {
    char ip[NODE_IP_LEN];
    clusterCommand meet = {.kind = CLUSTER_MEET, .ip = ip};
    if (!slotsAreEnabled(c)) return;
    if (c->argc > 5) addReplySubcommandSyntaxError(c);
    else if (meetPorts(c, &meet) && meetAddress(c, ip)) clusterRun(c, &meet);
}

static void runWithNode(client *c, clusterCommandKind kind) {
    clusterCommand command = {.kind = kind};
    if (clusterNodeArg(c, 2, "Unknown node %.*s", &command.node)) clusterRun(c, &command);
}

void clusterForgetCommand(client *c) {
    if (slotsAreEnabled(c)) runWithNode(c, CLUSTER_FORGET);
}

void clusterReplicateCommand(client *c) {
    if (!slotsAreEnabled(c)) return;
    if (c->argc == 4 && argIs(c, 2, "NO") && argIs(c, 3, "ONE")) {
        clusterRun(c, &(clusterCommand){.kind = CLUSTER_REPLICATE_NO_ONE});
    } else if (c->argc == 3) {
        runWithNode(c, CLUSTER_REPLICATE);
    } else {
        addReplySubcommandSyntaxError(c);
    }
}

void clusterFailoverCommand(client *c) {
    clusterCommand failover = {.kind = CLUSTER_FAILOVER};
    if (!slotsAreEnabled(c)) return;
    bool is_valid = true;
    uint32_t end = c->argc;
    if (c->flags & CLIENT_PRIMARY && end > 4 && argIs(c, end - 2, "REPLICAID")) {
        failover.from_primary = true;
        end -= 2;
        if (!clusterNodeArg(c, end + 1, "Unknown node %.*s", &failover.node)) return;
    }
    for (uint32_t i = 2; i < end && is_valid; i++) {
        if (argIs(c, i, "FORCE")) failover.force = true;
        else if (argIs(c, i, "TAKEOVER")) failover.takeover = true;
        else is_valid = false;
    }
    if (is_valid && end <= 4) clusterRun(c, &failover);
    else addReplySyntaxError(c);
}

/* ---- Epochs, RESET, the file ---- */

void clusterBumpepochCommand(client *c) {
    if (slotsAreEnabled(c)) clusterRun(c, &(clusterCommand){.kind = CLUSTER_BUMP_EPOCH});
}

void clusterSetConfigEpochCommand(client *c) {
    long long epoch;
    if (!slotsAreEnabled(c) || !getLongLongFromArg(c, 2, &epoch, NULL)) return;
    if (epoch < 0) addReplyErrorFormat(c, "Invalid config epoch specified: %lld", epoch);
    else clusterRun(c, &(clusterCommand){.kind = CLUSTER_SET_CONFIG_EPOCH, .epoch = (uint64_t)epoch});
}

void clusterFlushslotsCommand(client *c) {
    if (slotsAreEnabled(c)) clusterRun(c, &(clusterCommand){.kind = CLUSTER_FLUSH_SLOTS});
}

void clusterResetCommand(client *c) {
    if (!slotsAreEnabled(c)) return;
    bool hard = c->argc == 3 && argIs(c, 2, "HARD");
    if (c->argc > 3) addReplySubcommandSyntaxError(c);
    else if (c->argc == 3 && !hard && !argIs(c, 2, "SOFT")) addReplySyntaxError(c);
    else clusterRun(c, &(clusterCommand){.kind = CLUSTER_RESET, .hard = hard});
}

void clusterSaveconfigCommand(client *c) {
    if (!slotsAreEnabled(c)) return;
    int error = clusterSaveNow();
    if (error) addReplyErrorFormat(c, "error saving the cluster node config: %s", strerror(error));
    else addReplyOk(c);
}

/* ---- SETSLOT ---- */

/* Reads TIMEOUT at the end of SETSLOT. Returns the error reply, NULL if it is right. Other words there are ignored, as
 * by Valkey. */
static const char *timeoutMistake(const client *c, uint32_t first, uint64_t *timeout_ms) {
    long long ms;
    for (uint32_t i = first; i < c->argc; i++) {
        if (!argIs(c, i, "TIMEOUT")) continue;
        if (++i == c->argc) return "-ERR Missing timeout value";
        if (!string2ll(c->argv[i].ptr, c->argv[i].len, &ms)) return "-ERR timeout is not an integer or out of range";
        if (ms < 0) return "-ERR timeout is negative";
        *timeout_ms = (uint64_t)ms;
    }
    return NULL;
}

static bool setslotAction(client *c, clusterCommand *set, uint64_t *timeout_ms) {
    bool migrating = argIs(c, 3, "MIGRATING"), importing = argIs(c, 3, "IMPORTING"), node = argIs(c, 3, "NODE");
    if (argIs(c, 3, "STABLE")) {
        set->kind = CLUSTER_SET_STABLE;
        set->refusal = timeoutMistake(c, 4, timeout_ms);
        return true;
    }
    if ((!migrating && !importing && !node) || c->argc < 5)
        return addReplyError(c, "Invalid CLUSTER SETSLOT action or number of arguments. Try CLUSTER HELP");
    set->kind = migrating ? CLUSTER_SET_MIGRATING : importing ? CLUSTER_SET_IMPORTING : CLUSTER_SET_OWNER;
    set->refusal = timeoutMistake(c, 5, timeout_ms);
    /* A name that is no id is that of no node. */
    set->name = sliceOf(c->argv[4].ptr, c->argv[4].len < NAME_SHOWN ? c->argv[4].len : NAME_SHOWN);
    if (c->argv[4].len == sizeof(set->node.text)) memcpy(set->node.text, c->argv[4].ptr, sizeof(set->node.text));
    return true;
}

void clusterSetslotCommand(client *c) {
    clusterCommand set = {.from_primary = c->flags & CLIENT_PRIMARY};
    uint64_t timeout_ms = SETSLOT_TIMEOUT_MS;
    if (!slotsAreEnabled(c) || !clusterSlotArg(c, 2, &set.slot) || !setslotAction(c, &set, &timeout_ms)) return;
    setslotRun(c, &set, timeout_ms);
}

/* ---- The table ---- */

static serverCommand rows[] = {
#include "cluster_commands.def"
};

void clusterCommandsRegister(void) {
    commandTableRegister(rows, array_len(rows));
    setslotInit();
    openSlotsInit();
    commandSetMainThread("cluster"); /* a step may end with actions of replication */
}
