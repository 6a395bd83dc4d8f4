/* rdb_scan.c -- finds the items of a snapshot: reads a file in large pieces, sums it, and cuts it into whole items.
 *
 * A pattern of a few letters describes what follows a type (rdb_types) or an opcode. The state of a walk through it is
 * a position in the pattern and a counter for each enclosing loop. So a walk that runs out of bytes can stop anywhere
 * and continue when more were read, and no byte is parsed twice, however long a value is.
 *
 *   s  string        l  length          1 4 8 i  so many bytes; i is 16
 *   t  score as text v  here the value begins        m  fields of a module up to their end
 *   (...)  a length n, then n times the pattern in parentheses
 *
 * Not here    the meaning of a value's bytes (object/rdb_value.h); what is done with items (rdb_load.c).
 * Owns        the bytes after the last piece that was returned, and the fault.
 * Threads     any; a scanner is used by one at a time.
 * Invariants  1. Memory is allocated for bytes that were read, never for a length that the file claims: a piece has at
 *                most twice the bytes of its largest item, plus PIECE_BYTES.
 *             2. Each iteration of a loop consumes at least one byte, so every loop ends with the file.
 *             3. Between two pieces, `rest` begins with the item that is being walked, or has what follows the last
 *                item.
 * Cost        per key of a string 60 instructions; per byte read(2) and the checksum; per piece one copy of an
 *             incomplete item.
 * Tests       tests/unit/persist/rdb/rdb_scan_test.c, tests/fuzz/rdb_load_fuzz.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "rdb_scan.h"

#include "endian.h"
#include "hash.h"
#include "panic.h"
#include "rdb_format.h"
#include "rdb_value.h"
#include "zmalloc.h"

#include <errno.h>
#include <unistd.h>

#define PIECE_BYTES ((size_t)256 << 10)
#define PIECE_KEPT_MAX (4 * PIECE_BYTES) /* a buffer that a larger value has grown is not used again */
#define LOOPS_MAX 3

typedef struct loop {
    const char *begin; /* borrowed: the pattern that is repeated */
    uint64_t left;
} loop;

struct rdbScanner {
    int fd; /* borrowed */
    rdbScanOptions options;
    unsigned version;
    bool begun, at_eof, ended, old_magic, without_checksum;
    uint64_t offset, crc;                    /* of the bytes that were returned */
    char *rest;                              /* owns: bytes after them */
    size_t rest_len, rest_capacity, rest_at; /* rest_at: where the walk continues in it */

    /* The walk of the current item. */
    bool in_item;
    unsigned opcode;
    rdbItem item; /* offsets from the start of the piece */
    const char *pattern;
    uint64_t skip; /* bytes to skip before the pattern continues */
    char field;    /* letter for the current field of a module's value; 0: none */
    unsigned depth;
    loop loops[LOOPS_MAX];

    rdbItem next; /* holds database and attributes of the next key */
    rdbFault fault;
};

/* ---- The patterns of types and opcodes -------------------------------------------------------------- */

#define OPCODE_MIN RDB_OP_SLOT_IMPORT

