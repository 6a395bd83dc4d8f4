/* client.c -- sessions: created, listed, named, freed.
 *
 * A session is what main knows of a connection. It lives no longer than its connection and shares no cache line with
 * the other half, which net owns. Net drains the lists here (clients with output to be written, clients whose output
 * cron checks, clients to be closed) and frees clients.
 *
 * Not here    sockets and parsing (net), replies (reply.c), CLIENT LIST (client_describe.c), authentication
 *             (engine/acl/auth.c).
 * Owns        clientState: the list and the index of clients, and the work lists.
 * Threads     main.
 * Invariants  (clientCheck() and clientListsCheck() assert them)
 *             1. A client is in client_state.clients and in the index as long as it lives, unless it is fake.
 *             2. CLIENT_PENDING_WRITE and CLIENT_IN_CLOSING are set exactly while the client is on that list.
 *             3. CLIENT_CLOSE_ASAP is set once and never cleared.
 *             4. client_state.round_next is a node of the list of clients, or NULL.
 * Cost        clientCreate and clientFree: one index operation each; the lists: a few stores.
 * Tests       tests/unit/client/client_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "client.h"
#include "panic.h"
#include "reply_block.h"
#include "zmalloc.h"

#define HOOKS_MAX 8

clientState client_state;

static dict *clients_by_id; /* owns the table; entries are those of client_state.clients */

static struct {
    void (*on_free[HOOKS_MAX])(client *c);
    void (*on_reset[HOOKS_MAX])(client *c);
    int nfree, nreset;
    const char *(*command_name)(const struct serverCommand *cmd);
} hooks;

static slice idKey(const uint64_t *id) { return sliceOf(id, sizeof(*id)); }

static slice entryId(const void *entry) { return idKey(&((const client *)entry)->id); }

static const dictType id_dict_type = {.entryKey = entryId};

void clientsInit(void) {
    client_state = (clientState){.clients = listCreate(), .next_id = 1, .iteration = 1};
    clients_by_id = dictCreate(&id_dict_type);
}

/* ---- Life ------------------------------------------------------------------------------------------------------- */

client *clientCreate(struct clientIo *io, int fd, const char *peer, const char *local, bool is_unix) {
    assertMainRole();
    client *c = zmallocAligned(CACHE_LINE, sizeof(*c));

    *c = (client){
        .resp = 2,
        .db = dbGet(0),
        .io = io,
        .id = io ? client_state.next_id++ : CLIENT_ID_FAKE,
        .fd = fd,
        .peer = sdsNew(peer ? peer : ""),
        .local = sdsNew(local ? local : ""),
        .created = clockTicks(),
        .flags = (io ? 0u : CLIENT_FAKE) | (is_unix ? CLIENT_UNIX_SOCKET : 0u),
    };
    c->last_interaction = c->created;
    if (io) {
        listAddNodeTail(client_state.clients, c);
        c->node = listLast(client_state.clients);
        dictAddNew(clients_by_id, c, dictHash(clients_by_id, idKey(&c->id)));
    }
    return c;
}

/* Returns the link to the next client of a list, which is at the offset `next` of a client. */
static client **nextOf(client *c, size_t next) { return (client **)(void *)((char *)c + next); }

/* Removes a client from a list that net has not drained. */
static void unlinkFrom(client **head, client *c, size_t next) {
    client **at = head;
    while (*at && *at != c) at = nextOf(*at, next);
    if (*at) *at = *nextOf(c, next);
}

/* Removes the first client of a list, clears its flag, and returns it; NULL if there is none. */
static client *popFrom(client **head, size_t next, uint64_t flag) {
    assertMainRole();
    client *c = *head;
    if (!c) return NULL;
    *head = *nextOf(c, next);
    *nextOf(c, next) = NULL;
    c->flags &= ~flag;
    return c;
}

static void unwatch(client *c) {
    if (c->prev_watched) c->prev_watched->next_watched = c->next_watched;
    else client_state.watched_first = c->next_watched;
    if (c->next_watched) c->next_watched->prev_watched = c->prev_watched;
    else client_state.watched_last = c->prev_watched;
    c->watched = false;
    client_state.watched--;
}

void clientFree(client *c) {
    assertMainRole();
    serverAssert(c->blocks_head == NULL);
    for (int i = 0; i < hooks.nfree; i++) hooks.on_free[i](c);
    if (c->flags & CLIENT_PENDING_WRITE)
        unlinkFrom(&client_state.pending_write, c, offsetof(client, next_pending_write));
    if (c->flags & CLIENT_IN_CLOSING) unlinkFrom(&client_state.closing, c, offsetof(client, next_closing));
    if (c->watched) unwatch(c);
    if (c->flags & CLIENT_OUTPUT_FULL) client_state.output_full--;
    if (c->node) {
        if (client_state.round_next == c->node) client_state.round_next = c->node->next;
        dictPop(clients_by_id, idKey(&c->id), dictHash(clients_by_id, idKey(&c->id)));
        listDelNode(client_state.clients, c->node);
    }
    replyBlockReleaseChain(c->reply_head);
    replyBlockReleaseChain(c->held_head);
    sdsFree(c->name);
    sdsFree(c->lib_name);
    sdsFree(c->lib_ver);
    sdsFree(c->peer);
    sdsFree(c->local);
    zfree(c);
}

