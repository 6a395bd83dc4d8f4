/* client_check.c -- asserts the invariants of clients between two commands.
 *
 * The output that a client counts is a sum over blocks in three places: its open chain, its I/O half, and messages on
 * their way back. Only the chain can be inspected here; the rest of the sum must be a possible value for the other two.
 *
 * Not here    each block (replyBlockCheck), the open chain (replyCheck), the queue of ready clients
 *             (net/session/command_batch.c).
 * Owns        nothing.
 * Threads     main.
 * Invariants  (clientCheck() and clientListsCheck() assert them)
 *             1. A client with a connection is in the list and in the index of clients, a fake one in neither.
 *             2. CLIENT_PENDING_WRITE is set exactly for clients on that list. A client with an open chain is on it,
 *                unless it is fake or about to be closed.
 *             3. CLIENT_IN_CLOSING is set exactly for clients on the list of clients to be freed, and CLIENT_CLOSE_ASAP
 *                is set for them, too; neither is set for a fake client. The clients on cron's list are those that have
 *                `watched` set, and the list has the length that is stored.
 *             4. Output counts at least what the open chain holds; the rest are whole blocks.
 *             5. CLIENT_OUTPUT_FULL is set only while there is output. A client that has it or is above its soft limit
 *                is on cron's list, unless it is about to be closed.
 *             6. CLIENT_RESERVED and CLIENT_ARGS_TAKEN are set only while a command of the client runs.
 *             7. Without request blocks there are no bytes of requests.
 *             8. Between commands no deferred length is open, and no push message is held.
 * Cost        the blocks of the open chain; the clients.
 * Tests       tests/unit/client/client_check_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "client_check.h"

#include "output_limits.h"
#include "panic.h"
#include "reply.h"

#define DEBUG_CHECK_MAX 64 /* most blocks of one client, and most clients, that debug builds check */

static void checkSession(const client *c) {
    bool fake = c->flags & CLIENT_FAKE;
    serverAssert(fake == (c->io == NULL));
    serverAssert(fake == (c->node == NULL));
    serverAssert(fake || listNodeValue(c->node) == c);
    serverAssert(fake ? c->id == CLIENT_ID_FAKE : c->id > 0 && c->id < client_state.next_id);
    serverAssert(clientById(c->id) == (fake || c->flags & CLIENT_CLOSE_ASAP ? NULL : (client *)c));
    serverAssert(!fake || !(c->flags & (CLIENT_PENDING_WRITE | CLIENT_CLOSE_ASAP | CLIENT_READY)));
    serverAssert(c->resp == 2 || c->resp == 3);
    serverAssert(c->db && c->peer && c->local);
}

static void checkCommand(const client *c) {
    serverAssert((c->blocks_head == NULL) == (c->blocks_tail == NULL));
    serverAssert(c->blocks_head || c->input_bytes == 0);
    serverAssert(c->req || !(c->flags & (CLIENT_RESERVED | CLIENT_ARGS_TAKEN)));
    serverAssert(c->req || c->deferred == NULL);
    serverAssert(c->flags & CLIENT_PUSHES_HELD || !c->held_head);
    serverAssert(c->req || !(c->flags & CLIENT_PUSHES_HELD));
}

/* Checks the output that was handed over and has not come back: bytes may be written before their block is back, never
 * after it. */
static void checkOutput(const client *c) {
    size_t bytes = 0, memory = 0;
    uint32_t blocks = 0;

    for (const replyBlock *b = c->reply_head; b; b = b->next) {
        bytes += b->total;
        memory += replyBlockCost(b);
        blocks++;
    }
    serverAssert(c->output_bytes >= bytes && c->output_memory >= memory && c->output_blocks >= blocks);
    bytes = c->output_bytes - bytes;
    memory = c->output_memory - memory;
    blocks = c->output_blocks - blocks;
    serverAssert(memory >= blocks * sizeof(replyBlock));
    serverAssert(blocks > 0 || memory == 0);
    serverAssert(bytes <= memory + c->external_output);
    serverAssert(c->output_blocks > 0 || !(c->flags & CLIENT_OUTPUT_FULL));
    bool owes = c->soft_limit_since || c->flags & CLIENT_OUTPUT_FULL;
    serverAssert(!owes || c->watched || c->flags & CLIENT_CLOSE_ASAP);
    bool must_be_listed = c->reply_head && c->io && !(c->flags & CLIENT_CLOSE_ASAP);
    serverAssert(!must_be_listed || c->flags & CLIENT_PENDING_WRITE);
}

void clientCheck(const client *c) {
    assertMainRole();
    checkSession(c);
    checkCommand(c);
    replyCheck(c);
    checkOutput(c);
}

static size_t countFlagged(uint64_t flag) {
    size_t n = 0;
    listIter it = listBegin(client_state.clients, false);
    for (listNode *node = listNext(&it); node; node = listNext(&it))
        n += (((client *)listNodeValue(node))->flags & flag) != 0;
    return n;
}

/* As many clients are on the list as are flagged, and each one on it is flagged: so it has all of them, each once, and
 * it ends. */
static void checkList(const client *head, uint64_t flag, size_t next) {
    size_t left = countFlagged(flag);
    for (const client *c = head; c; c = *(client *const *)(const void *)((const char *)c + next)) {
        serverAssert(left > 0);
        serverAssert(c->flags & flag);
        left--;
    }
    serverAssert(left == 0);
}

static void checkWatched(void) {
    size_t flagged = 0, listed = 0;
    listIter it = listBegin(client_state.clients, false);
    for (const listNode *node = listNext(&it); node; node = listNext(&it))
        flagged += ((client *)listNodeValue(node))->watched;
    for (const client *c = client_state.watched_first; c; c = c->next_watched) {
        serverAssert(c->watched && listed < client_state.watched);
        serverAssert(c->next_watched ? c->next_watched->prev_watched == c : c == client_state.watched_last);
        listed++;
    }
    serverAssert(listed == flagged && listed == client_state.watched);
}

void clientListsCheck(void) {
    assertMainRole();
    checkWatched();
    checkList(client_state.pending_write, CLIENT_PENDING_WRITE, offsetof(client, next_pending_write));
    checkList(client_state.closing, CLIENT_IN_CLOSING, offsetof(client, next_closing));
    checkList(client_state.closing, CLIENT_CLOSE_ASAP, offsetof(client, next_closing));
}

#ifdef DEBUG_ASSERTIONS
void clientDebugCheck(const client *c) {
    if (c->output_blocks <= DEBUG_CHECK_MAX) clientCheck(c);
}

void clientListsDebugCheck(void) {
    if (listLength(client_state.clients) <= DEBUG_CHECK_MAX) clientListsCheck();
}
#endif