static const struct {
    const char *layout; /* describes what follows it; NULL if there is no such opcode */
    rdbStep step;
    rdbItemKind item;
} opcodes[] = {
    [RDB_OP_SLOT_IMPORT - OPCODE_MIN] = {"s(ll)", RDB_STEP_TYPE, RDB_ITEM_SLOT_IMPORT},
    [RDB_OP_SLOT_INFO - OPCODE_MIN] = {"lll", RDB_STEP_TYPE, RDB_ITEM_SLOT_INFO},
    [RDB_OP_FUNCTION - OPCODE_MIN] = {"s", RDB_STEP_FUNCTION, RDB_ITEM_FUNCTION},
    [RDB_OP_MODULE_AUX - OPCODE_MIN] = {"lllm", RDB_STEP_MODULE_AUX, RDB_ITEM_MODULE_AUX},
    [RDB_OP_IDLE - OPCODE_MIN] = {"l", RDB_STEP_TYPE, RDB_ITEM_KEY},
    [RDB_OP_FREQ - OPCODE_MIN] = {"1", RDB_STEP_TYPE, RDB_ITEM_KEY},
    [RDB_OP_AUX - OPCODE_MIN] = {"ss", RDB_STEP_AUX, RDB_ITEM_AUX},
    [RDB_OP_RESIZEDB - OPCODE_MIN] = {"ll", RDB_STEP_LENGTH, RDB_ITEM_RESIZE},
    [RDB_OP_EXPIRE_MS - OPCODE_MIN] = {"8", RDB_STEP_EXPIRE, RDB_ITEM_KEY},
    [RDB_OP_EXPIRE_S - OPCODE_MIN] = {"4", RDB_STEP_EXPIRE, RDB_ITEM_KEY},
    [RDB_OP_SELECTDB - OPCODE_MIN] = {"l", RDB_STEP_LENGTH, RDB_ITEM_DB},
    [RDB_OP_EOF - OPCODE_MIN] = {"8", RDB_STEP_CHECKSUM, RDB_ITEM_END},
};

static const char *opcodePattern(const rdbScanner *s, unsigned opcode) {
    if (likely(opcode < RDB_TYPES)) return rdb_types[opcode].layout;
    if (opcode == RDB_OP_EOF && s->version < RDB_VERSION_CHECKSUM_MIN) return "";
    return opcode < OPCODE_MIN ? NULL : opcodes[opcode - OPCODE_MIN].layout;
}

static bool isKey(unsigned opcode) { return opcode < RDB_TYPES; }

/* ---- Walking a pattern --------------------------------------------------------------------------------- */

typedef enum { WALK_ON, WALK_DONE, WALK_MORE, WALK_BAD } walkEnd;

/* Reads a length or an encoding; *at moves only if all of it is there. */
static walkEnd takeLength(const rdbPiece *p, size_t *at, uint64_t *len, bool *encoded) {
    rdbReader r = {p->bytes + *at, p->bytes + p->len};
    if (r.p == r.end) return WALK_MORE;
    unsigned head = (unsigned char)*r.p;
    size_t needs = head == 0x80 ? 5 : head == 0x81 ? 9 : head >> 6 == 1 ? 2 : 1;
    if ((size_t)(r.end - r.p) < needs) return WALK_MORE;
    if (!rdbReadLength(&r, len, encoded)) return WALK_BAD;
    *at += needs;
    return WALK_ON;
}

#define ENCODING_LZF 3

/* Reads the length of a string; its bytes are to be skipped. */
static walkEnd takeString(rdbScanner *s, const rdbPiece *p, size_t *at) {
    uint64_t len, raw_len;
    bool encoded;
    size_t now = *at;
    walkEnd end = takeLength(p, &now, &len, &encoded);
    if (end != WALK_ON) return end;
    if (encoded && len == ENCODING_LZF) {
        if ((end = takeLength(p, &now, &len, &encoded)) != WALK_ON) return end;
        if (encoded) return WALK_BAD;
        if ((end = takeLength(p, &now, &raw_len, &encoded)) != WALK_ON) return end;
        if (encoded) return WALK_BAD;
    } else if (encoded) {
        if (len > ENCODING_LZF) return WALK_BAD;
        len = (uint64_t)1 << len;
    }
    s->skip = len;
    *at = now;
    return WALK_ON;
}

enum { FIELD_END, FIELD_SIGNED, FIELD_UNSIGNED, FIELD_FLOAT, FIELD_DOUBLE, FIELD_STRING };

/* Reads the kind of the next field of a module's value. */
static walkEnd takeField(rdbScanner *s, const rdbPiece *p, size_t *at) {
    uint64_t kind;
    bool encoded;
    walkEnd end = takeLength(p, at, &kind, &encoded);
    if (end != WALK_ON) return end;
    switch (kind) {
    case FIELD_END: s->pattern++; return WALK_ON;
    case FIELD_SIGNED:
    case FIELD_UNSIGNED: s->field = 'l'; return WALK_ON;
    case FIELD_FLOAT: s->skip = 4; return WALK_ON;
    case FIELD_DOUBLE: s->skip = 8; return WALK_ON;
    case FIELD_STRING: s->field = 's'; return WALK_ON;
    default: return WALK_BAD;
    }
}

