/* command_table.c -- finds a command by name, and the keys among its arguments.
 *
 * The thread that reads a request does both once for each, so both are fast: a name is packed into three lower-cased
 * words, which are hashed and compared as words; most commands have one range of keys, which three integers of the
 * command describe.
 *
 *   slot (32 bytes, two to a cache line, open addressing, at most a quarter full):
 *   +--------+--------+----------------+---------+
 *   | word 0 | word 1 | word 2 | len<<56 | command |     names of up to 23 bytes, zero-filled
 *   +--------+--------+----------------+---------+
 *   Subcommands are in the same table; their container's id is part of the hash, and the container is compared.
 *   Names too long to pack (only rename-command makes them) are found by a walk over all entries.
 *
 * Not here    the commands themselves (commands/table); running one (call.c).
 * Owns        the slots, the list of entries, full names and stats of registered commands.
 * Threads     main writes at startup; after commandTableSeal() nothing changes but stats, which main alone touches.
 * Invariants  1. The name that clients use for an entry is unique, whatever its case.
 *             2. The table is never more than a quarter full, so that every probe ends at an empty slot.
 *             3. A command's full name never changes; rename-command changes what clients call it by.
 * Cost        a lookup of a known name: one or two slots. Extraction: O(keys).
 * Tests       tests/unit/engine/table/command_table_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "command_table.h"

#include "endian.h"
#include "histogram.h"
#include "numbers.h"
#include "panic.h"
#include "reply.h"
#include "zmalloc.h"

#include <stdio.h>
#include <stdlib.h>

#define PACKED_MAX 23

typedef struct packedName {
    uint64_t word[3];
} packedName;

typedef struct tableSlot {
    packedName name;
    serverCommand *cmd; /* borrowed; NULL: empty */
} tableSlot;
static_assert(sizeof(tableSlot) * 2 == CACHE_LINE, "a probe and the next share a line");

typedef struct tableEntry {
    char *called; /* owns; the name that clients use */
    serverCommand *cmd;
} tableEntry;

static struct {
    tableSlot *slots;
    uint64_t mask;       /* number of slots - 1 */
    tableEntry *entries; /* top-level commands in order of group and name, without those that were removed */
    size_t count;
    serverCommand **all; /* all that were registered */
    size_t all_count;
    size_t names; /* number of names, with those of subcommands */
    bool has_long_names;
    bool sealed;
    int next_id;
} command_table;

/* ---- Names ------------------------------------------------------------------------------------------------------ */

/* Loads the first n (0 to 8) bytes as a zero-filled word. */
static uint64_t loadWord(const char *p, size_t n) {
    if (n >= 8) return loadLe64(p);
    if (n >= 4) return loadLe32(p) | (uint64_t)loadLe32(p + n - 4) << ((n - 4) * 8);
    uint64_t word = 0;
    for (size_t i = 0; i < n; i++) word |= (uint64_t)(unsigned char)p[i] << (i * 8);
    return word;
}

/* Changes A-Z to a-z in each of eight bytes. Bit 7 of a byte of `above` means byte > 'Z', of `from` byte >= 'A', for
 * ASCII bytes. */
static uint64_t lowerWord(uint64_t word) {
    const uint64_t ones = 0x0101010101010101ull;
    uint64_t low = word & (0x7f * ones);
    uint64_t above = low + (0x7f - 'Z') * ones;
    uint64_t from = low + (0x80 - 'A') * ones;
    uint64_t upper = (from ^ above) & ~word & (0x80 * ones);
    return word | upper >> 2;
}

/* Returns false if the name is too long or empty. */
static bool packName(slice name, packedName *out) {
    if (name.len - 1 >= PACKED_MAX) return false;
    size_t n = name.len;
    out->word[0] = lowerWord(loadWord(name.ptr, n));
    out->word[1] = n > 8 ? lowerWord(loadWord(name.ptr + 8, n - 8)) : 0;
    out->word[2] = (n > 16 ? lowerWord(loadWord(name.ptr + 16, n - 16)) : 0) | (uint64_t)n << 56;
    return true;
}

