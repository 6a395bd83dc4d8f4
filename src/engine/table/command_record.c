/* command_record.c -- makes a record (parsedCommand) of arguments: looks up, checks, extracts, hashes, builds.
 *
 * All work of a command that needs nothing but the request is done here, once, on the thread that has read the request:
 * main would do it otherwise.
 *
 *   detached:  | parsedCommand | argv[argc] | (requestSample) | keys[nkeys] | wire form: *n $len arg $len arg ... |
 *   with large arguments:                    ... keys[nkeys] | largeArg, as many as there are | other arguments |
 *
 * Not here    where a request ends (resp/request_reader.c), the blocks that records travel in
 *             (net/thread/request_block.c).
 * Owns        chunks of arenas; detached records.
 * Threads     any; see the header.
 * Invariants  1. A record with REQ_BAD_ARITY, REQ_UNKNOWN_SUBCOMMAND or without a command has neither keys nor value.
 *             2. A detached record's arguments are in its wire form; large ones stay in their own allocations.
 * Cost        no allocation but the value's; detaching is one allocation.
 * Tests       tests/unit/engine/table/command_record_test.c, tests/unit/net/thread/request_block_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "command_record.h"

#include "command_memory.h"
#include "command_table.h"
#include "hash.h"
#include "lazyfree.h"
#include "numbers.h"
#include "panic.h"
#include "resp_format.h"
#include "zmalloc.h"

#define CHUNK_BYTES (32 * 1024)

typedef struct recordChunk {
    struct recordChunk *next;
    size_t size; /* of the allocation */
    alignas(16) char data[];
} recordChunk;

static bool slots_on; /* const after startup */

void recordSetSlots(bool on) { slots_on = on; }

/* --- the arena ------------------------------------------------------------------------------------ */

void recordArenaInit(recordArena *a, void *first, size_t bytes) { *a = (recordArena){.at = first, .left = bytes}; }

void recordArenaFree(recordArena *a) {
    while (unlikely(a->chunks != NULL)) {
        recordChunk *c = a->chunks;
        a->chunks = c->next;
        lazyfreeBlock(c, c->size);
    }
}

size_t recordArenaMemory(const recordArena *a) {
    size_t bytes = 0;
    for (const recordChunk *c = a->chunks; c; c = c->next) bytes += c->size;
    return bytes;
}

/* Makes a chunk with capacity for `size` bytes the current one. The rest of the previous chunk stays unused. */
static void addChunk(recordArena *a, recordChunk *c, size_t size) {
    c->next = a->chunks;
    c->size = sizeof(*c) + size;
    a->chunks = c;
    a->at = c->data;
    a->left = size;
}

bool recordArenaPrepare(recordArena *a, size_t argc) {
    /* Each argument may be a key or an element. Keys that precede elements are copied, hence four more. 48: all parts
     * are rounded up. */
    size_t size = sizeof(parsedCommand) + argc * (sizeof(slice) + sizeof(requestKey)) + 4 * sizeof(requestKey) + 48;
    if (a->left >= size) return true;
    recordChunk *c = ztrymalloc(sizeof(*c) + size);
    if (!c) return false;
    addChunk(a, c, size);
    return true;
}

void *recordArenaAlloc(recordArena *a, size_t bytes) {
    bytes = (bytes + 15) & ~(size_t)15;
    if (unlikely(a->left < bytes)) {
        size_t size = bytes > CHUNK_BYTES ? bytes : CHUNK_BYTES;
        addChunk(a, zmalloc(sizeof(recordChunk) + size), size);
    }
    void *p = a->at;
    debugAssert((uintptr_t)p % 16 == 0 && bytes <= a->left);
    a->at += bytes;
    a->left -= bytes;
    return p;
}

/* --- making -------------------------------------------------------------------------------------- */