static walkEnd enterLoop(rdbScanner *s, const rdbPiece *p, size_t *at) {
    uint64_t count;
    bool encoded;
    walkEnd end = takeLength(p, at, &count, &encoded);
    if (end != WALK_ON) return end;
    s->pattern++;
    if (count) {
        serverAssert(s->depth < LOOPS_MAX);
        s->loops[s->depth++] = (loop){s->pattern, count};
        return WALK_ON;
    }
    for (unsigned open = 1; open; s->pattern++) open = open + (*s->pattern == '(') - (*s->pattern == ')');
    return WALK_ON;
}

static void leaveLoop(rdbScanner *s) {
    debugAssert(s->depth > 0 && s->loops[s->depth - 1].left > 0);
    loop *l = &s->loops[s->depth - 1];
    if (--l->left) {
        s->pattern = l->begin;
    } else {
        s->depth--;
        s->pattern++;
    }
}

/* Skips bytes. Returns false if not all of them have been read yet. */
static bool rdbScanPass(rdbScanner *s, const rdbPiece *p, size_t *at) {
    debugAssert(*at <= p->len);
    size_t there = p->len - *at;
    if (there < s->skip) {
        s->skip -= there;
        *at = p->len;
        return false;
    }
    *at += s->skip;
    s->skip = 0;
    return true;
}

/* Moves on after an 's' or 'l', of the pattern or of a module's field. */
static void stepOn(rdbScanner *s) {
    if (s->field) s->field = 0;
    else s->pattern++;
}

static walkEnd takeBytes(rdbScanner *s, size_t n) {
    s->skip = n;
    s->pattern++;
    return WALK_ON;
}

static walkEnd walkStep(rdbScanner *s, const rdbPiece *p, size_t *at) {
    uint64_t len;
    bool encoded;
    walkEnd end;
    switch (s->field ? s->field : *s->pattern) {
    case '\0': return WALK_DONE;
    case 's':
        if ((end = takeString(s, p, at)) == WALK_ON) stepOn(s);
        return end;
    case 'v':
        s->item.value = *at;
        s->pattern++;
        return WALK_ON;
    case 'l':
        if ((end = takeLength(p, at, &len, &encoded)) == WALK_ON) stepOn(s);
        return end;
    case 't':
        if (*at == p->len) return WALK_MORE;
        len = (unsigned char)p->bytes[(*at)++];
        return takeBytes(s, len < 253 ? len : 0);
    case '1': return takeBytes(s, 1);
    case '4': return takeBytes(s, 4);
    case '8': return takeBytes(s, 8);
    case 'i': return takeBytes(s, 16);
    case 'm': return takeField(s, p, at);
    case '(': return enterLoop(s, p, at);
    default: leaveLoop(s); return WALK_ON;
    }
}

static walkEnd rdbScanWalk(rdbScanner *s, const rdbPiece *p, size_t *at) {
    walkEnd end;
    do {
        if (s->skip && !rdbScanPass(s, p, at)) return WALK_MORE;
        end = walkStep(s, p, at);
    } while (end == WALK_ON);
    return end;
}

/* ---- Faults ------------------------------------------------------------------------------------------ */

/* Returns the offset after the complete lengths at `at`, of which a compressed string has three. If a length is cut
 * off, its first byte counts. */
static size_t afterLengths(const rdbPiece *p, size_t at, bool of_string) {
    for (int i = 0; i < 3; i++) {
        uint64_t len;
        bool encoded;
        if (takeLength(p, &at, &len, &encoded) != WALK_ON) return at + (at < p->len);
        if (!of_string || (i == 0 ? !encoded || len != ENCODING_LZF : encoded)) return at;
    }
    return at;
}

