/* client.h -- the session of a client: the half of it that main owns.
 *
 * The other half (socket, query buffer, unsent output) is net's clientIo, which belongs to one thread; the halves
 * exchange only messages. A client without a clientIo is a fake client, which executes the commands of a script or of
 * the append-only file.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLIENT_CLIENT_H
#define CLIENT_CLIENT_H

#include "adlist.h"
#include "client_flags.h"
#include "clock.h"
#include "panic.h"
#include "request.h"
#include "sds.h"

struct serverCommand;
struct clientIo;
struct replyBlock;
struct user;
struct requestBlock;

#define CLIENT_ID_FAKE UINT64_MAX /* id of fake clients; no connection ever gets it */

enum { CLIENT_CAPA_REDIRECT = 1 }; /* client.capa: CLIENT CAPA redirect */

/* Size of Valkey's static reply buffer, which output limits exclude (CLIENT LIST obl). */
#define CLIENT_OUTPUT_BUFFER 16384
/* Output that costs no more than this never counts against a limit: a client's first small block and its first large
 * one. */
#define CLIENT_OUTPUT_GRACE (2048 + CLIENT_OUTPUT_BUFFER)

/* Kinds for client-output-buffer-limit and CLIENT LIST TYPE. */
typedef enum {
    CLIENT_TYPE_NORMAL,
    CLIENT_TYPE_REPLICA,
    CLIENT_TYPE_PUBSUB,
    CLIENT_TYPE_PRIMARY,
    CLIENT_TYPES
} clientType;

/* Bytes of a client for the data of the layers above, of which this layer knows only the size
 * (clientSlotRegister()). */
#define CLIENT_SLOTS_BYTES 96

typedef struct client {
    /* Cache line 0: used by every command. */
    const parsedCommand *req;        /* borrowed: the command being executed, NULL between commands */
    slice *argv;                     /* = req->argv; a handler that rewrites what is propagated points it elsewhere */
    const struct serverCommand *cmd; /* the command being executed */
    serverDb *db;                    /* borrowed: the selected database */
    struct replyBlock *reply_tail;   /* the block to which replies are appended; NULL if none is open */
    uint64_t flags;                  /* CLIENT_ */
    uint32_t argc;
    uint32_t gates; /* a bit for each gate that is enabled for this client (engine/table/gates.h) */
    uint8_t resp;   /* 2 or 3 */
    bool authenticated;
    bool was_authenticated; /* now or before */
    bool watched;           /* it is on the list of clientWatchOutput() */
    uint8_t capa;           /* CLIENT_CAPA_ */

    /* Cache line 1: used once per batch. */
    alignas(CACHE_LINE) struct clientIo *io;        /* NULL for fake clients */
    struct requestBlock *blocks_head, *blocks_tail; /* owns: parsed requests that have not run to the end; net takes
                                                     * them back before clientFree() */
    size_t output_bytes;       /* bytes on the wire of all output that is not yet known to be written */
    size_t output_memory;      /* memory of that output until its blocks come back: the blocks, and the values to which
                                * they refer */
    size_t input_bytes;        /* bytes in blocks_* */
    monotime last_interaction; /* when a command ran or was refused */
    struct client *next_ready; /* the next client in net's queue of clients with commands */

    /* Cache line 2: used once per command or batch, too. */
    alignas(CACHE_LINE) struct client *prev_ready; /* the previous one in that queue; undefined in its first client */
    struct client *next_pending_write;
    const struct serverCommand *last_cmd;
    long long commands;            /* number of commands that have run; refused ones do not count */
    uint32_t error_replies;        /* errors sent to this client, modulo 2^32: a command that fails adds one */
    uint32_t output_blocks;        /* number of blocks counted in output_memory */
    void *deferred;                /* the innermost open placeholder of a deferred length (reply.c) */
    uint64_t id;                   /* CLIENT_ID_FAKE for fake clients */
    struct replyBlock *reply_head; /* owns: the chain that was not yet handed to the I/O half */

    /* Rarely used. */
    struct client *next_closing;
    struct client *next_watched, *prev_watched; /* clientWatchOutput() */
    uint32_t unblocked_iteration;               /* clientNoteUnblocked() */
    int fd;                                     /* for display only */
    struct user *user;                          /* borrowed */
    sds name, lib_name, lib_ver;                /* owns; NULL if unset */
    sds peer, local;                            /* owns: "ip:port" */
    monotime created;
    monotime unblocked_at;     /* last_interaction at that moment */
    monotime soft_limit_since; /* 0 while the output is below the soft limit */
    long long net_input, net_output;
    uint64_t reply_peak;                      /* most bytes of output handed over at once, tagged with the period in
                                               * which it was */
    listNode *node;                           /* its node in clientState.clients */
    size_t external_output;                   /* memory of other owners that is kept because it is to be sent to this
                                               * client */
    struct replyBlock *held_head, *held_tail; /* owns: push messages that wait for the end of its command (push.c) */
    alignas(8) unsigned char slots[CLIENT_SLOTS_BYTES];
} client;
static_assert(offsetof(client, io) == CACHE_LINE, "every command touches one line");
static_assert(offsetof(client, reply_head) < 3 * CACHE_LINE, "commands and batches touch three lines");
static_assert(sizeof(client) == 7 * CACHE_LINE, "a size class of the allocator");