/* Allocates a record, its arguments and one key in one piece. */
parsedCommand *recordCreate(recordArena *a, size_t argc) {
    parsedCommand *p = recordArenaAlloc(a, sizeof(*p) + argc * sizeof(slice) + sizeof(requestKey));
    memset(p, 0, sizeof(*p));
    p->slot = -1;
    p->argc = (uint32_t)argc;
    p->argv = (slice *)(void *)(p + 1);
    return p;
}

static requestKey *keysMemory(recordArena *a, parsedCommand *p, size_t n) {
    if (likely(n == 1)) return (requestKey *)(void *)(p->argv + p->argc);
    return recordArenaAlloc(a, n * sizeof(requestKey));
}

/* Extracts the keys of a command with one plain range of keys, as nearly all have. */
static int extractRange(const serverCommand *cmd, parsedCommand *p, recordArena *a) {
    int first = cmd->first_key, last = cmd->last_key, step = cmd->key_step;
    if (last < 0) last += (int)p->argc;
    if (last >= (int)p->argc) last = (int)p->argc - 1;
    if (last < first) return 0;
    int n = last == first ? 1 : (last - first) / step + 1;
    p->keys = keysMemory(a, p, (size_t)n);
    for (int i = 0; i < n; i++) {
        p->keys[i].index = (uint32_t)(first + i * step);
        p->keys[i].flags = cmd->specs[0].flags;
    }
    return n;
}

static int extractGeneral(const serverCommand *cmd, parsedCommand *p, recordArena *a) {
    requestKey few[16];
    int n = commandExtractKeys(cmd, p->argv, p->argc, few, array_len(few));
    if (n <= 0) return n;
    p->keys = keysMemory(a, p, (size_t)n);
    if (n <= (int)array_len(few)) memcpy(p->keys, few, (size_t)n * sizeof(requestKey));
    else n = commandExtractKeys(cmd, p->argv, p->argc, p->keys, n);
    return n;
}

static void noteSlot(parsedCommand *p, int slot) {
    if (p->slot < 0) p->slot = (int16_t)slot;
    else if (slot != p->slot) p->flags |= REQ_CROSS_SLOT;
}

/* Stores the slot of the first key, and sets REQ_CROSS_SLOT if another key has another slot. A command without keys has
 * the slot of what its spec names instead: shard channels, a cursor of CLUSTERSCAN. Not inlined, to keep
 * recordComplete() small. */
static __attribute__((noinline)) void findSlot(const serverCommand *cmd, parsedCommand *p) {
    for (uint32_t i = 0; i < p->nkeys; i++) noteSlot(p, keyHashSlotOf(p->keys[i].hash));
    if (p->nkeys || cmd->nspecs == 0 || !(cmd->specs[0].flags & CMD_KEY_NOT_KEY)) return;
    const keySpec *s = &cmd->specs[0];
    debugAssert(s->begin == KEYS_BEGIN_INDEX && s->find == KEYS_FIND_RANGE);
    int last = s->last_key < 0 ? (int)p->argc + s->last_key : s->begin_index + s->last_key;
    for (int i = s->begin_index; i <= last; i += s->key_step) noteSlot(p, keyHashSlot(p->argv[i].ptr, p->argv[i].len));
}

static void extractKeys(const serverCommand *cmd, parsedCommand *p, recordArena *a) {
    /* A command that builds a value has one key at a fixed position; its get_keys only determines the flags of the key,
     * for ACL. */
    bool plain = cmd->first_key > 0 && (!cmd->get_keys || cmd->flags & CMD_BUILDS_VALUE);
    int n = likely(plain) ? extractRange(cmd, p, a) : extractGeneral(cmd, p, a);
    if (n < 0) {
        p->flags |= REQ_KEYS_INVALID;
        return;
    }
    p->nkeys = (uint32_t)n;
    debugAssert(n == 0 || p->keys[n - 1].index < p->argc);
    if (likely(n == 1)) {
        uint64_t hash = p->keys[0].hash = keyHash(p->argv[p->keys[0].index]);
        if (unlikely(slots_on)) p->slot = (int16_t)keyHashSlotOf(hash);
        return;
    }
    for (int i = 0; i < n; i++) p->keys[i].hash = keyHash(p->argv[p->keys[i].index]);
    if (unlikely(slots_on)) findSlot(cmd, p);
}

