/* slot_check.c -- cluster mode: the checks of commands, scripts and blocked clients by the table of slots; ASKING.
 *
 * Each of them makes a question (slotQuestion) of the commands concerned and of the client's flags, from nothing that
 * was asked before:
 *
 *   plain command, script's command   the command, with its keys
 *   command that is queued in MULTI   the command; its keys may come and go before EXEC
 *   EXEC                              all queued commands together, with their keys
 *   blocked client                    its command, whose keys are absent, or it would not wait
 *
 * Not here    the decision (slot_gate.c), READONLY and READWRITE (repl/role_cmds.c).
 * Owns        nothing.
 * Threads     main.
 * Cost        slotGateIsPassed() is enough for nearly every command.
 * Tests       tests/unit/commands/slot_check_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "slot_check.h"

#include "blocking.h"
#include "command_record.h"
#include "engine.h"
#include "hash.h"
#include "key_check.h"
#include "numbers.h"
#include "panic.h"
#include "pubsub.h"
#include "reply.h"
#include "transaction_queue.h"

/* Commands that an open slot treats in their own way; NULL: there is no such command. */
static const serverCommand *copy_cmd, *migrate_cmd, *move_cmd; /* const after startup */

void slotsEnable(void) {
    assertMainRole();
    copy_cmd = commandNamed("copy");
    migrate_cmd = commandNamed("migrate");
    move_cmd = commandNamed("move");
    slots_enabled = true;
    dbSetSlots(true);
    recordSetSlots(true);
    gateEnable(GATE_CLUSTER, true);
}

bool slotsAreEnabled(client *c) {
    return slots_enabled || addReplyError(c, "This instance has cluster support disabled");
}

/* ---- Questions ---- */

/* The commands of one question. */
typedef struct askedCommands {
    const parsedCommand *const *list; /* borrowed */
    size_t count;
    serverDb *db;
} askedCommands;

static bool isShardCommand(const parsedCommand *p) { return p->cmd->flags & CMD_PUBSUB && p->slot >= 0; }

/* Returns whether it moves or copies a key to another database. */
static bool changesDb(const parsedCommand *p, const serverDb *db) {
    if (p->cmd == move_cmd) return true;
    if (p->cmd != copy_cmd) return false;
    for (uint32_t i = 3; i + 1 < p->argc; i++) {
        long long id;
        if (sliceIs(p->argv[i], "db")) return string2ll(p->argv[i + 1].ptr, p->argv[i + 1].len, &id) && id != dbId(db);
    }
    return false;
}

static slotQuestion questionOf(const askedCommands *all) {
    slotQuestion q = {.slot = -1};
    for (size_t i = 0; i < all->count; i++) {
        const parsedCommand *p = all->list[i];
        if (p->slot < 0) continue;
        q.cross_slot |= p->flags & REQ_CROSS_SLOT || (q.slot >= 0 && q.slot != p->slot);
        q.shard_channels |= isShardCommand(p);
        q.changes_db |= changesDb(p, all->db);
        q.slot = p->slot;
    }
    return q;
}

static slotKeys countKeys(const void *arg) {
    const askedCommands *all = arg;
    slotKeys keys = {.present = 0};
    slice first = {.ptr = NULL};
    keyMark mark;
    keyCheckPause(&mark);
    for (size_t i = 0; i < all->count; i++) {
        const parsedCommand *p = all->list[i];
        /* The cursor of CLUSTERSCAN has a slot, but is no key that could exist. */
        if (p->nkeys == 0 && p->slot >= 0) keys.missing++;
        for (uint32_t k = 0; k < p->nkeys; k++) {
            hashedKey key = {p->argv[p->keys[k].index], p->keys[k].hash};
            if (lookupKeyReadWithFlags(all->db, key, LOOKUP_PEEK)) keys.present++;
            else keys.missing++;
            if (!first.ptr) first = key.name;
            else keys.differ |= !sliceEq(first, key.name);
        }
    }
    keyCheckEnd(&mark);
    return keys;
}

/* Sets what the client's flags say; `flags` are those of the client that sent the command or called the script. */
static void setClient(slotQuestion *q, uint64_t flags) {
    q->asking |= (flags & CLIENT_ASKING) != 0;
    q->readonly = flags & CLIENT_READONLY;
}