/* Walks the current item again from its start, to find the offset after its last complete element. The length of a
 * string is one element, its bytes are another. */
static size_t walkAgain(rdbScanner *s, const rdbPiece *p) {
    size_t at = s->item.at;
    s->pattern = opcodePattern(s, s->opcode);
    s->skip = 0;
    s->depth = 0;
    s->field = 0;
    for (;;) {
        size_t before = at;
        if (s->skip && !rdbScanPass(s, p, &at)) return before;
        before = at;
        walkEnd end = walkStep(s, p, &at);
        if (end == WALK_DONE) return at;
        if (end != WALK_ON) return at == before ? afterLengths(p, at, (s->field ? s->field : *s->pattern) == 's') : at;
    }
}

static rdbStep stepOf(const rdbScanner *s) {
    if (isKey(s->opcode)) return s->item.value ? RDB_STEP_VALUE : RDB_STEP_KEY;
    debugAssert(s->opcode >= OPCODE_MIN);
    return opcodes[s->opcode - OPCODE_MIN].step;
}

/* Types are numbered from 0 up and opcodes from 255 down. Up to here, an unknown number is a type that Redis has got
 * since; the name of a key follows it whatever its value is. */
#define LATER_TYPE_MAX 127

static bool rdbScanFail(rdbScanner *s, const rdbPiece *p, rdbFaultKind kind, uint64_t number) {
    rdbFault *f = &s->fault;
    f->kind = kind;
    f->number = number;
    f->db = s->next.db;
    f->type = -1;
    f->offset = f->reached = p->offset + p->len;
    f->step = s->begun ? RDB_STEP_TYPE : RDB_STEP_START;
    if (!s->begun) {
        f->offset = 0;
        f->reached = p->len < RDB_MAGIC_BYTES ? 0 : RDB_MAGIC_BYTES;
    }
    if (!s->in_item || p->len == 0) return false; /* a piece is empty if there was no memory for it */
    bool unknown = kind == RDB_FAULT_TYPE || kind == RDB_FAULT_FOREIGN;
    f->offset = p->offset + s->item.at - 1;
    f->reached = p->offset + (unknown ? s->item.at : walkAgain(s, p));
    f->step = unknown ? RDB_STEP_TYPE : stepOf(s);
    bool later_type = kind == RDB_FAULT_FOREIGN && s->opcode <= LATER_TYPE_MAX;
    if (!isKey(s->opcode) && !later_type) return false;
    f->type = (int)s->opcode;
    rdbText name;
    rdbReader r = {p->bytes + s->item.at, p->bytes + (later_type ? p->len : s->item.value)};
    if ((later_type || s->item.value) && rdbReadText(&r, &name)) {
        f->key = sdsFromSlice(name.text);
        rdbTextFree(&name);
    }
    return false;
}

/* ---- Items ------------------------------------------------------------------------------------------------ */

static void addItem(rdbScanner *s, rdbPiece *p, rdbItemKind kind) {
    p->items = zgrowArray(p->items, p->count, &p->items_capacity, sizeof(*p->items));
    s->item.kind = (uint8_t)kind;
    s->item.is_foreign = rdbVersionIsForeign(s->version);
    p->items[p->count++] = s->item;
}

static void addKey(rdbScanner *s, rdbPiece *p) {
    rdbItem key = s->next;
    key.type = (uint8_t)s->opcode;
    key.at = s->item.at;
    key.value = s->item.value;
    key.end = s->item.end;
    s->item = key;
    addItem(s, p, RDB_ITEM_KEY);
    s->next = (rdbItem){.db = key.db, .expire_ms = -1};
}

/* Reads the first two numbers of an item that consists of numbers. */
static void readNumbers(rdbScanner *s, const rdbPiece *p) {
    rdbReader r = {p->bytes + s->item.at, p->bytes + s->item.end};
    bool encoded;
    uint64_t *numbers[] = {&s->item.number, &s->item.number2};
    for (size_t i = 0; i < array_len(numbers) && r.p != r.end; i++)
        if (!rdbReadLength(&r, numbers[i], &encoded)) break;
}