/* Hashes the arguments where most calls of the command have fields or members. If options precede these, the wrong
 * arguments are hashed, which does no harm. Copies the keys to memory with capacity for the elements after them. */
static void hashElements(const serverCommand *cmd, parsedCommand *p, recordArena *a) {
    uint32_t first = (uint32_t)cmd->element_arg, step = (uint32_t)cmd->element_step;
    if (p->nkeys == 0 || first >= p->argc) return;
    uint32_t n = step == 0 ? 1 : (p->argc - 1 - first) / step + 1;
    if (n > REQ_ELEMENTS_MAX) n = REQ_ELEMENTS_MAX;
    requestKey *keys = recordArenaAlloc(a, (p->nkeys + n) * sizeof(*keys)), *e = keys + p->nkeys;
    memcpy(keys, p->keys, p->nkeys * sizeof(*keys));
    p->keys = keys;
    for (uint32_t i = 0; i < n; i++) {
        slice name = p->argv[first + i * step];
        e[i] = (requestKey){.hash = hashBytes(name.ptr, name.len), .index = first + i * step};
    }
    e[0].flags = n;
    p->flags |= REQ_ELEMENTS;
}

/* Builds a large value. An argument in an allocation of its own becomes the value without a copy. If there is no
 * memory, there is no value, and the command itself replies with the error. */
static __attribute__((noinline)) size_t buildLarge(parsedCommand *p, uint32_t index, slice key, unsigned owner) {
    largeArg *a = p->flags & REQ_SCATTERED ? requestLargeArg(p, index) : NULL;
    if (!a) {
        p->value = objectTryCreateString(key, p->argv[index], p->argc > 3, owner);
        return p->value ? p->argv[index].len + key.len + sizeof(robj) : 0;
    }
    p->value = objectTryCreateFromExactTake(key, a->bytes, a->len, owner);
    if (!p->value) return 0;
    a->bytes = NULL;
    return key.len + sizeof(robj); /* the bytes of the argument are counted already */
}

static size_t buildValue(const serverCommand *cmd, parsedCommand *p, unsigned owner) {
    slice key = p->argv[cmd->first_key], value = p->argv[cmd->value_arg];
    if (unlikely(key.len + value.len >= LARGE_ARG_BYTES)) return buildLarge(p, (uint32_t)cmd->value_arg, key, owner);
    /* More arguments than key and value may mean an expire: reserve space for it. */
    p->value = objectCreateString(key, value, p->argc > 3, owner);
    return value.len + key.len + sizeof(robj);
}

/* Looks the command up, first in the thread's cache, which compares case-sensitively. */
static const serverCommand *findCommand(recordCache *cache, const parsedCommand *p, bool *unknown_sub) {
    slice name = p->argv[0];
    if (likely(cache->recent && sliceEq(name, sliceOf(cache->name, cache->name_len)))) return cache->recent;
    const serverCommand *cmd = commandLookup(p->argv, p->argc, unknown_sub);
    if (unlikely(!cmd && cache->own_names)) cmd = commandLookupByOwnName(p->argv, p->argc, unknown_sub);
    if (cmd && !cmd->parent && !cmd->subcommands && name.len <= sizeof(cache->name)) {
        cache->recent = cmd;
        cache->name_len = name.len;
        memcpy(cache->name, name.ptr, name.len);
    }
    return cmd;
}