/* Reserves `size` bytes in each client for the caller and returns their offset, for clientSlot(). The bytes are aligned
 * as a type of that size is, and zero in a new client. Call once, at startup. The caller frees what the bytes refer to
 * (clientOnFree()). Data that is large, or whose size is known only at run time, is allocated, and the slot holds a
 * pointer to it. If no space is left, raise CLIENT_SLOTS_BYTES. */
size_t clientSlotRegister(size_t size);
/* Returns the address of the caller's bytes in a client. */
static inline void *clientSlot(const client *c, size_t offset) {
    debugAssert(offset >= offsetof(client, slots)); /* else it was never registered */
    return (char *)(uintptr_t)c + offset;
}

/* Returns the bytes of memory of unsent output that count against limits (CLIENT LIST omem). */
static inline size_t clientQueuedOutput(const client *c) {
    return c->external_output + (c->output_memory > CLIENT_OUTPUT_GRACE ? c->output_memory - CLIENT_OUTPUT_GRACE : 0);
}

typedef struct clientState {
    list *clients; /* all clients with a connection, in order of id */
    uint64_t next_id;
    client *pending_write; /* clients with output for their I/O half; net drains the list before it sleeps
                            * (clientPopPendingWrite) */
    client *closing;       /* clients to be freed; net drains the list before it sleeps (clientPopClosing) */
    client *watched_first, *watched_last; /* clients whose unsent output cron checks (clientPopWatched) */
    size_t watched;                       /* length of that list */
    size_t output_full;                   /* clients with CLIENT_OUTPUT_FULL */
    long long output_waits;               /* how often a client got that flag */
    listNode *round_next;                 /* what clientNextInRound() returns next; NULL for the first client */
    uint32_t iteration;                   /* number of the loop iteration, from 1; set by net */
    uint64_t subscriber_outputs;          /* how often a client that may get pushes began to have pending output */
    uint64_t unsent_replies;              /* parts of replies that were dropped, as the client gets no replies */
    long long total_error_replies, unexpected_error_replies;
    long long output_limit_disconnections, query_limit_disconnections;
    size_t recent_max_input, recent_max_output;
    uint64_t peak_tag; /* number of the current period of reply peaks, shifted by CLIENT_PEAK_BITS */
    dict *errors;      /* errorstats: entries of reply_error.c */
} clientState;
extern clientState client_state;

/* Creates the lists and the index of clients. Call at startup, after hashSetKey() and dbInit(). */
void clientsInit(void);
/* Creates a session with the next id, no name, database 0 and RESP2. If `io` is NULL it is a fake client, which is in
 * no list and has the id CLIENT_ID_FAKE. */
client *clientCreate(struct clientIo *io, int fd, const char *peer, const char *local, bool is_unix);
/* Frees the client and all that it owns. Net must have closed or detached its I/O half before. Calls the functions of
 * clientOnFree(). */
void clientFree(client *c);
/* Returns the client with that id, or NULL if there is none or it is about to be closed. */
client *clientById(uint64_t id);
/* Sets CLIENT_CLOSE_ASAP: the client is closed at the next safe point (net drains client_state.closing). May be called
 * at any time; no-op for a fake client, which its creator frees. */
void clientCloseAsap(client *c);
/* Puts a client with output on the list of those whose output is handed over. No-op if it is on the list or is a fake
 * client. */
