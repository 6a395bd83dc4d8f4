/* command_table.h -- the table of commands: names, arity, flags, key positions, handlers.
 *
 * Layers above register their commands at startup. After that the table is read-only, so that I/O threads look
 * commands up without locks. Counters, which change at run time, are on cache lines of their own.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_COMMAND_TABLE_H
#define ENGINE_COMMAND_TABLE_H

#include "client.h"

/* Command flags, in the order and by the names of COMMAND INFO, which does not show those marked (hidden). */
#define CMD_WRITE (1u << 0)              /* write */
#define CMD_READONLY (1u << 1)           /* readonly */
#define CMD_DENYOOM (1u << 2)            /* denyoom */
#define CMD_ADMIN (1u << 3)              /* admin */
#define CMD_PUBSUB (1u << 4)             /* pubsub */
#define CMD_NOSCRIPT (1u << 5)           /* noscript */
#define CMD_BLOCKING (1u << 6)           /* blocking */
#define CMD_LOADING (1u << 7)            /* loading */
#define CMD_STALE (1u << 8)              /* stale */
#define CMD_SKIP_MONITOR (1u << 9)       /* skip_monitor */
#define CMD_SKIP_COMMANDLOG (1u << 10)   /* skip_commandlog */
#define CMD_ASKING (1u << 11)            /* asking */
#define CMD_FAST (1u << 12)              /* fast */
#define CMD_NO_AUTH (1u << 13)           /* no_auth */
#define CMD_MAY_REPLICATE (1u << 14)     /* (hidden) */
#define CMD_NO_MANDATORY_KEYS (1u << 15) /* no_mandatory_keys */
#define CMD_PROTECTED (1u << 16)         /* (hidden) needs a setting such as enable-debug-command */
#define CMD_NO_ASYNC_LOADING (1u << 17)  /* no_async_loading */
#define CMD_NO_MULTI (1u << 18)          /* no_multi */
#define CMD_MOVABLE_KEYS (1u << 19)      /* movablekeys */
#define CMD_ALLOW_BUSY (1u << 20)        /* allow_busy */
#define CMD_ALL_DBS (1u << 21)           /* (hidden) touches every database, whatever its arguments */
#define CMD_SECRETS (1u << 22)           /* (hidden) scripts may run it, and its arguments may have passwords */
#define CMD_ARBITRARY_KEYS (1u << 23)    /* (hidden) reads keys other than its arguments: each expiry is its own unit */
#define CMD_UNSCRIPTABLE (1u << 24)      /* (hidden) scripts may not run it, even with noscript lifted */
/* Not in Valkey: the thread that reads the command builds the value that it stores. */
#define CMD_BUILDS_VALUE (1u << 28)
/* Not in Valkey: element_arg names the arguments that are looked up in the first key's value. */
#define CMD_ELEMENTS (1u << 30)
/* Not in Valkey: runs on main's own thread only, because it touches that thread's loop, or starts or ends threads. */
#define CMD_MAIN_THREAD (1u << 29)

/* ACL categories, in the order of aclCategoryName(). */
#define ACL_CATEGORY_KEYSPACE (1ull << 0)
#define ACL_CATEGORY_READ (1ull << 1)
#define ACL_CATEGORY_WRITE (1ull << 2)
#define ACL_CATEGORY_SET (1ull << 3)
#define ACL_CATEGORY_SORTEDSET (1ull << 4)
#define ACL_CATEGORY_LIST (1ull << 5)
#define ACL_CATEGORY_HASH (1ull << 6)
#define ACL_CATEGORY_STRING (1ull << 7)
#define ACL_CATEGORY_BITMAP (1ull << 8)
#define ACL_CATEGORY_HYPERLOGLOG (1ull << 9)
#define ACL_CATEGORY_GEO (1ull << 10)
#define ACL_CATEGORY_STREAM (1ull << 11)
#define ACL_CATEGORY_PUBSUB (1ull << 12)
#define ACL_CATEGORY_ADMIN (1ull << 13)
#define ACL_CATEGORY_FAST (1ull << 14)
#define ACL_CATEGORY_SLOW (1ull << 15)
#define ACL_CATEGORY_BLOCKING (1ull << 16)
#define ACL_CATEGORY_DANGEROUS (1ull << 17)
#define ACL_CATEGORY_CONNECTION (1ull << 18)
#define ACL_CATEGORY_TRANSACTION (1ull << 19)
#define ACL_CATEGORY_SCRIPTING (1ull << 20)
#define ACL_CATEGORIES 21