client *clientById(uint64_t id) {
    assertMainRole();
    client *c = dictFind(clients_by_id, idKey(&id), dictHash(clients_by_id, idKey(&id)));
    return c && c->flags & CLIENT_CLOSE_ASAP ? NULL : c;
}

void clientCloseAsap(client *c) {
    assertMainRole();
    if (c->flags & (CLIENT_CLOSE_ASAP | CLIENT_FAKE)) return;
    c->flags |= CLIENT_CLOSE_ASAP | CLIENT_IN_CLOSING;
    c->next_closing = client_state.closing;
    client_state.closing = c;
}

void clientPendWrite(client *c) {
    if (!c->io || c->flags & CLIENT_PENDING_WRITE) return;
    c->flags |= CLIENT_PENDING_WRITE;
    c->next_pending_write = client_state.pending_write;
    client_state.pending_write = c;
}

client *clientPopPendingWrite(void) {
    return popFrom(&client_state.pending_write, offsetof(client, next_pending_write), CLIENT_PENDING_WRITE);
}

client *clientPopClosing(void) {
    return popFrom(&client_state.closing, offsetof(client, next_closing), CLIENT_IN_CLOSING);
}

client *clientNextInRound(void) {
    assertMainRole();
    listNode *n = client_state.round_next ? client_state.round_next : listFirst(client_state.clients);
    if (!n) return NULL;
    client_state.round_next = n->next;
    if (n->next) prefetchRead(listNodeValue(n->next));
    return listNodeValue(n);
}

void clientWatchOutput(client *c) {
    if (c->watched) return;
    c->watched = true;
    c->next_watched = NULL;
    c->prev_watched = client_state.watched_last;
    if (c->prev_watched) c->prev_watched->next_watched = c;
    else client_state.watched_first = c;
    client_state.watched_last = c;
    client_state.watched++;
}

client *clientPopWatched(void) {
    assertMainRole();
    client *c = client_state.watched_first;
    if (c) unwatch(c);
    return c;
}

void clientReset(client *c) {
    assertMainRole();
    for (int i = 0; i < hooks.nreset; i++) hooks.on_reset[i](c);
    c->db = dbGet(0);
    c->resp = 2;
    sdsFree(c->name);
    c->name = NULL;
    /* The flag that suppresses the reply to this very command stays until the command has ended. */
    c->flags &= ~(CLIENT_REPLY_OFF | CLIENT_REPLY_SKIP_NEXT | CLIENT_NO_EVICT | CLIENT_NO_TOUCH | CLIENT_READONLY |
                  CLIENT_ASKING | CLIENT_MONITOR | CLIENT_IMPORT_SOURCE);
}

/* ---- Slots ------------------------------------------------------------------------------------------------------ */

size_t clientSlotRegister(size_t size) {
    static size_t end = offsetof(client, slots);
    size_t align = size % 8 == 0 ? 8 : size & -size;
    size_t slot = (end + align - 1) / align * align;
    serverAssert(size > 0 && slot + size <= offsetof(client, slots) + CLIENT_SLOTS_BYTES);
    end = slot + size;
    return slot;
}

/* ---- Hooks ------------------------------------------------------------------------------------------------------ */

void clientOnFree(void (*fn)(client *c)) {
    serverAssert(hooks.nfree < HOOKS_MAX);
    hooks.on_free[hooks.nfree++] = fn;
}

void clientOnReset(void (*fn)(client *c)) {
    serverAssert(hooks.nreset < HOOKS_MAX);
    hooks.on_reset[hooks.nreset++] = fn;
}

void clientSetCommandNamer(const char *(*fullname)(const struct serverCommand *cmd)) { hooks.command_name = fullname; }

const char *clientCommandName(const struct serverCommand *cmd) {
    return cmd && hooks.command_name ? hooks.command_name(cmd) : "NULL";
}

/* ---- Kinds and names -------------------------------------------------------------------------------------------- */

clientType clientTypeOf(const client *c) {
    assertMainRole();
    if (c->flags & CLIENT_PRIMARY) return CLIENT_TYPE_PRIMARY;
    if ((c->flags & CLIENT_REPLICA) && !(c->flags & CLIENT_MONITOR)) return CLIENT_TYPE_REPLICA;
    if (c->flags & CLIENT_PUBSUB) return CLIENT_TYPE_PUBSUB;
    return CLIENT_TYPE_NORMAL;
}

