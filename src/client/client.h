/* client.h -- the session half of a connection: what main knows of a client.
 *
 * The other half (socket, query buffer, unsent output) is net's clientIo, held by one thread;
 * the halves meet only in messages. Without a stream a client is a script's or the log's own.
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

#define CLIENT_ID_NOBODY UINT64_MAX /* of fake clients: no connection ever gets it */

enum { CLIENT_CAPA_REDIRECT = 1 }; /* client.capa: CLIENT CAPA redirect */

/* The field keeps this much output in a buffer of the client that limits do not see (obl). */
#define CLIENT_OUTPUT_BUFFER 16384
/* So the memory of a client's first two blocks, one small and one large, never breaks a limit either. */
#define CLIENT_OUTPUT_GRACE (2048 + CLIENT_OUTPUT_BUFFER)

/* Kinds for client-output-buffer-limit and CLIENT LIST TYPE. */
typedef enum {
    CLIENT_TYPE_NORMAL,
    CLIENT_TYPE_REPLICA,
    CLIENT_TYPE_PUBSUB,
    CLIENT_TYPE_PRIMARY,
    CLIENT_TYPES
} clientType;

/* What a layer above keeps of each client lies in a slot, of which this layer knows only the size. */
#define CLIENT_SLOTS_BYTES 96

typedef struct client {
    /* Line 0: every command. */
    const parsedCommand *req;        /* borrowed: the command being executed, NULL between commands */
    slice *argv;                     /* = req->argv; a handler may point it elsewhere to rewrite what is propagated */
    const struct serverCommand *cmd; /* being executed */
    serverDb *db;                    /* borrowed: selected */
    struct replyBlock *reply_tail;   /* where replies are appended; NULL: none open */
    uint64_t flags;                  /* CLIENT_ */
    uint32_t argc;
    uint32_t gates; /* a bit for each check of commands that is made for this client (engine/table/gates.h) */
    uint8_t resp;   /* 2 or 3 */
    bool authenticated;
    bool known;   /* it was authenticated at some time */
    bool watched; /* clientWatchOutput(): it is on that list */
    uint8_t capa; /* CLIENT_CAPA_ */

    /* Line 1: once a batch. */
    alignas(CACHE_LINE) struct clientIo *io;        /* NULL for fake clients */
    struct requestBlock *blocks_head, *blocks_tail; /* owns: parsed, not yet executed to the end; net takes them back
                                                      * before clientFree() */
    size_t output_bytes;       /* all output not yet known to be written: what will go over the wire */
    size_t output_memory;      /* what that output costs until its blocks come back: blocks and values they refer to */
    size_t input_bytes;        /* bytes in blocks_* */
    monotime last_interaction; /* a command ran or was refused */
    struct client *next_ready; /* net's queue of those with commands */

    /* Line 2: once a command or batch, too. */
    alignas(CACHE_LINE) struct client *prev_ready; /* of the head of that queue: says nothing */
    struct client *next_pending_write;
    const struct serverCommand *last_cmd;
    long long commands;            /* that have run, refused ones not */
    uint32_t error_replies;        /* sent to this client, modulo 2^32; tells whether a command failed */
    uint32_t output_blocks;        /* counted in output_memory */
    void *deferred;                /* reply.c: the innermost open place of a deferred length */
    uint64_t id;                   /* CLIENT_ID_NOBODY for fake clients */
    struct replyBlock *reply_head; /* owns: chain not yet handed to the stream */

    /* Cold. */
    struct client *next_closing;
    struct client *next_watched, *prev_watched; /* clientWatchOutput() */
    uint32_t unblocked_iteration;               /* clientNoteUnblocked() */
    int fd;                                     /* for display only */
    struct user *user;                          /* borrowed */
    sds name, lib_name, lib_ver;                /* own; NULL when unset */
    sds peer, local;                            /* own: "ip:port" */
    monotime created;
    monotime unblocked_at;     /* its last interaction then */
    monotime soft_limit_since; /* 0: below the soft limit */
    long long net_input, net_output;
    uint64_t reply_peak;                      /* the largest reply, tagged with the period in which it was sent */
    listNode *node;                           /* its place in clientState.clients */
    size_t external_output;                   /* of others' memory that is kept because it is to be sent to it */
    struct replyBlock *held_head, *held_tail; /* owns: messages that wait for the end of its command (push.c) */
    alignas(8) unsigned char slots[CLIENT_SLOTS_BYTES];
} client;
static_assert(offsetof(client, io) == CACHE_LINE, "every command touches one line");
static_assert(offsetof(client, reply_head) < 3 * CACHE_LINE, "commands and batches touch three lines");
static_assert(sizeof(client) == 7 * CACHE_LINE, "a size class of the allocator");