/* Key spec flags, as COMMAND INFO names them. */
#define CMD_KEY_RO (1u << 0)
#define CMD_KEY_RW (1u << 1)
#define CMD_KEY_OW (1u << 2)
#define CMD_KEY_RM (1u << 3)
#define CMD_KEY_ACCESS (1u << 4)
#define CMD_KEY_UPDATE (1u << 5)
#define CMD_KEY_INSERT (1u << 6)
#define CMD_KEY_DELETE (1u << 7)
#define CMD_KEY_NOT_KEY (1u << 8)
#define CMD_KEY_INCOMPLETE (1u << 9)
#define CMD_KEY_VARIABLE_FLAGS (1u << 10)

typedef struct keySpec {
    const char *notes; /* or NULL */
    uint32_t flags;
    enum { KEYS_BEGIN_UNKNOWN, KEYS_BEGIN_INDEX, KEYS_BEGIN_KEYWORD } begin;
    enum { KEYS_FIND_UNKNOWN, KEYS_FIND_RANGE, KEYS_FIND_KEYNUM } find;
    int begin_index;               /* INDEX: position; KEYWORD: start of its search (negative: from the end) */
    const char *begin_keyword;     /* KEYWORD */
    int last_key, key_step, limit; /* RANGE, as COMMAND INFO shows them */
    int keynum_index, first_key, keynum_step; /* KEYNUM */
} keySpec;

typedef void commandHandler(client *c);
/* Handler of the subcommands HELP: replies with the help lines in the documentation of their container. */
commandHandler containerHelpCommand;
/* Finds the keys of a command whose specs are not enough: one begins after a keyword or at an unknown position, or its
 * flags depend on options. The function must read the options as the handler does, because ACL rules are checked for
 * the keys that it returns; a mere search for the keyword would also find a key of that name. Writes up to `cap` keys
 * (index and flags, not the hash) in the order of the arguments. Returns how many there are, or -1 for bad syntax: then
 * the handler must fail before it touches a key. Runs on any thread, and reads nothing but its arguments. */
typedef int commandKeysFn(const struct serverCommand *cmd, const slice *argv, uint32_t argc, requestKey *out, int cap);

/* Returns the flags of a command with these arguments. `flags` are those of the table: a script, for example, declares
 * whether it writes. Main. */
typedef uint32_t commandFlagsFn(uint32_t flags, const slice *argv, uint32_t argc);

typedef struct commandStats { /* main; has cache lines of its own */
    alignas(CACHE_LINE) long long calls;
    uint64_t ns; /* sum in full precision: most calls take less than a microsecond */
    long long rejected_calls, failed_calls;
    struct histogram *latency; /* owns; in ns; created by the first call while latency-tracking is on */
} commandStats;

typedef struct serverCommand {
    /* Hot: read for each request, on any thread. */
    const char *name;     /* lower case; of a subcommand, without the container's name */
    commandHandler *proc; /* NULL for a container without a command of its own */
    int arity;            /* counts the name(s); negative: the minimum */
    uint32_t flags;
    const keySpec *specs;
    int nspecs;
    commandKeysFn *get_keys; /* or NULL; used instead of the specs */
    /* Short form of the specs if one range describes all keys. first_key <= 0: none. last_key < 0: from the end. */
    int first_key, last_key, key_step;
    int value_arg;                     /* of CMD_BUILDS_VALUE: index of the argument
                                        * with the value; first_key is the key */
    int element_arg, element_step;     /* index of the first argument that is looked up in the first key's value (0:
                                        * none); distance to the next, up to the last argument (0: there is only one) */
    struct serverCommand *subcommands; /* array of nsubcommands; when registered
                                        * with nsubcommands 0, a NULL name ends it */
    int nsubcommands;
    const struct serverCommand *parent;
    commandStats *stats; /* owns */
    /* Rarely used. */
    const char *fullname;    /* "config|get" */
    uint64_t acl_categories; /* bits in the order of aclCategoryName() */
    const char *const *tips; /* NULL-terminated, or NULL */
    const struct commandDocs *docs;
    int id;
    commandFlagsFn *flags_of; /* or NULL */
} serverCommand;

/* Returns the CMD_ flags of a command with these arguments. */
static inline uint32_t commandFlags(const serverCommand *cmd, const slice *argv, uint32_t argc) {
    return unlikely(cmd->flags_of != NULL) ? cmd->flags_of(cmd->flags, argv, argc) : cmd->flags;
}

