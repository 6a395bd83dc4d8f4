/* request.h -- a parsed command as it travels from the thread that read it to main.
 *
 * A requestBlock holds the bytes of one or more whole requests and, in the same allocation or in
 * chunks it owns, the records that were made of them. The thread that holds the connection fills it and hands it to
 * main by one ring message; main executes its commands and hands it back to be reused. Arguments point into the
 * block, so nothing is copied on the way; who keeps an argument beyond the command copies it, or takes it where it has
 * an allocation of its own.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLIENT_REQUEST_H
#define CLIENT_REQUEST_H

#include "db.h"
#include "slice.h"

struct serverCommand;

enum {
    REQ_BAD_ARITY = 1,           /* wrong number of arguments: no keys were extracted */
    REQ_PREFETCHED = 2,          /* a batch has fetched its keys already */
    REQ_PROTOCOL_ERROR = 4,      /* not a command: argv[0] is the error text; reply and close */
    REQ_KEYS_INVALID = 8,        /* keys could not be extracted (bad syntax): the handler will say so */
    REQ_UNKNOWN_COMMAND = 16,    /* cmd is NULL, argv[0] names it */
    REQ_UNKNOWN_SUBCOMMAND = 32, /* cmd is the container */
    REQ_CROSS_SLOT = 64,         /* cluster mode: its keys are in more than one slot */
    REQ_INLINE = 128,            /* it came as an inline command: its wire form is not RESP, and was changed in place */
    REQ_MAIN_THREAD = 256,       /* its handler works on main's own thread only, not on one that acts as main */
    REQ_GATED = 512,             /* a command that may be switched off (CMD_PROTECTED): that stage is asked always */
    REQ_LARGE = 1024,            /* what is made of its arguments must not be taken for granted (command_memory.h) */
    REQ_SCATTERED = 2048,        /* some arguments lie in allocations of their own: there is no wire form */
    REQ_ELEMENTS = 4096,         /* hashes of elements stand behind the keys (requestElements()) */
    REQ_QUEUED = 8192,           /* it waits in a transaction: its value stays with it */
    REQ_EMPTY = 16384,           /* not a command: bytes between those of a primary, which count in its stream */
    REQ_SAMPLED = 32768,         /* what it costs is wanted: a requestSample stands in front of its keys */

    REQ_MALFORMED = REQ_BAD_ARITY | REQ_PROTOCOL_ERROR | REQ_UNKNOWN_COMMAND | REQ_UNKNOWN_SUBCOMMAND,
};

/* Key `i` of a command is argv[key_args[i].index]. */
typedef struct requestKey {
    uint64_t hash;
    uint32_t index;
    uint32_t flags; /* CMD_KEY_ flags of its spec */
} requestKey;

/* An argument from this length on that has not come whole with its header is a largeArg. The field's servers have the
 * same bound. Below it the copies cost no more than the reads that another way would take. */
#define LARGE_ARG_BYTES (32 * 1024)

/* An argument of a REQ_SCATTERED request: its bytes came into an allocation of their own, which is just what a string
 * value of them has (object.h), so that a command stores them by taking it. */
typedef struct largeArg {
    struct largeArg *next; /* of the same request: a ring in the order of `index` */
    char *bytes;           /* owns; asked for with exactly `room` bytes; NULL once a value has taken it */
    size_t len;            /* as announced */
    size_t room, have;     /* of the allocation; come so far. When the request is whole both are len */
    robj *entry;           /* counted: what has taken the bytes while the command ran, until it ends; or NULL */
    uint32_t index;        /* in argv */
} largeArg;

typedef struct parsedCommand {
    struct parsedCommand *next;      /* of the same block */
    const struct serverCommand *cmd; /* borrowed; NULL: unknown command (argv[0] names it) */
    slice *argv;                     /* borrowed from the block */
    requestKey *keys;                /* borrowed from the block */
    robj *value; /* owned: the entry built ahead for SET-like commands, refcount 1; a handler that uses it sets NULL */
    union {
        const char *wire; /* borrowed from the block: the request as it came, for who passes it on (not REQ_INLINE) */
        largeArg *large;  /* REQ_SCATTERED: where requestLargeArg() looks next; borrowed from the block */
    };
    uint32_t argc;
    uint32_t nkeys;
    uint32_t wire_len; /* bytes of the request as it came, saturating */
    int16_t slot;      /* cluster slot of the first key; -1: none, or no cluster */
    uint16_t flags;    /* REQ_ */
} parsedCommand;
static_assert(sizeof(parsedCommand) <= CACHE_LINE, "a record is one line");

/* Fields or members that the command looks up in its first key's value, in order: `index` and `hash` of each, `flags`
 * of the first tells how many. At most REQ_ELEMENTS_MAX are hashed ahead. Only of a REQ_ELEMENTS request. */
#define REQ_ELEMENTS_MAX 128
static inline requestKey *requestElements(const parsedCommand *p) {
    return p->keys + p->nkeys;
}
static inline uint32_t requestElementCount(const parsedCommand *p) {
    return p->flags & REQ_ELEMENTS ? requestElements(p)->flags : 0;
}

/* The large argument that is argv[index] of a REQ_SCATTERED request and can be taken, or NULL. Ask in ascending order:
 * what lies before the last one asked for is not found any more, and so is copied. */
static inline largeArg *requestLargeArg(parsedCommand *p, uint32_t index) {
    largeArg *a = p->large;
    while (a->index < index && a->next->index > a->index) a = a->next;
    p->large = a;
    return a->index == index && a->bytes ? a : NULL;
}

/* What a command has cost that was picked for that (engine/observe/hot_keys.h). Main only stores here, beside the keys
 * it has looked at; the thread that holds the connection counts when it has the block again. */
typedef struct requestSample {
    struct requestSample *next; /* of the same block */
    const parsedCommand *req;   /* borrowed: the record it stands in */
    uint64_t ns;                /* REQUEST_NOT_RUN, or the time it took */
    uint64_t reply_bytes;
    uint32_t session; /* of hot_keys.c, in which it was picked */
    bool detached;    /* the record stands alone: nobody but main will see it */
} requestSample;
#define REQUEST_NOT_RUN UINT64_MAX

/* Of a REQ_SAMPLED request. */
static inline requestSample *requestSampleOf(const parsedCommand *p) {
    return (requestSample *)(void *)p->keys - 1;
}

#endif