static uint64_t slotOf(const packedName *name, const serverCommand *parent) {
    uint64_t h = name->word[0] * 0x9e3779b97f4a7c15ull ^ name->word[1] * 0xc2b2ae3d27d4eb4full ^
                 name->word[2] * 0x165667b19e3779f9ull;
    if (parent) h += ((uint64_t)parent->id + 1) * 0xd6e8feb86659fd93ull;
    h ^= h >> 32;
    h *= 0xff51afd7ed558ccdull;
    return h >> 40 & command_table.mask;
}

static serverCommand *findPacked(const packedName *name, const serverCommand *parent) {
    for (uint64_t i = slotOf(name, parent);; i = (i + 1) & command_table.mask) {
        const tableSlot *slot = &command_table.slots[i];
        if (!slot->cmd) return NULL;
        if (slot->name.word[0] == name->word[0] && slot->name.word[1] == name->word[1] &&
            slot->name.word[2] == name->word[2] && slot->cmd->parent == parent) {
            return slot->cmd;
        }
    }
}

static serverCommand *findLong(slice name) {
    for (size_t i = 0; i < command_table.count; i++) {
        if (sliceIs(name, command_table.entries[i].called)) return command_table.entries[i].cmd;
    }
    return NULL;
}

static serverCommand *findTop(slice name) {
    packedName packed;
    if (unlikely(!command_table.slots)) return NULL;
    if (likely(packName(name, &packed))) return findPacked(&packed, NULL);
    return unlikely(command_table.has_long_names) ? findLong(name) : NULL;
}

static serverCommand *findSub(const serverCommand *container, slice name) {
    packedName packed;
    return packName(name, &packed) ? findPacked(&packed, container) : NULL;
}

serverCommand *commandLookup(const slice *argv, uint32_t argc, bool *bad_sub) {
    *bad_sub = false;
    if (argc == 0) return NULL;
    serverCommand *cmd = findTop(argv[0]);
    if (!cmd || cmd->nsubcommands == 0 || argc == 1) return cmd;
    serverCommand *sub = findSub(cmd, argv[1]);
    if (sub) return sub;
    *bad_sub = true;
    return cmd;
}

serverCommand *commandLookupByName(slice fullname) {
    const char *bar = fullname.len ? memchr(fullname.ptr, '|', fullname.len) : NULL;
    if (!bar) return findTop(fullname);
    size_t top_len = (size_t)(bar - fullname.ptr);
    const serverCommand *container = findTop(sliceOf(fullname.ptr, top_len));
    if (!container || container->nsubcommands == 0) return NULL;
    return findSub(container, sliceOf(bar + 1, fullname.len - top_len - 1));
}

static serverCommand *findOwnName(slice name) {
    for (size_t i = 0; i < command_table.all_count; i++)
        if (sliceIs(name, command_table.all[i]->name)) return command_table.all[i];
    return NULL;
}

/* Compares names one by one, as subcommands of a removed command have no slots. */
serverCommand *commandLookupByOwnName(const slice *argv, uint32_t argc, bool *bad_sub) {
    *bad_sub = false;
    serverCommand *cmd = argc ? findOwnName(argv[0]) : NULL;
    if (!cmd || cmd->nsubcommands == 0 || argc == 1) return cmd;
    for (int i = 0; i < cmd->nsubcommands; i++)
        if (sliceIs(argv[1], cmd->subcommands[i].name)) return &cmd->subcommands[i];
    *bad_sub = true;
    return cmd;
}

const serverCommand *commandNamed(const char *name) { return findOwnName(sliceStr(name)); }

/* ---- Startup ---------------------------------------------------------------------------------------------------- */

static void addSlot(slice name, serverCommand *cmd) {
    packedName packed;
    if (!packName(name, &packed)) {
        serverAssert(!cmd->parent);
        command_table.has_long_names = true;
        return;
    }
    if (findPacked(&packed, cmd->parent)) serverPanic("Command '%s' is registered twice", cmd->fullname);
    uint64_t i = slotOf(&packed, cmd->parent);
    while (command_table.slots[i].cmd) i = (i + 1) & command_table.mask;
    command_table.slots[i] = (tableSlot){packed, cmd};
}