/* Documentation of an argument, and of a command, as COMMAND DOCS shows it. */
typedef struct commandArgDoc {
    const char *name, *type, *token, *display, *summary, *since, *deprecated_since;
    uint32_t flags;     /* CMD_ARG_ */
    int key_spec_index; /* -1: none */
    const struct commandArgDoc *sub;
    int nsub;
} commandArgDoc;
#define CMD_ARG_OPTIONAL 1u
#define CMD_ARG_MULTIPLE 2u
#define CMD_ARG_MULTIPLE_TOKEN 4u
typedef struct commandDocs {
    const char *summary, *since, *group, *complexity, *deprecated_since, *replaced_by, *module;
    uint32_t doc_flags;         /* CMD_DOC_DEPRECATED, CMD_DOC_SYSCMD */
    const char *const *history; /* pairs of version and text; NULL-terminated */
    const commandArgDoc *args;
    int nargs;
    const char *const *help; /* of a container: the lines of its HELP, NULL-terminated; or NULL */
} commandDocs;
#define CMD_DOC_DEPRECATED 1u
#define CMD_DOC_SYSCMD 2u

/* Adds `count` commands with their subcommands. The array is borrowed forever and completed in place (parent, full
 * name, short form of the key specs, stats, ids). The table is ordered by group and name, whatever the order of
 * registration. Panics if a name is registered already. Call at startup, before any rename. */
void commandTableRegister(serverCommand *commands, size_t count);
/* Sets CMD_MAIN_THREAD for a command with its subcommands, or for one subcommand. Call at startup. */
void commandSetMainThread(const char *fullname);
/* Sets the function that derives the command's flags from its arguments. Call at startup. */
void commandSetFlagsOf(const char *fullname, commandFlagsFn *fn);
/* Renames a command for clients (rename-command of the configuration file); `to` "" removes it. `name` and `fullname`
 * stay. Returns false if there is no such command or the new name is in use. Call at startup. */
bool commandTableRename(const char *from, const char *to);
/* Ends registration. Panics if a command that is no container has no handler. Call at startup. */
void commandTableSeal(void);

/* Four lookups, case-insensitive and on any thread. They return NULL if there is no such command.
 *
 *   to look up                              by clients' names (rename-command)   by the names of the table
 *   the words of a request                  commandLookup()                      commandLookupByOwnName()
 *   one name, "get" or "config|get"         commandLookupByName()                commandNamed(), "get" only
 *
 * Clients and settings use the first column. The second is for text that the server has written itself (files, ACL
 * rules) and for handlers that compare c->cmd with a certain command, which they look up at startup. It is O(commands).
 *
 * The words of a request with a container and argc > 1 give the subcommand; if there is no such subcommand, they give
 * the container and set *bad_sub. */
serverCommand *commandLookup(const slice *argv, uint32_t argc, bool *bad_sub);
serverCommand *commandLookupByOwnName(const slice *argv, uint32_t argc, bool *bad_sub);
serverCommand *commandLookupByName(slice fullname);
const serverCommand *commandNamed(const char *name);
/* Returns whether the command takes `argc` arguments, its name included. */
bool commandArityOk(const serverCommand *cmd, uint32_t argc);
/* Extracts the keys of a request whose arity is right; the results are those of commandKeysFn, -1 for bad syntax
 * included. Leaves out arguments that a spec marks NOT_KEY (shard channels). Any thread. */
int commandExtractKeys(const serverCommand *cmd, const slice *argv, uint32_t argc, requestKey *out, int cap);
/* Returns the number of commands, without subcommands. */
size_t commandCount(void);
/* Returns one more than the largest id of all registered commands and subcommands. */
int commandIdCount(void);
/* Calls `fn` for each command (not subcommand) in the order of the table. */
void commandEach(void (*fn)(void *arg, serverCommand *cmd), void *arg);
/* Does the same for all registered commands, also for those that rename-command has renamed or removed. */
void commandEachRegistered(void (*fn)(void *arg, const serverCommand *cmd), void *arg);
/* Return the name of a CMD_ flag (NULL also if COMMAND INFO does not show it), of a CMD_KEY_ flag, of a category
 * ("keyspace"); NULL past the last bit. */
const char *commandFlagName(int bit);
const char *commandKeyFlagName(int bit);
const char *aclCategoryName(int bit);
/* Returns the bit of a category; 0 if the name is unknown. */
uint64_t aclCategoryByName(slice name);
/* Resets the counters and histograms of all commands (CONFIG RESETSTAT). */
void commandStatsResetAll(void);

#endif