size_t recordComplete(recordArena *a, recordCache *cache, parsedCommand *p, unsigned owner) {
    bool unknown_sub = false;
    if (unlikely(p->wire_len >= COMMAND_MEMORY_LARGE)) p->flags |= REQ_LARGE;
    const serverCommand *cmd = findCommand(cache, p, &unknown_sub);
    p->cmd = cmd;
    if (unlikely(!cmd)) {
        p->flags |= REQ_UNKNOWN_COMMAND;
        return 0;
    }
    if (unlikely(unknown_sub)) {
        p->flags |= REQ_UNKNOWN_SUBCOMMAND;
        return 0;
    }
    if (unlikely(!commandArityOk(cmd, p->argc) || !cmd->proc)) {
        p->flags |= REQ_BAD_ARITY;
        return 0;
    }
    if (cmd->first_key > 0 || cmd->nspecs || cmd->get_keys) extractKeys(cmd, p, a);
    if (unlikely(cmd->flags & (CMD_MAIN_THREAD | CMD_PROTECTED | CMD_ELEMENTS))) {
        if (cmd->flags & CMD_MAIN_THREAD) p->flags |= REQ_MAIN_THREAD;
        if (cmd->flags & CMD_PROTECTED) p->flags |= REQ_GATED;
        if (cmd->flags & CMD_ELEMENTS) hashElements(cmd, p, a);
    }
    return cmd->flags & CMD_BUILDS_VALUE ? buildValue(cmd, p, owner) : 0;
}

/* recordComplete() is inlined here: a second call of it would keep it from being inlined into the parser of
 * connections, which would cost 25 instructions a command. */
__attribute__((flatten)) size_t recordCompleteStored(recordArena *a, recordCache *cache, parsedCommand *p) {
    return recordComplete(a, cache, p, 0);
}

requestSample *recordSample(recordArena *a, parsedCommand *p) {
    debugAssert(!(p->flags & REQ_SAMPLED));
    size_t hashed = p->nkeys + requestElementCount(p);
    requestSample *sample = recordArenaAlloc(a, sizeof(*sample) + hashed * sizeof(requestKey));
    requestKey *keys = (requestKey *)(void *)(sample + 1);
    memcpy(keys, p->keys, hashed * sizeof(*keys));
    *sample = (requestSample){.req = p, .ns = REQUEST_NOT_RUN};
    p->keys = keys;
    p->flags |= REQ_SAMPLED;
    return sample;
}

/* --- detached records ------------------------------------------------------------------------------- */

static size_t headSize(const parsedCommand *p) {
    size_t sample = p->flags & REQ_SAMPLED ? sizeof(requestSample) : 0;
    return sizeof(*p) + p->argc * sizeof(slice) + sample + (p->nkeys + requestElementCount(p)) * sizeof(requestKey);
}

/* Size of "*n\r\n", and for each argument of "$len\r\n", its bytes and "\r\n". */
static size_t wireSize(const parsedCommand *p) {
    size_t n = 3 + sdigits10(p->argc);
    for (uint32_t i = 0; i < p->argc; i++) n += 5 + sdigits10((long long)p->argv[i].len) + p->argv[i].len;
    return n;
}

/* Writes the arguments of `p` to `out` in wire form, and points argv[i] to argument i there. */
static void putWire(char *out, slice *argv, const parsedCommand *p) {
    out += respHeader(out, '*', p->argc);
    for (uint32_t i = 0; i < p->argc; i++) {
        slice arg = p->argv[i];
        out += respBulk(out, arg);
        argv[i] = sliceOf(out - 2 - arg.len, arg.len);
    }
}

/* Copies the parts that precede the arguments' bytes to `d`, and moves the value there. */
static void moveHead(parsedCommand *d, parsedCommand *p) {
    *d = *p;
    d->next = NULL;
    d->argv = (slice *)(void *)(d + 1);
    char *keys = (char *)(d->argv + d->argc);
    if (unlikely(p->flags & REQ_SAMPLED)) {
        requestSample *sample = (requestSample *)(void *)keys;
        *sample =
            (requestSample){.req = d, .ns = REQUEST_NOT_RUN, .session = requestSampleOf(p)->session, .detached = true};
        keys += sizeof(*sample);
    }
    d->keys = (requestKey *)(void *)keys;
    size_t hashed = p->nkeys + requestElementCount(p);
    if (hashed) memcpy(d->keys, p->keys, hashed * sizeof(requestKey));
    d->flags &= (uint16_t) ~(REQ_INLINE | REQ_PREFETCHED);
    p->value = NULL;
}

