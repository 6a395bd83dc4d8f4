/* request.h -- a parsed command as it travels from the thread that read it to main.
 *
 * A requestBlock holds the bytes of one or more whole requests and, in the same allocation or in
 * chunks it owns, the records that were made of them. The thread that holds the connection fills it and hands it to
 * main by one ring message; main executes its commands and hands it back to be reused. Arguments point into the
 * block, so nothing is copied on the way; who keeps an argument beyond the command copies it.
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

    REQ_MALFORMED = REQ_BAD_ARITY | REQ_PROTOCOL_ERROR | REQ_UNKNOWN_COMMAND | REQ_UNKNOWN_SUBCOMMAND,
};

/* Key `i` of a command is argv[key_args[i].index]. */
typedef struct requestKey {
    uint64_t hash;
    uint32_t index;
    uint32_t flags; /* CMD_KEY_ flags of its spec */
} requestKey;

typedef struct parsedCommand {
    struct parsedCommand *next;      /* of the same block */
    const struct serverCommand *cmd; /* borrowed; NULL: unknown command (argv[0] names it) */
    slice *argv;                     /* borrowed from the block */
    requestKey *keys;                /* borrowed from the block */
    robj *value; /* owned: the entry built ahead for SET-like commands, refcount 1; a handler that uses it sets NULL */
    const char *wire; /* borrowed from the block: the request as it came, for who passes it on (not REQ_INLINE) */
    uint32_t argc;
    uint32_t nkeys;
    uint32_t wire_len; /* bytes at `wire`, saturating */
    int16_t slot;      /* cluster slot of the first key; -1: none, or no cluster */
    uint16_t flags;    /* REQ_ */
} parsedCommand;
static_assert(sizeof(parsedCommand) <= CACHE_LINE, "a record is one line");

#endif