const char *clientTypeName(clientType t) {
    static const char *const names[CLIENT_TYPES] = {"normal", "slave", "pubsub", "primary"};
    return names[t];
}

int clientTypeByName(slice name) {
    for (int t = 0; t < CLIENT_TYPES; t++) {
        if (sliceIs(name, clientTypeName((clientType)t))) return t;
    }
    if (sliceIs(name, "replica")) return CLIENT_TYPE_REPLICA;
    if (sliceIs(name, "master")) return CLIENT_TYPE_PRIMARY;
    return -1;
}

bool clientNameIsValid(slice name) {
    /* Bytes after a NUL are never shown, and existing clients send them. */
    for (size_t i = 0; i < name.len && name.ptr[i] != '\0'; i++) {
        if (name.ptr[i] < '!' || name.ptr[i] > '~') return false;
    }
    return true;
}

bool clientSetName(client *c, slice name, const char **err) {
    assertMainRole();
    if (!clientNameIsValid(name)) {
        *err = "Client names cannot contain spaces, newlines or special characters.";
        return false;
    }
    sdsFree(c->name);
    c->name = name.len ? sdsFromSlice(name) : NULL;
    return true;
}

bool clientIsLocal(const client *c) {
    assertMainRole();
    return (c->flags & CLIENT_UNIX_SOCKET) || strncmp(c->peer, "127.0.0.1:", 10) == 0 ||
           strncmp(c->peer, "[::1]:", 6) == 0 || strncmp(c->peer, "::1:", 4) == 0;
}

/* ---- The running command ---------------------------------------------------------------------------------------- */

hashedKey clientKeySearch(const client *c, uint32_t index) {
    assertMainRole();
    const parsedCommand *req = c->req;

    if (!req || c->argv != req->argv || req->nkeys == 0) return hashedKeyOf(c->argv[index]);
    /* Keys of one command are mostly at equal distances: the distance of the first two gives the index of this one. */
    if (req->nkeys > 1 && index > req->keys[0].index && req->keys[1].index > req->keys[0].index) {
        uint32_t at = (index - req->keys[0].index) / (req->keys[1].index - req->keys[0].index);
        if (at < req->nkeys && req->keys[at].index == index) return (hashedKey){c->argv[index], req->keys[at].hash};
    }
    /* A destination before the keys breaks the distance, and a command may have a hundred thousand keys: binary
     * search. */
    uint32_t low = 0, high = req->nkeys;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (req->keys[middle].index < index) low = middle + 1;
        else high = middle;
    }
    bool found = low < req->nkeys && req->keys[low].index == index;
    return found ? (hashedKey){c->argv[index], req->keys[low].hash} : hashedKeyOf(c->argv[index]);
}

uint64_t clientElementHashSearch(const client *c, uint32_t index) {
    const parsedCommand *req = c->req;
    uint32_t count = req && c->argv == req->argv ? requestElementCount(req) : 0;
    if (count) {
        /* They are at equal distances. */
        const requestKey *e = requestElements(req);
        uint32_t step = count > 1 ? e[1].index - e[0].index : 1, at = (index - e[0].index) / step;
        if (index >= e[0].index && at < count && e[at].index == index) return e[at].hash;
    }
    return hashBytes(c->argv[index].ptr, c->argv[index].len);
}

/* ---- Arguments -------------------------------------------------------------------------------------------------- */

robj *clientEntryOfArg(client *c, slice key, uint32_t index, bool with_expire) {
    assertMainRole();
    parsedCommand *req = (parsedCommand *)(uintptr_t)c->req;
    largeArg *a = NULL;
    if (unlikely(req && req->flags & REQ_SCATTERED) && c->argv == req->argv) a = requestLargeArg(req, index);
    if (likely(!a)) return objectCreateString(key, c->argv[index], with_expire, object_main_owner);
    robj *entry = objectCreateFromExactTake(key, a->bytes, a->len, object_main_owner);
    /* The same command may drop the entry again later (MSET k v1 k v2), but the argument is read after it has run, by
     * propagation for example. */
    a->bytes = NULL;
    a->entry = entry;
    incrRefCount(entry);
    c->flags |= CLIENT_ARGS_TAKEN;
    return entry;
}

void clientArgsEnd(client *c) {
    assertMainRole();
    largeArg *a = c->req->large, *first = a;
    do {
        if (a->entry) objectReleaseBorrowed(a->entry);
        a->entry = NULL;
        a = a->next;
    } while (a != first);
    c->flags &= ~CLIENT_ARGS_TAKEN;
}