/* Builds the slots again from the entries. */
static void rebuildSlots(void) {
    size_t slots = 64;
    while (slots < command_table.names * 4) slots *= 2;
    zfree(command_table.slots);
    command_table.slots = zmallocAligned(CACHE_LINE, slots * sizeof(tableSlot));
    memset(command_table.slots, 0, slots * sizeof(tableSlot));
    command_table.mask = slots - 1;
    command_table.has_long_names = false;
    for (size_t i = 0; i < command_table.count; i++) {
        serverCommand *cmd = command_table.entries[i].cmd;
        addSlot(sliceStr(command_table.entries[i].called), cmd);
        for (int s = 0; s < cmd->nsubcommands; s++) addSlot(sliceStr(cmd->subcommands[s].name), &cmd->subcommands[s]);
    }
}

static const char *makeFullname(const serverCommand *cmd) {
    if (!cmd->parent) return cmd->name;
    size_t size = strlen(cmd->parent->fullname) + strlen(cmd->name) + 2;
    char *fullname = zmalloc(size);
    snprintf(fullname, size, "%s|%s", cmd->parent->fullname, cmd->name);
    return fullname;
}

/* Returns whether the keys of spec `s` are a run of arguments with a first, a last and a step. */
static bool specIsPlainRange(const keySpec *s) {
    return s->begin == KEYS_BEGIN_INDEX && s->find == KEYS_FIND_RANGE && s->limit <= 1 &&
           !(s->flags & (CMD_KEY_NOT_KEY | CMD_KEY_INCOMPLETE));
}

static void completeKeys(serverCommand *cmd) {
    for (int i = 0; i < cmd->nspecs; i++) {
        const keySpec *s = &cmd->specs[i];
        serverAssert(s->find != KEYS_FIND_RANGE || s->key_step >= 1);
        serverAssert(s->find != KEYS_FIND_KEYNUM || s->keynum_step >= 1);
        bool spec_suffices = s->begin == KEYS_BEGIN_INDEX && (s->find != KEYS_FIND_RANGE || s->limit <= 1);
        serverAssert(spec_suffices || s->flags & CMD_KEY_NOT_KEY || cmd->get_keys);
    }
    cmd->first_key = 0;
    if (cmd->nspecs == 1 && specIsPlainRange(cmd->specs)) {
        const keySpec *s = cmd->specs;
        cmd->first_key = s->begin_index;
        cmd->last_key = s->last_key >= 0 ? s->begin_index + s->last_key : s->last_key;
        cmd->key_step = s->key_step;
    }
    bool builds = cmd->flags & CMD_BUILDS_VALUE;
    serverAssert(builds == (cmd->value_arg > 0));
    serverAssert(!builds || cmd->first_key > 0);
}

/* Fills in the fields that the row leaves open. A container is completed before its subcommands, which need its full
 * name. */
static void completeCommand(serverCommand *cmd, const serverCommand *parent) {
    if (cmd->element_arg) cmd->flags |= CMD_ELEMENTS;
    serverAssert(cmd->name && cmd->arity != 0);
    cmd->parent = parent;
    cmd->id = command_table.next_id++;
    if (!cmd->fullname) cmd->fullname = makeFullname(cmd);
    if (!cmd->stats) {
        cmd->stats = zmallocAligned(CACHE_LINE, sizeof(commandStats));
        memset(cmd->stats, 0, sizeof(commandStats));
    }
    completeKeys(cmd);
    command_table.names++;
    if (cmd->subcommands && cmd->nsubcommands == 0) {
        while (cmd->subcommands[cmd->nsubcommands].name) cmd->nsubcommands++;
    }
    for (int i = 0; i < cmd->nsubcommands; i++) completeCommand(&cmd->subcommands[i], cmd);
}

static const char *fullnameOf(const serverCommand *cmd) { return cmd->fullname; }

/* Order of the table: by group, then by name, whichever layer has registered the commands. */
static int compareEntries(const void *a, const void *b) {
    const serverCommand *x = ((const tableEntry *)a)->cmd, *y = ((const tableEntry *)b)->cmd;
    int order = strcmp(x->docs ? x->docs->group : "", y->docs ? y->docs->group : "");
    return order ? order : strcmp(x->name, y->name);
}

