/* transaction_queue.c -- a client in MULTI: its queue, the keys it watches, and the gates of its commands.
 *
 * The queue holds the records that the reading thread made: keys found and hashed, values built. While its request
 * block is the client's first one, a record stays there, so that a transaction that arrives in one piece is not copied.
 * Before the block goes back to its reader, records that are still queued are detached.
 *
 *   queue:  [0 .. detached)      recordDetach(), owned
 *           [detached .. count)  in the client's first block, borrowed; REQ_QUEUED keeps their values there
 *
 * Not here    how the queue runs (transaction.c), which client watches which key (watch.c).
 * Owns        a client's multiState with the queue and the list of watched keys.
 * Threads     main.
 * Invariants  1. CLIENT_MULTI is set exactly from MULTI to EXEC, DISCARD, RESET or the end of the client.
 *             2. Once it is certain that the transaction will fail, nothing more is queued.
 *             3. GATE_QUEUE and GATE_TRANSACTION are enabled for a client exactly while it has CLIENT_MULTI.
 *             4. While a command is queued each flag is in cmd_flags, in cmd_lacks, or in both.
 * Tests       tests/engine/transaction.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "transaction_queue.h"
#include "slot_stats.h"

#include "client_describe.h"
#include "command_record.h"
#include "monitor.h"
#include "panic.h"
#include "redact.h"
#include "reply.h"
#include "zmalloc.h"

/* Commands that a client in MULTI runs immediately. */
static const serverCommand *exec_cmd, *discard_cmd, *quit_cmd, *reset_cmd;

static size_t slot; /* const after startup */

static multiState **stateOf(const client *c) { return clientSlot(c, slot); }

multiState *transactionOf(const client *c) { return *stateOf(c); }

multiState *transactionState(client *c) {
    assertMainRole();
    multiState **m = stateOf(c);
    if (!*m) *m = zcalloc(1, sizeof(multiState));
    return *m;
}

#define BORROWED_CHECKED 32
#define GATES_OF_MULTI (1u << GATE_QUEUE | 1u << GATE_TRANSACTION)

/* Asserts the invariants. Call where no function of this file is in the middle of a change. */
static void transactionCheck(const client *c) {
#ifdef DEBUG_ASSERTIONS
    const multiState *m = transactionOf(c);
    bool in_multi = c->flags & CLIENT_MULTI;
    debugAssert((c->gates & GATES_OF_MULTI) == (in_multi ? GATES_OF_MULTI : 0));
    debugAssert(in_multi || !(c->flags & CLIENT_DIRTY_EXEC));
    debugAssert(m || !(in_multi || c->flags & CLIENT_DIRTY_CAS));
    if (!m) return;
    debugAssert(m->detached <= m->count && m->count <= m->capacity && (m->queue || m->capacity == 0));
    debugAssert(m->count == 0 || (in_multi && (m->cmd_flags | m->cmd_lacks) == UINT32_MAX));
    debugAssert(m->detached > 0 || m->memory == 0);
    for (uint32_t i = m->detached; i < m->count && i - m->detached < BORROWED_CHECKED; i++)
        debugAssert(m->queue[i]->flags & REQ_QUEUED);
    debugAssert(!m->watched.first == (m->watched.count == 0));
    debugAssert(m->watched.count == 0 || m->watched.c == c);
#else
    unused(c);
#endif
}

/* ---- The queue ---- */

static void dropBorrowed(parsedCommand *p) {
    if (p->value) objectRelease(p->value);
    p->value = NULL;
    p->flags &= (uint16_t)~REQ_QUEUED;
}

static void emptyQueue(multiState *m) {
    for (uint32_t i = 0; i < m->count; i++) {
        if (i < m->detached) recordFree(m->queue[i]);
        else dropBorrowed(m->queue[i]);
    }
    zfree(m->queue);
    m->queue = NULL;
    m->capacity = m->count = m->detached = 0;
    m->cmd_flags = m->cmd_lacks = 0;
    m->bytes = m->memory = 0;
    m->main_thread = false;
}

void transactionBegin(client *c) {
    transactionState(c);
    c->flags |= CLIENT_MULTI;
    gateEnableClient(c, GATE_TRANSACTION, true);
    gateEnableClient(c, GATE_QUEUE, true);
    transactionCheck(c);
}

void transactionEnd(client *c) {
    assertMainRole();
    multiState *m = transactionOf(c);
    transactionCheck(c);
    if (!m) return;
    emptyQueue(m);
    watchForget(&m->watched);
    c->flags &= ~(CLIENT_MULTI | CLIENT_DIRTY_CAS | CLIENT_DIRTY_EXEC);
    gateEnableClient(c, GATE_TRANSACTION, false);
    gateEnableClient(c, GATE_QUEUE, false);
    transactionCheck(c);
}