static bool isExempt(const client *c) { return c->flags & (CLIENT_PRIMARY | CLIENT_REPLAYS); }

static slotAsker askerOf(const client *c) {
    bool ip = !(c->flags & CLIENT_UNIX_SOCKET) && c->peer;
    return (slotAsker){.tls = c->flags & CLIENT_TLS, .ipv6 = ip && strchr(c->peer, ':') != strrchr(c->peer, ':')};
}

/* ---- Commands and scripts ---- */

gateResult slotGate(client *c) {
    assertMainRole();
    bool exec = c->flags & CLIENT_MULTI && transactionIsExec(c);
    if ((c->req->slot < 0 && !exec) || isExempt(c)) return GATE_PASSED;
    askedCommands all = {.list = &c->req, .count = 1, .db = c->db};
    if (exec) {
        all.list = (const parsedCommand *const *)transactionOf(c)->queue;
        all.count = transactionOf(c)->count;
    }
    slotQuestion q = questionOf(&all);
    setClient(&q, c->flags);
    q.writes = commandFlagsNow(c) & CMD_WRITE;
    q.asking |= (c->cmd->flags & CMD_ASKING) != 0;
    q.migrates = c->cmd == migrate_cmd;
    if (exec || !(c->flags & CLIENT_MULTI)) q.count = countKeys;
    q.arg = &all;
    slotAnswer answer = slotDecide(&q);
    if (answer.verdict == SLOT_SERVED) return GATE_PASSED;
    sds error = slotErrorText(answer, q.slot, askerOf(c));
    addReplyError(c, error);
    sdsFree(error);
    if (exec) transactionEnd(c);
    return GATE_REFUSED;
}

slotVerdict slotCheckScript(const client *self, const client *caller) {
    assertMainRole();
    if (self->req->slot < 0 || isExempt(caller)) return SLOT_SERVED;
    const askedCommands all = {.list = &self->req, .count = 1, .db = self->db};
    slotQuestion q = questionOf(&all);
    setClient(&q, caller->flags);
    q.writes = commandFlags(self->cmd, self->argv, self->argc) & CMD_WRITE;
    q.count = countKeys;
    q.arg = &all;
    return slotDecide(&q).verdict;
}

/* ---- ASKING ---- */

void askingCommand(client *c) {
    if (!slotsAreEnabled(c)) return;
    c->flags |= CLIENT_ASKING;
    addReplyOk(c);
}

void slotAskingEnd(client *c) {
    if (c->flags & CLIENT_MULTI || (c->cmd && c->cmd->proc == askingCommand)) return;
    c->flags &= ~CLIENT_ASKING;
}

/* ---- Changes of the table ---- */

static bool channelHasLeft(slice channel) {
    slotView v = slotTableLook((unsigned)keyHashSlot(channel.ptr, channel.len));
    return !v.mine && !v.followed && !v.importing_from;
}

/* Redirects a blocked client unless it may go on waiting. One that was admitted to a slot being imported may. */
static void checkBlocked(client *c) {
    const parsedCommand *p = blockingCommand(c);
    if (!p) return;
    const askedCommands all = {.list = &p, .count = 1, .db = c->db};
    slotQuestion q = questionOf(&all);
    setClient(&q, c->flags);
    q.writes = commandFlags(p->cmd, p->argv, p->argc) & CMD_WRITE;
    q.asking = q.waits = true;
    slotAnswer answer = slotDecide(&q);
    if (answer.verdict == SLOT_SERVED) return;
    sds error = slotErrorText(answer, q.slot, askerOf(c));
    blockingEnd(c, error);
    sdsFree(error);
}

void slotsChanged(void) {
    assertMainRole();
    if (pubsubNames(PUBSUB_SHARD_CHANNEL)) pubsubLeaveShardChannels(channelHasLeft);
    if (blocking_totals.keys == 0) return;
    for (listNode *n = listFirst(client_state.clients), *next; n; n = next) {
        next = n->next;
        client *c = listNodeValue(n);
        if (c->flags & CLIENT_BLOCKED) checkBlocked(c);
    }
}