/* Gives the caller `size` bytes of its own in each client and returns their offset, for clientSlot(). They are aligned
 * as a type of that size is, and zero in a new client. Call once, at boot. The caller frees what the bytes refer to
 * (clientOnFree()). Data that is large, or whose size is known only at run time, hangs on a pointer in the slot. If no
 * space is left, raise CLIENT_SLOTS_BYTES. */
size_t clientSlotRegister(size_t size);
static inline void *clientSlot(const client *c, size_t offset) {
    debugAssert(offset >= offsetof(client, slots)); /* else it was never registered */
    return (char *)(uintptr_t)c + offset;
}

/* Memory of unsent output that limits count (CLIENT LIST omem). */
static inline size_t clientQueuedOutput(const client *c) {
    return c->external_output + (c->output_memory > CLIENT_OUTPUT_GRACE ? c->output_memory - CLIENT_OUTPUT_GRACE : 0);
}

typedef struct clientState {
    list *clients; /* all with a connection, in order of id */
    uint64_t next_id;
    client *pending_write; /* with output for their stream; drained by net (clientPopPendingWrite) before sleep */
    client *closing;       /* to be freed; drained by net (clientPopClosing) before sleep */
    client *watched_first, *watched_last; /* whose unsent output is looked at by the clock (clientPopWatched) */
    size_t watched;                       /* of them */
    listNode *round_next;                 /* clientNextInRound() is to return it; NULL: the first one */
    uint32_t iteration;                   /* net counts them, from 1 */
    uint64_t subscriber_outputs;          /* how often a client that is sent pushes began to have output pending */
    uint64_t unsent_replies;              /* parts of replies that were dropped, as the client is sent none */
    long long total_error_replies, unexpected_error_replies;
    long long output_limit_disconnections, query_limit_disconnections;
    size_t recent_max_input, recent_max_output;
    uint64_t peak_tag; /* of the current period: its number, shifted by CLIENT_PEAK_BITS */
    dict *errors;      /* errorstats: entries of reply_error.c */
} clientState;
extern clientState client_state;

/* Boot: after hashSetKey() and dbInit(). */
void clientsInit(void);
/* A session with the next id, name-less, db 0, RESP2. stream NULL makes a fake client, which is in no list and
 * whose id is CLIENT_ID_NOBODY. */
client *clientCreate(struct clientIo *io, int fd, const char *peer, const char *local, bool is_unix);
/* Free what the session owns. The stream must be gone or detached by net before. Runs the hooks below. */
void clientFree(client *c);
/* NULL: nobody, or one that is about to be closed: for others it has gone already. */
client *clientById(uint64_t id);
/* Ask for the end of a client at the next safe point (net drains client_state.closing). Works at any stage; on a fake
 * client it has no effect, because that belongs to whoever made it. */
void clientCloseAsap(client *c);
/* Put a client with output on the list for its stream (nothing happens when it is there, or has no stream). */
void clientPendWrite(client *c);
/* Take the next client off the list; NULL when it is empty. Its flag CLIENT_PENDING_WRITE is cleared;
 * CLIENT_CLOSE_ASAP stays. */