static bool addDb(rdbScanner *s, rdbPiece *p) {
    readNumbers(s, p);
    if (s->item.number > UINT32_MAX) return rdbScanFail(s, p, RDB_FAULT_LENGTH, 0);
    s->item.db = s->next.db = (uint32_t)s->item.number;
    addItem(s, p, RDB_ITEM_DB);
    return true;
}

static bool addEnd(rdbScanner *s, rdbPiece *p) {
    s->ended = true;
    uint64_t expected = s->version < RDB_VERSION_CHECKSUM_MIN ? 0 : loadLe64(p->bytes + s->item.at);
    s->without_checksum = expected == 0;
    if (expected && s->options.checksum) {
        uint64_t computed = crc64(s->crc, p->bytes, s->item.at);
        if (computed != expected) {
            s->fault.expected = expected;
            s->fault.computed = computed;
            return rdbScanFail(s, p, RDB_FAULT_CHECKSUM, 0);
        }
    }
    addItem(s, p, RDB_ITEM_END);
    return true;
}

/* Handles an item whose bytes are complete. */
static bool finishItem(rdbScanner *s, rdbPiece *p, size_t at) {
    const char *bytes = p->bytes + s->item.at;
    s->item.end = at;
    if (likely(isKey(s->opcode))) {
        addKey(s, p);
        return true;
    }
    s->item.value = s->item.at;
    switch (s->opcode) {
    case RDB_OP_EXPIRE_MS: s->next.expire_ms = (int64_t)loadLe64(bytes); break;
    case RDB_OP_EXPIRE_S: s->next.expire_ms = (int64_t)(int32_t)loadLe32(bytes) * 1000; break;
    case RDB_OP_FREQ:
        s->next.freq = (uint8_t)*bytes;
        s->next.has_freq = true;
        break;
    case RDB_OP_IDLE:
        readNumbers(s, p);
        s->next.number = s->item.number;
        s->next.has_idle = true;
        break;
    case RDB_OP_SELECTDB: return addDb(s, p);
    case RDB_OP_EOF: return addEnd(s, p);
    case RDB_OP_RESIZEDB:
    case RDB_OP_SLOT_INFO: readNumbers(s, p); /* fall through */
    default: addItem(s, p, opcodes[s->opcode - OPCODE_MIN].item);
    }
    return true;
}

#define FOREIGN_MIN 22 /* from here to FOREIGN_MAX, values mean something else in files with the other magic */
#define FOREIGN_MAX 243

static bool beginItem(rdbScanner *s, const rdbPiece *p, size_t *at) {
    s->opcode = (unsigned char)p->bytes[(*at)++];
    s->item = (rdbItem){.at = *at, .db = s->next.db, .expire_ms = -1};
    s->in_item = true;
    rdbFaultKind fault = s->old_magic ? RDB_FAULT_FOREIGN : RDB_FAULT_TYPE;
    if (unlikely(s->opcode >= FOREIGN_MIN && s->opcode <= FOREIGN_MAX)) {
        unsigned rdb_type = rdbTypeOfByte(s->version, s->opcode);
        bool known = s->old_magic ? rdbVersionIsForeign(s->version) && rdb_type < RDB_TYPES
                                  : rdb_type < RDB_TYPES || s->opcode >= OPCODE_MIN;
        if (!known) return rdbScanFail(s, p, fault, s->opcode);
        if (rdb_type < RDB_TYPES) s->opcode = rdb_type;
    }
    s->pattern = opcodePattern(s, s->opcode);
    if (unlikely(!s->pattern)) return rdbScanFail(s, p, RDB_FAULT_TYPE, s->opcode);
    return true;
}