static void transactionQueueAppend(multiState *m, parsedCommand *p) {
    debugAssert(p->cmd && !(p->flags & (REQ_QUEUED | REQ_MALFORMED)));
    m->queue = zgrowArray(m->queue, m->count, &m->capacity, sizeof(*m->queue));
    p->flags |= REQ_QUEUED;
    m->queue[m->count++] = p;
    uint32_t flags = commandFlags(p->cmd, p->argv, p->argc);
    m->cmd_flags |= flags;
    m->cmd_lacks |= ~flags;
    m->bytes += p->wire_len;
    m->main_thread |= (p->flags & REQ_MAIN_THREAD) != 0;
}

/* The values of large arguments were counted when they arrived: only copies are new memory. */
void transactionLeaveBlock(client *c) {
    assertMainRole();
    multiState *m = transactionOf(c);
    while (m && m->detached < m->count) {
        parsedCommand *p = m->queue[m->detached], *kept = recordDetach(p);
        debugAssert(p->flags & REQ_QUEUED);
        if (!kept) {
            for (uint32_t i = m->detached; i < m->count; i++) dropBorrowed(m->queue[i]);
            m->count = m->detached;
            c->flags |= CLIENT_DIRTY_EXEC;
            return;
        }
        p->flags &= (uint16_t)~REQ_QUEUED;
        redactCopied(p, kept);
        m->queue[m->detached++] = kept;
        m->memory += recordMemory(kept);
    }
    transactionCheck(c);
}

size_t transactionBytes(const client *c) {
    assertMainRole();
    return transactionOf(c) ? transactionOf(c)->bytes : 0;
}

static void transactionQueueFreed(client *c) {
    transactionEnd(c);
    zfree(transactionOf(c));
    *stateOf(c) = NULL;
}

static void transactionClientInfo(const client *c, clientInfoExtra *extra) {
    const multiState *m = transactionOf(c);
    if (!m) return;
    if (c->flags & CLIENT_MULTI) extra->multi = m->count;
    extra->watched = m->watched.count;
    extra->multi_bytes = m->bytes;
    extra->other_bytes += m->memory + m->capacity * sizeof(*m->queue) + m->watched.bytes + sizeof(*m);
}

/* ---- The gates ---- */

gateResult transactionGate(client *c) {
    assertMainRole();
    if (!(c->cmd->flags & CMD_NO_MULTI)) return GATE_PASSED;
    addReplyErrorFormat(c, "Command '%s' not allowed inside a transaction", c->cmd->fullname);
    return GATE_REFUSED;
}

gateResult queueGate(client *c) {
    assertMainRole();
    if (c->cmd == exec_cmd) {
        bool elsewhere = transactionOf(c)->main_thread && !panicOnMainThread();
        return elsewhere ? GATE_FOR_MAIN_THREAD : GATE_PASSED;
    }
    if (c->cmd == discard_cmd || c->cmd == quit_cmd || c->cmd == reset_cmd) return GATE_PASSED;
    if (!(c->flags & (CLIENT_DIRTY_EXEC | CLIENT_DIRTY_CAS)))
        transactionQueueAppend(transactionOf(c), (parsedCommand *)(uintptr_t)c->req);
    transactionCheck(c);
    if (slotStatsAreOn()) slotStatsQueued(c->req);
    addReplyStatus(c, "QUEUED");
    return GATE_DIVERTED;
}

void transactionRefused(client *c) {
    assertMainRole();
    if (!(c->flags & CLIENT_MULTI)) return;
    transactionCheck(c);
    c->flags |= CLIENT_DIRTY_EXEC;
    emptyQueue(transactionOf(c));
    transactionCheck(c);
}

bool transactionIsExec(const client *c) {
    assertMainRole();
    return c->cmd == exec_cmd;
}

uint32_t transactionFlags(const client *c) {
    assertMainRole();
    return commandFlags(c->cmd, c->argv, c->argc) | (c->cmd == exec_cmd ? transactionOf(c)->cmd_flags : 0);
}

bool transactionLacks(const client *c, uint32_t flag) {
    assertMainRole();
    if (!(commandFlags(c->cmd, c->argv, c->argc) & flag)) return true;
    return c->cmd == exec_cmd && c->flags & CLIENT_MULTI && transactionOf(c)->cmd_lacks & flag;
}

void transactionRefuse(client *c, const char *error) {
    if (transactionIsExec(c)) transactionRefuseExec(c, error);
    else addReplyError(c, error);
}

void transactionRefuseExec(client *c, const char *error) {
    assertMainRole();
    addReplyErrorFormat(c, "-EXECABORT Transaction discarded because of: %s", error + (*error == '-'));
    transactionEnd(c);
    if (unlikely(monitor_count > 0)) monitorFeed(c);
}

void transactionQueueInit(void) {
    assertMainRole();
    slot = clientSlotRegister(sizeof(multiState *));
    exec_cmd = commandNamed("exec");
    discard_cmd = commandNamed("discard");
    quit_cmd = commandNamed("quit");
    reset_cmd = commandNamed("reset");
    clientOnFree(transactionQueueFreed);
    clientOnReset(transactionEnd);
    clientOnInfo(transactionClientInfo);
}