client *clientPopPendingWrite(void);
client *clientPopClosing(void);
/* The next client of an endless round over all of them, from the first that there is to the one that came last; NULL:
 * there is none. */
client *clientNextInRound(void);
/* Have a client's output looked at by the clock (nothing happens when it is to be already). */
void clientWatchOutput(client *c);
/* The one that has waited longest for that, taken off the list; NULL when it is empty. */
client *clientPopWatched(void);
clientType clientTypeOf(const client *c);
const char *clientTypeName(clientType t); /* "normal" "slave" "pubsub" "primary" */
int clientTypeByName(slice name);         /* also "replica" and "master"; -1 unknown */
/* Names allow only printable characters without space; an empty one takes the name away. False with the error text for
 * the reply. */
bool clientSetName(client *c, slice name, const char **err);
/* Whether every byte is printable and no blank: names, lib-name, lib-ver. */
bool clientNameIsValid(slice name);
/* Whether the peer is 127.0.0.1, ::1 or a Unix socket (protected mode, DEBUG). */
bool clientIsLocal(const client *c);

/* --- What layers above register. Boot only, at most 8 of each ----------------------------------------- */
/* Work to be done when a client is freed or RESET (blocking, multi, pubsub, tracking, user). */
void clientOnFree(void (*fn)(client *c));
void clientOnReset(void (*fn)(client *c));
/* Who knows the full name ("config|get") of a command. */
void clientSetCommandNamer(const char *(*fullname)(const struct serverCommand *cmd));
const char *clientCommandName(const struct serverCommand *cmd); /* "NULL" for NULL */

/* RESET: db 0, RESP2, no name, replies on; the hooks do the rest. The library's name and capabilities stay. */
void clientReset(client *c);

/* The key in argument `index` when it is not the first key of the running command. */
hashedKey clientKeySearch(const client *c, uint32_t index);
/* The key in argument `index` of the running command, with the hash made when it was parsed (or now if it is none of
 * the parsed keys). */
static inline hashedKey clientKeyAt(const client *c, uint32_t index) {
    const parsedCommand *req = c->req;
    if (likely(req && req->nkeys && req->keys[0].index == index && c->argv == req->argv)) {
        return (hashedKey){c->argv[index], req->keys[0].hash};
    }
    return clientKeySearch(c, index);
}

/* The hash of argument `index` when it is not the first element of the running command. */
uint64_t clientElementHashSearch(const client *c, uint32_t index);
/* The hash under which argument `index`, a field or member, lies in a value's table: made when the command was parsed,
 * or now. */
static inline uint64_t clientElementHash(const client *c, uint32_t index) {
    const parsedCommand *req = c->req;
    if (likely(req && req->flags & REQ_ELEMENTS && c->argv == req->argv)) {
        const requestKey *first = requestElements(req);
        if (likely(first->index == index)) return first->hash;
    }
    return clientElementHashSearch(c, index);
}

/* The entry that was built ahead from the running command's key and value, or NULL; the caller owns it. Only commands
 * flagged CMD_BUILDS_VALUE have one. The record is const for everybody else; its value leaves it here. */
static inline robj *clientTakeValue(client *c) {
    parsedCommand *req = (parsedCommand *)c->req;
    if (!req || c->argv != req->argv) return NULL;
    robj *entry = req->value;
    req->value = NULL;
    return entry;
}

/* An entry of `key` whose value is argument `index` of the running command: a large argument that came in an allocation
 * of its own is taken, any other one copied. The argument can be read until the command has ended whatever becomes of
 * the entry. Ask in ascending order of arguments. */
robj *clientEntryOfArg(client *c, slice key, uint32_t index, bool with_expire);
/* The command has ended (CLIENT_ARGS_TAKEN is set). */
void clientArgsEnd(client *c);

/* Put what this layer shows and offers into the tables of the layers below. Boot only. */
void clientInfoRegister(void);

#endif
