/* client_check.c -- asserts what holds of clients between two commands.
 *
 * What a client counts as output is a sum over blocks in three places: its open chain, the stream, the way back. Only
 * the first can be looked into here; what is left of the sum belongs to the other two and must be able to.
 *
 * Not here    blocks in themselves (replyBlockCheck), the open chain (replyCheck), the queue of ready clients
 *             (net/session/command_batch.c).
 * Owns        nothing.
 * Threads     main.
 * Invariants  (clientCheck() and clientListsCheck() assert them)
 *             1. A client with a stream is in the list and in the index of clients, a fake one in neither.
 *             2. CLIENT_PENDING_WRITE is set exactly for those on that list; who has an open chain is there, unless it
 *                is fake, to be closed, or its replies are held.
 *             3. CLIENT_IN_CLOSING is set exactly for those on the list of clients to be freed, CLIENT_CLOSE_ASAP for
 *                them, too; neither for a fake client.
 *                Those whose output the clock looks at are on the list for that, and as many as it says.
 *             4. Output counts at least what the open chain holds; what it counts beyond that are whole blocks.
 *             5. CLIENT_OUTPUT_FULL is set only while there is output, and cron looks at who has it or is above its
 *                soft limit, and is not to be closed.
 *             6. CLIENT_RESERVED and CLIENT_ARGS_TAKEN are set only while a command of the client runs.
 *             7. Without blocks of requests there are no bytes of requests.
 *             8. Between commands no deferred length is open, and no message waits.
 * Cost        blocks of the open chain; clients.
 * Tests       tests/unit/client/client_check_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "client_check.h"

#include "output_limits.h"
#include "panic.h"
#include "reply.h"

#define DEBUG_CHECK_MAX 64 /* blocks of one client; clients */

static void checkSession(const client *c) {
    bool fake = c->flags & CLIENT_FAKE;

    serverAssert(fake == (c->io == NULL));
    serverAssert(fake == (c->node == NULL));
    serverAssert(fake || listNodeValue(c->node) == c);
    serverAssert(fake ? c->id == CLIENT_ID_NOBODY : c->id > 0 && c->id < client_state.next_id);
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

/* What was handed to the stream and has not come back: bytes may be gone before their block is back, never after it. */
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

/* As many as are flagged, and each of them flagged: so all that are flagged, each once, and the list ends. */
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
