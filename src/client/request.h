/* request.h -- a parsed command on its way from the thread that read it to main.
 *
 * A requestBlock holds the bytes of one or more complete requests and, in the same allocation or in chunks it owns, the
 * records that were made of them. The owner thread of the connection fills it and hands it to main in one message; main
 * executes its commands and hands it back to be reused. Arguments point into the block, so nothing is copied on the
 * way. Code that needs an argument after the command copies it, or takes it if it has an allocation of its own.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLIENT_REQUEST_H
#define CLIENT_REQUEST_H

#include "db.h"
#include "slice.h"

struct serverCommand;

enum {
    REQ_BAD_ARITY = 1,           /* wrong number of arguments: no keys were extracted */
    REQ_PREFETCHED = 2,          /* a batch has prefetched its keys already */
    REQ_PROTOCOL_ERROR = 4,      /* not a command: argv[0] is the error text; reply and close */
    REQ_KEYS_INVALID = 8,        /* keys could not be extracted (bad syntax): the handler replies with the error */
    REQ_UNKNOWN_COMMAND = 16,    /* cmd is NULL, argv[0] names it */
    REQ_UNKNOWN_SUBCOMMAND = 32, /* cmd is the container */
    REQ_CROSS_SLOT = 64,         /* cluster mode: its keys are in more than one slot */
    REQ_INLINE = 128,            /* it came as an inline command: its bytes are not RESP, and were changed in place */
    REQ_MAIN_THREAD = 256,       /* its handler runs on main's own thread only, not on another one that has the main
                                  * role */
    REQ_GATED = 512,             /* a command that may be disabled (CMD_PROTECTED): its gate is always checked */
    REQ_LARGE = 1024,            /* memory for what is made of its arguments has to be reserved (command_memory.h) */
    REQ_SCATTERED = 2048,        /* some arguments have an allocation of their own: the request is not contiguous */
    REQ_ELEMENTS = 4096,         /* hashes of elements follow the keys (requestElements()) */
    REQ_QUEUED = 8192,           /* it is queued in a transaction: its value stays with it */
    REQ_EMPTY = 16384,           /* not a command: bytes between a primary's commands, which count in the replication
                                  * offset */
    REQ_SAMPLED = 32768,         /* its cost is to be measured: a requestSample precedes its keys */

    REQ_MALFORMED = REQ_BAD_ARITY | REQ_PROTOCOL_ERROR | REQ_UNKNOWN_COMMAND | REQ_UNKNOWN_SUBCOMMAND,
};

/* A key of a command: argument `index`. */
typedef struct requestKey {
    uint64_t hash;
    uint32_t index;
    uint32_t flags; /* CMD_KEY_ flags of its spec */
} requestKey;

/* An argument of at least this length that did not arrive whole together with its header is a largeArg. Valkey has the
 * same bound. Below it a copy costs no more than the additional reads would. */
#define LARGE_ARG_BYTES (32 * 1024)

/* An argument of a REQ_SCATTERED request. Its bytes were read into an allocation of their own, of exactly the size that
 * a string value of these bytes has (object.h), so that a command can store them without a copy. */
typedef struct largeArg {
    struct largeArg *next; /* next of the same request: a ring in the order of `index` */
    char *bytes;           /* owns: allocated for exactly `capacity` bytes; NULL once a value has taken it */
    size_t len;            /* from the header of the argument */
    size_t capacity, have; /* bytes of the allocation; bytes read so far. Both are len when the request is complete */
    robj *entry;           /* counted: the entry that took the bytes, until the command ends; or NULL */
    uint32_t index;        /* in argv */
} largeArg;

typedef struct parsedCommand {
    struct parsedCommand *next;      /* next of the same block */
    const struct serverCommand *cmd; /* borrowed; NULL if the command is unknown (argv[0] is its name) */
    slice *argv;                     /* borrowed from the block */
    requestKey *keys;                /* borrowed from the block */
    robj *value; /* owns: the entry built in advance for SET-like commands, refcount 1; a handler that uses it sets
                  * NULL */
    union {
        const char *wire; /* borrowed from the block: the bytes of the request, to pass it on (not REQ_INLINE) */
        largeArg *large;  /* REQ_SCATTERED: where requestLargeArg() begins to search; borrowed from the block */
    };
    uint32_t argc;
    uint32_t nkeys;
    uint32_t wire_len; /* length of the request in bytes, saturating */
    int16_t slot;      /* cluster slot of the first key; -1 if none, or no cluster */
    uint16_t flags;    /* REQ_ */
} parsedCommand;
static_assert(sizeof(parsedCommand) <= CACHE_LINE, "a record is one line");

/* Returns the fields or members that the command looks up in the value of its first key, in order: `index` and `hash`
 * of each; `flags` of the first is their number. At most REQ_ELEMENTS_MAX are hashed in advance. Only for a
 * REQ_ELEMENTS request. */
#define REQ_ELEMENTS_MAX 128
static inline requestKey *requestElements(const parsedCommand *p) { return p->keys + p->nkeys; }
static inline uint32_t requestElementCount(const parsedCommand *p) {
    return p->flags & REQ_ELEMENTS ? requestElements(p)->flags : 0;
}

/* Returns the large argument argv[index] of a REQ_SCATTERED request, or NULL if that is not one or was taken. Call in
 * ascending order of index: arguments before the last one are not found any more, and so are copied. */
static inline largeArg *requestLargeArg(parsedCommand *p, uint32_t index) {
    largeArg *a = p->large;
    while (a->index < index && a->next->index > a->index) a = a->next;
    p->large = a;
    return a->index == index && a->bytes ? a : NULL;
}

/* The cost of a command that was sampled (engine/observe/hot_keys.h). It is stored before the command's keys. Main
 * stores into it; the owner thread counts it when it has the block again. */
typedef struct requestSample {
    struct requestSample *next; /* next of the same block */
    const parsedCommand *req;   /* borrowed: the record that it belongs to */
    uint64_t ns;                /* time that the command took, or REQUEST_NOT_RUN */
    uint64_t reply_bytes;
    uint32_t session; /* number of the collection (hot_keys.c) for which it was sampled */
    bool detached;    /* the record is not part of a block: only main sees it */
} requestSample;
#define REQUEST_NOT_RUN UINT64_MAX

/* Returns the sample of a REQ_SAMPLED request. */
static inline requestSample *requestSampleOf(const parsedCommand *p) { return (requestSample *)(void *)p->keys - 1; }

#endif