void commandTableRegister(serverCommand *commands, size_t count) {
    serverAssert(!command_table.sealed);
    clientSetCommandNamer(fullnameOf);
    command_table.entries = zrealloc(command_table.entries, (command_table.count + count) * sizeof(tableEntry));
    command_table.all = zrealloc(command_table.all, (command_table.all_count + count) * sizeof(serverCommand *));
    for (size_t i = 0; i < count; i++) {
        completeCommand(&commands[i], NULL);
        command_table.all[command_table.all_count++] = &commands[i];
        command_table.entries[command_table.count++] = (tableEntry){zstrdup(commands[i].name), &commands[i]};
    }
    qsort(command_table.entries, command_table.count, sizeof(tableEntry), compareEntries);
    rebuildSlots();
}

static serverCommand *registered(const char *fullname) {
    serverCommand *cmd = commandLookupByName(sliceStr(fullname));
    if (!cmd) serverPanic("Command '%s' is not registered", fullname);
    return cmd;
}

void commandSetMainThread(const char *fullname) {
    serverAssert(!command_table.sealed);
    serverCommand *cmd = registered(fullname);
    cmd->flags |= CMD_MAIN_THREAD;
    for (serverCommand *sub = cmd->subcommands; sub && sub->name; sub++) sub->flags |= CMD_MAIN_THREAD;
}

void commandSetFlagsOf(const char *fullname, commandFlagsFn *fn) { registered(fullname)->flags_of = fn; }

bool commandTableRename(const char *from, const char *to) {
    serverAssert(!command_table.sealed);
    serverCommand *cmd = findTop(sliceStr(from));
    if (!cmd) return false;
    tableEntry *e = command_table.entries;
    while (e->cmd != cmd) e++;
    if (*to && findTop(sliceStr(to))) return false;
    zfree(e->called);
    if (*to) e->called = zstrdup(to);
    else memmove(e, e + 1, (size_t)(command_table.entries + --command_table.count - e) * sizeof(tableEntry));
    rebuildSlots();
    return true;
}

static void checkHandler(const serverCommand *cmd) {
    if (!cmd->proc && cmd->nsubcommands == 0) serverPanic("Command '%s' has no handler", cmd->fullname);
    for (int i = 0; i < cmd->nsubcommands; i++) checkHandler(&cmd->subcommands[i]);
}

void commandTableSeal(void) {
    for (size_t i = 0; i < command_table.count; i++) checkHandler(command_table.entries[i].cmd);
    command_table.sealed = true;
}

/* ---- Keys ------------------------------------------------------------------------------------------------------- */

typedef struct keyList {
    requestKey *keys; /* borrowed */
    int cap;
    int count;
} keyList;

static bool addRange(keyList *list, long long first, long long last, int step, uint32_t argc, uint32_t flags) {
    if (first < 1 || last < first || last >= (long long)argc) return false;
    for (long long i = first; i <= last; i += step, list->count++) {
        if (list->count >= list->cap) continue;
        list->keys[list->count].index = (uint32_t)i;
        list->keys[list->count].flags = flags;
    }
    return true;
}

static bool addSpec(keyList *list, const serverCommand *cmd, const keySpec *s, const slice *argv, uint32_t argc) {
    if (s->flags & CMD_KEY_NOT_KEY) return true;
    long long begin = s->begin_index;
    if (s->find == KEYS_FIND_RANGE) {
        /* The keys may be all arguments from `begin` on, and there are none: PFMERGE key. */
        if (s->last_key < 0 && begin == (long long)argc) return true;
        long long last = s->last_key >= 0 ? begin + s->last_key : (long long)argc + s->last_key;
        return addRange(list, begin, last, s->key_step, argc, s->flags);
    }
    if (s->find == KEYS_FIND_KEYNUM) {
        long long at = begin + s->keynum_index, count;
        if (at >= (long long)argc || !string2ll(argv[at].ptr, argv[at].len, &count)) return false;
        if (count == 0) return cmd->flags & CMD_NO_MANDATORY_KEYS;
        if (count < 0 || count >= (long long)argc) return false;
        long long first = begin + s->first_key;
        return addRange(list, first, first + (count - 1) * s->keynum_step, s->keynum_step, argc, s->flags);
    }
    return false;
}