void clientPendWrite(client *c);
/* Remove the next client from the list and return it, or NULL if the list is empty. They clear CLIENT_PENDING_WRITE and
 * CLIENT_IN_CLOSING; CLIENT_CLOSE_ASAP stays set. */
client *clientPopPendingWrite(void);
client *clientPopClosing(void);
/* Returns the next client of an endless cycle over all clients, in order of id; NULL if there are none. */
client *clientNextInRound(void);
/* Lets cron check the client's output (clientPopWatched()). No-op if the client is on that list. */
void clientWatchOutput(client *c);
/* Removes the client that has been on that list for longest and returns it; NULL if the list is empty. */
client *clientPopWatched(void);
clientType clientTypeOf(const client *c); /* a client that monitors is NORMAL or PUBSUB */
const char *clientTypeName(clientType t); /* "normal" "slave" "pubsub" "primary" */
int clientTypeByName(slice name);         /* also "replica" and "master"; -1 unknown */
/* Sets the client's name; an empty one removes it. Only printable characters other than space are allowed: else returns
 * false and sets *err to the text of the error reply. */
bool clientSetName(client *c, slice name, const char **err);
/* Returns true if every byte up to the first NUL is printable and no space (names, lib-name, lib-ver). */
bool clientNameIsValid(slice name);
/* Returns true if the peer is 127.0.0.1, ::1 or a Unix socket (protected mode, DEBUG). */
bool clientIsLocal(const client *c);

/* --- Registrations of the layers above. At startup only, at most 8 of each ------------------------------------- */
/* Register a function to be called when a client is freed, or by RESET (blocking, multi, pubsub, tracking, user). */
void clientOnFree(void (*fn)(client *c));
void clientOnReset(void (*fn)(client *c));
/* Registers the function that returns the full name ("config|get") of a command. */
void clientSetCommandNamer(const char *(*fullname)(const struct serverCommand *cmd));
const char *clientCommandName(const struct serverCommand *cmd); /* "NULL" for NULL */

/* Resets the client to database 0, RESP2, no name and replies on, and calls the functions of clientOnReset(). The name
 * of the client library and the capabilities stay. */
void clientReset(client *c);

/* Does the work of clientKeyAt() for an argument that is not the first key of the running command. */
hashedKey clientKeySearch(const client *c, uint32_t index);
/* Returns the key in argument `index` of the running command, with the hash that was computed when the command was
 * parsed, or that is computed now if the argument is not one of the parsed keys. */
static inline hashedKey clientKeyAt(const client *c, uint32_t index) {
    const parsedCommand *req = c->req;
    if (likely(req && req->nkeys && req->keys[0].index == index && c->argv == req->argv)) {
        return (hashedKey){c->argv[index], req->keys[0].hash};
    }
    return clientKeySearch(c, index);
}

/* Does the work of clientElementHash() for an argument that is not the first element of the running command. */
uint64_t clientElementHashSearch(const client *c, uint32_t index);
/* Returns the hash of argument `index`, a field or member, in a value's table. It was computed when the command was
 * parsed, or is computed now. */
static inline uint64_t clientElementHash(const client *c, uint32_t index) {
    const parsedCommand *req = c->req;
    if (likely(req && req->flags & REQ_ELEMENTS && c->argv == req->argv)) {
        const requestKey *first = requestElements(req);
        if (likely(first->index == index)) return first->hash;
    }
    return clientElementHashSearch(c, index);
}

/* Returns the entry that was built in advance from the running command's key and value, or NULL. The caller takes
 * ownership. Only commands with CMD_BUILDS_VALUE have one. All other code reads the record only; this function clears
 * its `value`. */
static inline robj *clientTakeValue(client *c) {
    parsedCommand *req = (parsedCommand *)c->req;
    if (!req || c->argv != req->argv) return NULL;
    robj *entry = req->value;
    req->value = NULL;
    return entry;
}

/* Returns an entry of `key` whose value is argument `index` of the running command. A large argument with an allocation
 * of its own gives its bytes to the entry, any other one is copied. Either way the argument can be read until the
 * command has ended. Call in ascending order of arguments. */
robj *clientEntryOfArg(client *c, slice key, uint32_t index, bool with_expire);
/* Call when the command has ended, if CLIENT_ARGS_TAKEN is set. */
void clientArgsEnd(client *c);

/* Registers the INFO fields of this layer. Call at startup. */
void clientInfoRegister(void);

#endif