/* Returns the large argument after `a` in the ring that begins at p->large; NULL after the last one. */
static largeArg *nextLarge(const parsedCommand *p, const largeArg *a) { return a->next == p->large ? NULL : a->next; }

/* Moves the ring of large arguments into an array at `to`, in order. Returns the address after its last element. */
static largeArg *moveLarge(largeArg *to, parsedCommand *d, parsedCommand *p, largeArg *last) {
    d->large = to;
    p->large = last->next;
    for (largeArg *a = p->large; a; a = nextLarge(p, a)) {
        *to = *a;
        to->next = a == last ? d->large : to + 1;
        a->bytes = NULL;
        to++;
    }
    return to;
}

/* Detaches a record with large arguments: these move, the other arguments are copied one after the other. */
static parsedCommand *detachScattered(parsedCommand *p) {
    largeArg *last = p->large;
    while (last->next->index > last->index) last = last->next;
    size_t bytes = 0, count = 0;
    for (uint32_t i = 0; i < p->argc; i++) bytes += p->argv[i].len;
    for (const largeArg *a = p->large; a; a = nextLarge(p, a)) {
        bytes -= a->len;
        count++;
    }
    size_t head = headSize(p);
    parsedCommand *d = ztrymalloc(head + count * sizeof(largeArg) + bytes);
    if (!d) return NULL;
    moveHead(d, p);
    const largeArg *a = (largeArg *)(void *)((char *)d + head), *end = moveLarge((largeArg *)(uintptr_t)a, d, p, last);
    char *out = (char *)(uintptr_t)end;
    for (uint32_t i = 0; i < p->argc; i++) {
        d->argv[i] = p->argv[i];
        if (a < end && a->index == i) {
            a++;
            continue;
        }
        if (p->argv[i].len) memcpy(out, p->argv[i].ptr, p->argv[i].len);
        d->argv[i].ptr = out;
        out += p->argv[i].len;
    }
    debugAssert(out == (char *)(uintptr_t)end + bytes && a == end);
    return d;
}

parsedCommand *recordDetach(parsedCommand *p) {
    if (p->flags & REQ_SCATTERED) return detachScattered(p);
    size_t head = headSize(p), wire = wireSize(p);
    /* respHeader() may write RESP_HEADER_MAX bytes, also for a short header at the end. */
    parsedCommand *d = ztrymalloc(head + wire + RESP_HEADER_MAX);
    if (!d) return NULL;
    moveHead(d, p);
    char *bytes = (char *)d + head;
    putWire(bytes, d->argv, p);
    debugAssert(p->argc == 0 || d->argv[p->argc - 1].ptr + d->argv[p->argc - 1].len + 2 == bytes + wire);
    d->wire = bytes;
    d->wire_len = wire > UINT32_MAX ? UINT32_MAX : (uint32_t)wire;
    return d;
}

void recordFree(parsedCommand *p) {
    if (!p) return;
    if (p->value) objectRelease(p->value);
    for (const largeArg *a = p->flags & REQ_SCATTERED ? p->large : NULL; a; a = nextLarge(p, a))
        if (a->bytes) lazyfreeBlock(a->bytes, a->capacity);
    zfree(p);
}

size_t recordMemory(const parsedCommand *p) {
    size_t bytes = zmallocSize(p) + (p->value ? objectMemUsage(p->value, 0) : 0);
    for (const largeArg *a = p->flags & REQ_SCATTERED ? p->large : NULL; a; a = nextLarge(p, a))
        if (a->bytes) bytes += zmallocSize(a->bytes);
    return bytes;
}