int commandExtractKeys(const serverCommand *cmd, const slice *argv, uint32_t argc, requestKey *out, int cap) {
    if (cmd->get_keys) return cmd->get_keys(cmd, argv, argc, out, cap);
    keyList list = {out, cap, 0};
    if (likely(cmd->first_key > 0)) {
        long long last = cmd->last_key >= 0 ? cmd->last_key : (long long)argc + cmd->last_key;
        return addRange(&list, cmd->first_key, last, cmd->key_step, argc, cmd->specs->flags) ? list.count : -1;
    }
    for (int i = 0; i < cmd->nspecs; i++) {
        if (!addSpec(&list, cmd, &cmd->specs[i], argv, argc)) return -1;
    }
    return list.count;
}

bool commandArityOk(const serverCommand *cmd, uint32_t argc) {
    return cmd->arity > 0 ? argc == (uint32_t)cmd->arity : argc >= (uint32_t)-cmd->arity;
}

/* ---- Views ------------------------------------------------------------------------------------------------------ */

size_t commandCount(void) { return command_table.count; }

int commandIdCount(void) { return command_table.next_id; }

void commandEach(void (*fn)(void *arg, serverCommand *cmd), void *arg) {
    for (size_t i = 0; i < command_table.count; i++) fn(arg, command_table.entries[i].cmd);
}

void commandEachRegistered(void (*fn)(void *arg, const serverCommand *cmd), void *arg) {
    for (size_t i = 0; i < command_table.all_count; i++) fn(arg, command_table.all[i]);
}

/* In the order of the bits; NULL if the flag is not shown. */
/* clang-format off */
static const char *const flag_names[] = {
    "write", "readonly", "denyoom", "admin", "pubsub", "noscript", "blocking", "loading", "stale", "skip_monitor",
    "skip_commandlog", "asking", "fast", "no_auth", NULL, "no_mandatory_keys", NULL, "no_async_loading", "no_multi",
    "movablekeys", "allow_busy", NULL, NULL};
/* clang-format on */
static_assert(1u << (array_len(flag_names) - 1) == CMD_SECRETS, "a name for each flag");

static const char *const key_flag_names[] = {"RO",     "RW",     "OW",      "RM",         "access",        "update",
                                             "insert", "delete", "not_key", "incomplete", "variable_flags"};
static_assert(1u << (array_len(key_flag_names) - 1) == CMD_KEY_VARIABLE_FLAGS, "a name for each flag");

static const char *const category_names[] = {
    "keyspace", "read",   "write",       "set",       "sortedset",  "list",        "hash",
    "string",   "bitmap", "hyperloglog", "geo",       "stream",     "pubsub",      "admin",
    "fast",     "slow",   "blocking",    "dangerous", "connection", "transaction", "scripting"};
static_assert(array_len(category_names) == ACL_CATEGORIES, "a name for each category");
static_assert(1ull << (ACL_CATEGORIES - 1) == ACL_CATEGORY_SCRIPTING, "and a bit for each name");

const char *commandFlagName(int bit) {
    return bit >= 0 && (size_t)bit < array_len(flag_names) ? flag_names[bit] : NULL;
}

const char *commandKeyFlagName(int bit) {
    return bit >= 0 && (size_t)bit < array_len(key_flag_names) ? key_flag_names[bit] : NULL;
}

const char *aclCategoryName(int bit) {
    return bit >= 0 && (size_t)bit < array_len(category_names) ? category_names[bit] : NULL;
}

uint64_t aclCategoryByName(slice name) {
    for (size_t i = 0; i < array_len(category_names); i++) {
        if (sliceIs(name, category_names[i])) return 1ull << i;
    }
    return 0;
}

void containerHelpCommand(client *c) {
    assertMainRole();
    addReplyHelp(c, c->cmd->parent->docs->help);
}

static void resetStats(void *arg, serverCommand *cmd) {
    histogramFree(cmd->stats->latency);
    *cmd->stats = (commandStats){.calls = 0};
    for (int i = 0; i < cmd->nsubcommands; i++) resetStats(arg, &cmd->subcommands[i]);
}

void commandStatsResetAll(void) { commandEach(resetStats, NULL); }