/* Finds the items in the bytes that have been read. */
static bool scanItems(rdbScanner *s, rdbPiece *p, size_t *at) {
    while (!s->ended && (s->in_item || *at < p->len)) {
        if (!s->in_item && !beginItem(s, p, at)) return false;
        switch (rdbScanWalk(s, p, at)) {
        case WALK_MORE: return true;
        case WALK_BAD: return rdbScanFail(s, p, RDB_FAULT_LENGTH, 0);
        default: break;
        }
        if (!finishItem(s, p, *at)) return false;
        s->in_item = false;
    }
    return true;
}

/* ---- Pieces ------------------------------------------------------------------------------------------------ */

void rdbPieceFree(rdbPiece *p) {
    zfree(p->bytes);
    zfree(p->items);
    *p = (rdbPiece){0};
}

static bool reservePiece(rdbPiece *p, size_t bytes) {
    if (bytes <= p->capacity) return true;
    size_t capacity = p->capacity ? p->capacity + p->capacity / 2 : 2 * PIECE_BYTES;
    if (capacity < bytes) capacity = bytes;
    char *longer = ztryrealloc(p->bytes, capacity);
    if (!longer) return false;
    p->bytes = longer;
    p->capacity = capacity;
    return true;
}

/* Reads until there are `wanted` bytes or the file ends. */
static bool rdbScanFill(rdbScanner *s, rdbPiece *p, size_t wanted) {
    if (s->at_eof || p->len >= wanted) return true;
    if (!reservePiece(p, wanted)) return rdbScanFail(s, p, RDB_FAULT_MEMORY, 0);
    const rdbSource *source = s->options.source;
    while (p->len < wanted) {
        char *to = p->bytes + p->len;
        ssize_t n = source ? source->read(source->arg, to, wanted - p->len) : read(s->fd, to, wanted - p->len);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return rdbScanFail(s, p, RDB_FAULT_READ, (uint64_t)errno);
        if (n == 0) {
            s->at_eof = true;
            break;
        }
        p->len += (size_t)n;
    }
    return true;
}

/* Asserts invariant 3, and the bounds of the state between two pieces. Called at both ends of rdbScanNext(). */
static void scannerCheck(const rdbScanner *s) {
    debugAssert(s->rest_len <= s->rest_capacity && s->rest_at <= s->rest_len);
    debugAssert(s->depth <= LOOPS_MAX && (s->in_item || s->depth == 0));
    debugAssert(!s->in_item || (s->item.at == 1 && s->pattern && !s->ended));
    debugAssert(s->in_item || s->rest_at == 0);
    debugAssert(s->begun || (s->offset == 0 && !s->in_item));
    debugAssert(s->in_item || (s->skip == 0 && s->field == 0));
}

/* Asserts that the items of a piece are whole, in order, and within its bytes. */
static void pieceCheck(const rdbPiece *p) {
#ifdef DEBUG_ASSERTIONS
    debugAssert(p->len <= p->capacity && p->count <= p->items_capacity);
    size_t end = 0;
    for (size_t i = 0; i < p->count; i++) {
        const rdbItem *item = &p->items[i];
        debugAssert(item->at > end && item->at <= item->value && item->value <= item->end && item->end <= p->len);
        end = item->end;
    }
#else
    unused(p);
#endif
}

/* Begins a piece with the rest of the last one, and sets *at to where the walk continues. */
static bool beginPiece(rdbScanner *s, rdbPiece *p, size_t *at) {
    if (p->capacity > PIECE_KEPT_MAX) {
        zfree(p->bytes);
        p->bytes = NULL;
        p->capacity = 0;
    }
    p->len = p->count = 0;
    p->offset = s->offset;
    *at = s->rest_at;
    if (!reservePiece(p, s->rest_len + PIECE_BYTES)) return rdbScanFail(s, p, RDB_FAULT_MEMORY, 0);
    if (s->rest_len) memcpy(p->bytes, s->rest, s->rest_len);
    p->len = s->rest_len;
    s->rest_len = 0;
    return true;
}

/* Keeps what follows the last whole item for the next piece. */
static void endPiece(rdbScanner *s, rdbPiece *p, size_t at) {
    size_t end = s->in_item ? s->item.at - 1 : at;
    debugAssert(end <= at && at <= p->len);
    s->rest_len = p->len - end;
    s->rest_at = at - end;
    if (s->rest_len > s->rest_capacity) {
        s->rest_capacity = s->rest_len;
        zfree(s->rest);
        s->rest = zmalloc(s->rest_capacity);
    }
    if (s->rest_len) memcpy(s->rest, p->bytes + end, s->rest_len);
    if (s->in_item) {
        s->item.at -= end;
        if (s->item.value) s->item.value -= end;
    }
    p->len = end;
    s->offset += end;
    if (s->options.checksum && !s->ended) s->crc = crc64(s->crc, p->bytes, end);
}

/* Returns the number in up to three digits, before the first character that is not a digit. */
static unsigned versionOf(const char *digits) {
    unsigned version = 0;
    for (int i = 0; i < 3 && digits[i] >= '0' && digits[i] <= '9'; i++)
        version = version * 10 + (unsigned)(digits[i] - '0');
    return version;
}

static bool readMagic(rdbScanner *s, rdbPiece *p, size_t *at) {
    if (p->len < RDB_MAGIC_BYTES) return rdbScanFail(s, p, RDB_FAULT_SHORT, 0);
    s->old_magic = memcmp(p->bytes, RDB_MAGIC_OLD, sizeof(RDB_MAGIC_OLD) - 1) == 0;
    bool ours = memcmp(p->bytes, RDB_MAGIC, sizeof(RDB_MAGIC) - 1) == 0;
    if (!s->old_magic && !ours) {
        s->fault.key = sdsNewLen(p->bytes, RDB_MAGIC_BYTES);
        return rdbScanFail(s, p, RDB_FAULT_SIGNATURE, 0);
    }
    s->version = versionOf(p->bytes + sizeof(RDB_MAGIC) - 1);
    bool known = rdbVersionIsReadable(s->version, s->options.relaxed);
    if (!known || ours != (s->version > RDB_VERSION_FOREIGN_MAX))
        return rdbScanFail(s, p, RDB_FAULT_VERSION, s->version);
    *at = RDB_MAGIC_BYTES;
    s->begun = true;
    return true;
}

bool rdbScanNext(rdbScanner *s, rdbPiece *p) {
    size_t at = 0;
    serverAssert(!s->ended && s->fault.kind == RDB_FAULT_NONE);
    scannerCheck(s);
    if (!beginPiece(s, p, &at)) return false;
    for (size_t wanted = p->len + PIECE_BYTES;; wanted = p->len + PIECE_BYTES) {
        if (!rdbScanFill(s, p, wanted)) return false;
        if (!s->begun && !readMagic(s, p, &at)) return false;
        if (!scanItems(s, p, &at)) return false;
        if (s->ended || p->count || !s->in_item) break;
        if (s->at_eof) return rdbScanFail(s, p, RDB_FAULT_SHORT, 0);
    }
    if (s->at_eof && !s->ended && !p->count) return rdbScanFail(s, p, RDB_FAULT_SHORT, 0);
    endPiece(s, p, at);
    debugAssert(p->count > 0);
    scannerCheck(s);
    pieceCheck(p);
    return true;
}

/* ---- The scanner --------------------------------------------------------------------------------------------- */

rdbScanner *rdbScanCreate(int fd, const rdbScanOptions *options) {
    rdbScanner *s = zcalloc(1, sizeof(*s));
    s->fd = fd;
    s->options = *options;
    s->next.expire_ms = -1;
    return s;
}

void rdbScanFree(rdbScanner *s) {
    if (!s) return;
    sdsFree(s->fault.key);
    zfree(s->rest);
    zfree(s);
}

const rdbFault *rdbScanFault(const rdbScanner *s) { return &s->fault; }

unsigned rdbScanVersion(const rdbScanner *s) { return s->version; }

bool rdbScanWithoutChecksum(const rdbScanner *s) { return s->without_checksum; }

uint64_t rdbScanOffset(const rdbScanner *s) { return s->offset; }
