/* reply.c -- building replies: bytes and references appended to a client's chain of blocks.
 *
 * Main does this for every command, so it is reduced to what no other thread can do: one test of the client's flags,
 * one of the block's capacity, a header of a few digits, and, for a value that has an object of its own, a reference
 * instead of a copy, so that main never touches its bytes.
 *
 *   a deferred length:   ... | gap of GAP_BYTES | elements that were added after it ...
 *   The gap holds an openLength until the length is known. Then the header is written at its start, and the bytes that
 *   follow in the same block move up to it; blocks that were opened later stay as they are.
 *
 * Not here    the blocks (reply_block.c), errors (reply_error.c), numbers in arguments (reply_args.c), the wire (net).
 * Owns        the open chain of each client: reply_head .. reply_tail, and c->deferred, which points into it.
 * Threads     main.
 * Invariants  (replyCheck() asserts the last two, clientCheck() what can be seen of the first two)
 *             1. c->output_bytes is the total of the chain and of all that was taken and not yet reported as written.
 *             2. c->output_memory is the cost (replyBlockCost) of all blocks of the client, wherever they are: in the
 *                chain, with the I/O half, on their way back; c->output_blocks is their number.
 *             3. Deferred lengths are set in the reverse order of their opening.
 *             4. A chain that is handed over has no open deferred length.
 * Cost        a reference: about 50 instructions; a bulk in bytes: the same and its memcpy.
 * Tests       tests/unit/client/reply_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "reply.h"
#include "client_settings.h"
#include "log_limit.h"
#include "output_limits.h"
#include "panic.h"
#include "resp_format.h"
#include "zmalloc.h"
#include <stdarg.h>
#include <stdio.h>

#define GAP_BYTES RESP_HEADER_MAX
#define BULK_LARGE (1 << 20) /* memory for copies of this size or more may be lacking */
#define FORMAT_BYTES 512     /* texts up to this length are formatted on the stack */

/* A client with one of these flags gets no replies. A push message is sent in spite of the first two. */
#define SILENT_FLAGS \
    (CLIENT_REPLY_OFF | CLIENT_REPLY_SKIP | CLIENT_CLOSE_ASAP | CLIENT_CLOSE_AFTER_REPLY | CLIENT_PRIMARY)

static_assert(CLIENT_OUTPUT_GRACE == REPLY_BLOCK_SMALL + REPLY_BLOCK_LARGE, "limits begin after two blocks");

/* ---- The chain -------------------------------------------------------------------------------------------------- */

/* The rare cases of mayReply(): nothing may be added, or this is the first output since the last hand-over. */
static __attribute__((noinline)) bool startReplying(client *c) {
    uint64_t silent = SILENT_FLAGS;
    if (c->flags & CLIENT_PUSHING) silent &= ~(CLIENT_REPLY_OFF | CLIENT_REPLY_SKIP);
    if (c->flags & silent) {
        client_state.unsent_replies++;
        return false;
    }
    if (c->flags & (CLIENT_PUBSUB | CLIENT_TRACKING)) client_state.subscriber_outputs++;
    clientPendWrite(c);
    return true;
}

/* Returns true if a reply may be added, and puts the client on the list of clients with output. */
static inline bool mayReply(client *c) {
    assertMainRole();
    if (likely((c->flags & (SILENT_FLAGS | CLIENT_PENDING_WRITE)) == CLIENT_PENDING_WRITE)) return true;
    return startReplying(c);
}

/* Adds to the memory of the client's output, and checks its limits. */
static inline void accountMemory(client *c, size_t bytes) {
    c->output_memory += bytes;
    if (unlikely(c->output_memory >= output_alarm_bytes)) outputLimitCheck(c);
}

/* Closes a client for whose reply there is no memory: half of the reply may be in the chain already, so the connection
 * is unusable. The log line itself takes no memory. */
static __attribute__((noinline)) void closeForMemory(client *c, size_t bytes) {
    if (c->flags & CLIENT_CLOSE_ASAP) return;
    LOG_LIMITED(
        LL_WARNING, 1, "clients that were closed for lack of memory for a reply",
        "Client id=%llu addr=%s cmd=%s omem=%zu scheduled to be closed: there is no memory for %zu bytes of its "
        "reply.",
        (unsigned long long)c->id, c->peer, clientCommandName(c->cmd), c->output_memory, bytes);
    clientCloseAsap(c);
}

static replyBlock *addBlock(client *c, replyBlock *b) {
    if (c->reply_tail) c->reply_tail->next = b;
    else c->reply_head = b;
    c->reply_tail = b;
    c->output_blocks++;
    accountMemory(c, replyBlockAllocSize(b));
    return b;
}

/* Opens a block. Returns NULL if there is no memory: the client is marked to be closed. */
static __attribute__((noinline)) replyBlock *openBlock(client *c, size_t needed) {
    bool first = c->reply_tail == NULL;
    replyBlock *b = replyBlockGet(needed, first);
    if (unlikely(!first)) outputAlarmUpdate();
    if (likely(b != NULL)) return addBlock(c, b);
    closeForMemory(c, needed);
    return NULL;
}

/* Returns the block to write to, with capacity for `n` bytes, which are few; NULL as openBlock(). */
static inline replyBlock *replyReserve(client *c, size_t n) {
    replyBlock *b = c->reply_tail;
    return likely(b && replyBlockAvail(b) >= n) ? b : openBlock(c, n);
}

/* Counts `bytes` that were written after b->used, and `referred` bytes of references. The memory of the former was
 * counted when the block was opened. */
static inline void account(client *c, replyBlock *b, size_t bytes, size_t referred) {
    size_t wire = bytes + referred;
    b->used += bytes;
    b->total += wire;
    c->output_bytes += wire;
    if (referred) accountMemory(c, referred);
}

static inline void copyInto(client *c, replyBlock *b, const char *p, size_t len) {
    memcpy(b->data + b->used, p, len);
    account(c, b, len, 0);
}

/* Appends bytes that do not fit into the open block: fills it, and puts the rest into a block that holds all of it. If
 * a limit closes the client meanwhile, the rest is dropped. */
static __attribute__((noinline)) void appendSplit(client *c, const char *p, size_t len) {
    while (len) {
        replyBlock *b = c->reply_tail;
        size_t avail = b ? replyBlockAvail(b) : 0;
        if (avail == 0) {
            b = openBlock(c, len < REPLY_BLOCK_CAPACITY_MAX ? len : REPLY_BLOCK_CAPACITY_MAX);
            if (!b || c->flags & CLIENT_CLOSE_ASAP) return;
            avail = replyBlockAvail(b);
        }
        size_t part = len < avail ? len : avail;
        copyInto(c, b, p, part);
        p += part;
        len -= part;
    }
}

/* Appends bytes. Call after mayReply() has returned true. */
static inline void replyAppend(client *c, const char *p, size_t len) {
    replyBlock *b = c->reply_tail;
    if (likely(b && replyBlockAvail(b) >= len)) copyInto(c, b, p, len);
    else appendSplit(c, p, len);
}

replyBlock *clientTakeReplies(client *c) {
    assertMainRole();
    replyBlock *head = c->reply_head;
    serverAssert(c->deferred == NULL);
    uint64_t peak = c->output_bytes | client_state.peak_tag;
    if (peak > c->reply_peak) c->reply_peak = peak;
    if (c->output_bytes > client_state.recent_max_output) client_state.recent_max_output = c->output_bytes;
    c->reply_head = c->reply_tail = NULL;
    return head;
}

void clientDropReplies(client *c) {
    assertMainRole();
    replyBlock *b = c->reply_head;
    debugAssert(!c->io && !c->deferred);
    if (likely(b && !b->next && !b->nrefs && replyBlockAllocSize(b) == REPLY_BLOCK_SMALL)) {
        b->used = b->total = 0;
        c->output_bytes = 0;
        return;
    }
    replyBlockReleaseChain(b);
    c->reply_head = c->reply_tail = NULL;
    c->output_bytes = c->output_memory = 0;
    c->output_blocks = 0;
}

bool clientOutputWritten(client *c, replyBlock *done, size_t bytes) {
    assertMainRole();
    size_t cost = 0;
    uint32_t blocks = 0;

    debugAssert(bytes <= c->output_bytes);
    while (done) {
        replyBlock *next = done->next;
        cost += replyBlockCost(done);
        blocks++;
        replyBlockRelease(done);
        done = next;
    }
    debugAssert(cost <= c->output_memory && blocks <= c->output_blocks);
    c->output_memory -= cost;
    c->output_blocks -= blocks;
    c->output_bytes -= bytes;
    c->net_output += (long long)bytes;
    if (unlikely(c->soft_limit_since)) outputLimitCheck(c);
    return unlikely(c->flags & CLIENT_OUTPUT_FULL) && outputFullEnds(c);
}

void clientOutputKept(client *c, const keptOutput *kept) {
    assertMainRole();
    c->output_bytes += kept->bytes;
    c->output_blocks += kept->blocks;
    accountMemory(c, kept->cost);
}

bool clientHasReplies(const client *c) {
    assertMainRole();
    return c->reply_head != NULL;
}

/* ---- Headers ---------------------------------------------------------------------------------------------------- */

/* Writes "<prefix><n>\r\n" to `out`, which has RESP_HEADER_MAX bytes. Up to three digits, nearly all cases, need no
 * call. */
static inline size_t putHeader(char *out, char prefix, long long n) {
    unsigned long long u = (unsigned long long)n;
    size_t len;

    if (unlikely(u >= 1000)) return respHeader(out, prefix, n);
    out[0] = prefix;
    unsigned n32 = (unsigned)u;
    if (n32 < 10) {
        out[1] = (char)('0' + n32);
        len = 2;
    } else if (n32 < 100) {
        unsigned tens = n32 / 10;
        out[1] = (char)('0' + tens);
        out[2] = (char)('0' + n32 - tens * 10);
        len = 3;
    } else {
        unsigned tens = n32 / 10, hundreds = n32 / 100;
        out[1] = (char)('0' + hundreds);
        out[2] = (char)('0' + tens - hundreds * 10);
        out[3] = (char)('0' + n32 - tens * 10);
        len = 4;
    }
    memcpy(out + len, "\r\n", 2);
    return len + 2;
}

static inline void addHeader(client *c, char prefix, long long n) {
    if (!mayReply(c)) return;
    replyBlock *b = replyReserve(c, RESP_HEADER_MAX);
    if (unlikely(!b)) return;
    account(c, b, putHeader(b->data + b->used, prefix, n), 0);
}

/* ---- Raw and shared --------------------------------------------------------------------------------------------- */

/* Inlined, so that a text of constant length is stored and not copied by a call: +OK takes 26 instructions, not 57. */
static __attribute__((always_inline)) inline void addProto(client *c, const char *p, size_t len) {
    if (mayReply(c)) replyAppend(c, p, len);
}

void addReplyProto(client *c, const char *p, size_t len) { addProto(c, p, len); }

#define SHARE_MIN 65536

robj *replyShare(slice bytes) {
    assertMainRole();
    if (bytes.len < SHARE_MIN || bytes.len > OBJ_STRING_MAX) return NULL;
    return objectTryCreateString(sliceOf("", 0), bytes, false, object_main_owner);
}

void addReplyShared(client *c, slice bytes, robj *shared) {
    if (!shared || shared->refcount >= OBJ_REFCOUNT_MAX) {
        addReplyProto(c, bytes.ptr, bytes.len);
        return;
    }
    replyBlock *b = mayReply(c) ? replyReserve(c, sizeof(replyRef)) : NULL;
    if (!b) return;
    *replyBlockRef(b, b->nrefs) = (replyRef){shared, objectRawString(shared).ptr, bytes.len, b->used};
    b->nrefs++;
    incrRefCount(shared);
    account(c, b, 0, bytes.len);
}

void addReplyExternal(client *c, robj *o, slice part) {
    if (!mayReply(c)) return;
    replyBlock *b = c->reply_tail;
    if (!b || !b->external || replyBlockAvail(b) < sizeof(replyRef)) {
        b = openBlock(c, sizeof(replyRef));
        if (!b) return;
        b->external = true;
    }
    incrRefCount(o);
    replyBlockAddRef(b, o, part);
    c->output_bytes += part.len;
}

void addReplySds(client *c, sds s) {
    addReplyProto(c, s, sdsLen(s));
    sdsFree(s);
}

#define addLiteral(c, text) addReplyProto(c, text, sizeof(text) - 1)

void addReplyOk(client *c) { addProto(c, "+OK\r\n", 5); }

void addReplyNull(client *c) {
    if (c->resp >= 3) addLiteral(c, "_\r\n");
    else addLiteral(c, "$-1\r\n");
}

void addReplyNullArray(client *c) {
    if (c->resp >= 3) addLiteral(c, "_\r\n");
    else addLiteral(c, "*-1\r\n");
}

void addReplyEmptyArray(client *c) { addLiteral(c, "*0\r\n"); }

void addReplyZero(client *c) { addLiteral(c, ":0\r\n"); }

void addReplyOne(client *c) { addLiteral(c, ":1\r\n"); }

void addReplyLine(client *c, const char *prefix, slice text) {
    if (!mayReply(c)) return;
    size_t head = strlen(prefix), size = head + text.len + 2;
    if (unlikely(size > REPLY_BLOCK_CAPACITY_MAX)) {
        closeForMemory(c, size);
        return;
    }
    replyBlock *b = replyReserve(c, size);
    if (unlikely(!b)) return;
    copyInto(c, b, prefix, head);
    char *line = b->data + b->used;
    copyInto(c, b, text.ptr, text.len);
    for (size_t i = 0; i < text.len; i++)
        if (unlikely(line[i] == '\r' || line[i] == '\n')) line[i] = ' ';
    copyInto(c, b, "\r\n", 2);
}

static void addStatus(client *c, const char *text, size_t len) {
    if (!mayReply(c)) return;
    replyAppend(c, "+", 1);
    replyAppend(c, text, len);
    replyAppend(c, "\r\n", 2);
}

void addReplyStatus(client *c, const char *text) { addStatus(c, text, strlen(text)); }

/* Returns the formatted text: in `buf` if it fits, else in an sds that the caller frees (*owned). */
static slice formatText(char buf[FORMAT_BYTES], sds *owned, const char *fmt, va_list ap) {
    va_list again;
    va_copy(again, ap);
    int len = vsnprintf(buf, FORMAT_BYTES, fmt, ap);
    *owned = NULL;
    if (len >= FORMAT_BYTES) *owned = sdsCatVprintf(sdsEmpty(), fmt, again);
    va_end(again);
    return *owned ? sdsSlice(*owned) : sliceOf(buf, (size_t)len);
}

void addReplyStatusFormat(client *c, const char *fmt, ...) {
    char buf[FORMAT_BYTES];
    sds owned;
    va_list ap;
    va_start(ap, fmt);
    slice text = formatText(buf, &owned, fmt, ap);
    va_end(ap);
    addStatus(c, text.ptr, text.len);
    sdsFree(owned);
}

/* ---- Values ----------------------------------------------------------------------------------------------------- */

void addReplyLongLong(client *c, long long n) { addHeader(c, ':', n); }

/* Adds a bulk string in a block of its own, or an error if there is no memory for it. */
static __attribute__((noinline)) void addLargeBulk(client *c, slice bytes) {
    size_t needed = bytes.len + RESP_HEADER_MAX + 2;
    replyBlock *b = replyBlockGet(needed, false);
    if (!b) {
        addReplyNoMemory(c);
        return;
    }
    addBlock(c, b);
    size_t len = putHeader(b->data, '$', (long long)bytes.len);
    memcpy(b->data + len, bytes.ptr, bytes.len);
    memcpy(b->data + len + bytes.len, "\r\n", 2);
    account(c, b, len + bytes.len + 2, 0);
}

static void addBulkInParts(client *c, replyBlock *b, slice bytes) {
    account(c, b, putHeader(b->data + b->used, '$', (long long)bytes.len), 0);
    replyAppend(c, bytes.ptr, bytes.len);
    replyAppend(c, "\r\n", 2);
}

/* Call if the open block has less than `needed` bytes left. Returns a new block, or NULL if the bulk string was added
 * in another way or there is no memory. */
static __attribute__((noinline)) replyBlock *blockForBulk(client *c, slice bytes, size_t needed) {
    replyBlock *b = replyReserve(c, RESP_HEADER_MAX);
    if (!b || replyBlockAvail(b) >= needed) return b;
    if (bytes.len >= BULK_LARGE && needed <= REPLY_BLOCK_CAPACITY_MAX) addLargeBulk(c, bytes);
    else addBulkInParts(c, b, bytes);
    return NULL;
}

void addReplyBulk(client *c, slice bytes) {
    if (!mayReply(c)) return;
    size_t needed = RESP_HEADER_MAX + bytes.len + 2;
    replyBlock *b = c->reply_tail;
    if (unlikely(!b || replyBlockAvail(b) < needed)) {
        b = blockForBulk(c, bytes, needed);
        if (!b) return;
    }
    char *out = b->data + b->used;
    size_t len = putHeader(out, '$', (long long)bytes.len);
    if (bytes.len) memcpy(out + len, bytes.ptr, bytes.len);
    memcpy(out + len + bytes.len, "\r\n", 2);
    account(c, b, len + bytes.len + 2, 0);
}

/* Copies a short text in pieces that may overlap: a call of memcpy costs as much as most of these texts. */
static inline void copyShort(char *out, slice text) {
    const char *p = text.ptr;
    size_t len = text.len;
    uint64_t a, b;

    if (len > 16) {
        for (size_t at = 0; at + 16 <= len; at += 16) memcpy(out + at, p + at, 16);
        memcpy(out + len - 16, p + len - 16, 16);
    } else if (len >= 8) {
        memcpy(&a, p, 8), memcpy(&b, p + len - 8, 8);
        memcpy(out, &a, 8), memcpy(out + len - 8, &b, 8);
    } else if (len >= 4) {
        memcpy(out, p, 4);
        memcpy(out + len - 4, p + len - 4, 4);
    } else if (len) {
        out[0] = p[0];
        out[len / 2] = p[len / 2];
        out[len - 1] = p[len - 1];
    }
}

#define SHORT_BULK_MAX (5 + LISTPACK_SHORT_MAX + 2)

/* Writes as many short texts, from *at on, as fit between `out` and `limit`, and returns the end of what it wrote. */
static inline char *putShortTexts(char *out, const char *limit, const uint8_t **at, size_t *n) {
    slice text;
    const uint8_t *next;
    while (*n && (size_t)(limit - out) >= SHORT_BULK_MAX && listpackShortText(*at, &text, &next)) {
        out += putHeader(out, '$', (long long)text.len);
        copyShort(out, text);
        memcpy(out + text.len, "\r\n", 2);
        out += text.len + 2;
        *at = next;
        --*n;
    }
    return out;
}

void addReplyListpack(client *c, const uint8_t *lp, const uint8_t *at, size_t n, bool backward) {
    if (!mayReply(c)) return;
    while (n) {
        replyBlock *b = c->reply_tail;
        if (likely(b && !backward)) {
            char *start = b->data + b->used;
            account(c, b, (size_t)(putShortTexts(start, start + replyBlockAvail(b), &at, &n) - start), 0);
            if (n == 0) return;
        }
        listpackValue v = listpackGet(at);
        if (v.str) addReplyBulk(c, sliceOf(v.str, v.len));
        else addReplyBulkLongLong(c, v.num);
        if (--n) at = backward ? listpackPrev(lp, at) : listpackNext(at);
    }
}

void addReplyBulkCString(client *c, const char *s) {
    if (s) addReplyBulk(c, sliceStr(s));
    else addReplyNull(c);
}

void addReplyBulkSds(client *c, sds s) {
    addReplyBulk(c, sdsSlice(s));
    sdsFree(s);
}

void addReplyBulkLongLong(client *c, long long n) {
    char digits[LONG_STR_SIZE];
    addReplyBulk(c, sliceOf(digits, ll2string(digits, n)));
}

void addReplyBulkFormat(client *c, const char *fmt, ...) {
    char buf[FORMAT_BYTES];
    sds owned;
    va_list ap;
    va_start(ap, fmt);
    slice text = formatText(buf, &owned, fmt, ap);
    va_end(ap);
    addReplyBulk(c, text);
    sdsFree(owned);
}

static size_t refer_from = REPLY_COPIED_ELSEWHERE;
static size_t refer_limits[2] = {REPLY_COPIED_ELSEWHERE, REPLY_COPIED_HERE};

void replyWrittenHere(bool here) {
    assertMainRole();
    refer_from = refer_limits[here];
}

void replyCopyShared(bool shared) {
    assertMainRole();
    refer_limits[0] = shared ? REPLY_COPIED_SHARED : REPLY_COPIED_ELSEWHERE;
    refer_limits[1] = shared ? REPLY_COPIED_SHARED : REPLY_COPIED_HERE;
    refer_from = refer_limits[0]; /* until replyWrittenHere() is called again */
}

bool replyCopiesShared(void) { return refer_limits[0] == REPLY_COPIED_SHARED; }

/* A reference keeps the whole value and its key in memory, even after the value was replaced, and the next command that
 * changes the value in place has to copy all of it. So a reply refers to a value only if it sends at least half of what
 * it keeps: references hold no more than twice what they send, and such a command copies no more than twice what
 * replies would have copied. Small parts, and values with longer keys, are copied. */
static inline bool isLargePart(const robj *o, size_t len) {
    return (o->key_len != OBJ_KEY_LONG) & (o->value_len + o->key_len <= 2 * len);
}

/* Returns true if `len` bytes of the RAW string are worth a reference. Only RAW values have a block that outlives a
 * change of the key. */
static inline bool mayRefer(const robj *o, size_t len) {
    return len >= refer_from && client_settings.offload && o->refcount < OBJ_REFCOUNT_MAX && isLargePart(o, len);
}

/* Adds a bulk string by reference. `beyond` is how much longer the value is than `bytes`. */
static inline void addBulkReference(client *c, robj *o, slice bytes, size_t beyond) {
    replyBlock *b = replyReserve(c, RESP_HEADER_MAX + 2 + sizeof(replyRef));
    if (unlikely(!b)) return;
    char *out = b->data + b->used;
    size_t len = putHeader(out, '$', (long long)bytes.len);

    memcpy(out + len, "\r\n", 2); /* of the bulk string: it follows the reference */
    *replyBlockRef(b, b->nrefs) = (replyRef){o, bytes.ptr, bytes.len, b->used + len};
    b->nrefs++;
    incrRefCount(o);
    account(c, b, len + 2, bytes.len);
    if (beyond) {
        b->beyond += beyond;
        accountMemory(c, beyond);
    }
}

/* Adds a copy of a part of a string. */
static __attribute__((noinline)) void addBulkCopy(client *c, const robj *o, size_t from, size_t len) {
    char digits[LONG_STR_SIZE];
    slice whole = objectString(o, digits);
    addReplyBulk(c, sliceOf(whole.ptr + from, len));
}

static __attribute__((noinline)) void addWholeReference(client *c, robj *o) {
    if (mayReply(c)) addBulkReference(c, o, objectRawString(o), 0);
}

/* Each case ends in a call of its own, so that none has to save registers for another. */
void addReplyBulkObject(client *c, robj *o) {
    if (unlikely(o->encoding != OBJ_ENC_RAW)) addBulkCopy(c, o, 0, objectStringLen(o));
    else if (mayRefer(o, o->value_len)) addWholeReference(c, o);
    else addReplyBulk(c, objectRawString(o));
}

void addReplyBulkObjectRange(client *c, robj *o, size_t from, size_t len) {
    debugAssert(from <= objectStringLen(o) && len <= objectStringLen(o) - from);
    if (o->encoding != OBJ_ENC_RAW || !mayRefer(o, len)) {
        addBulkCopy(c, o, from, len);
    } else if (mayReply(c)) {
        addBulkReference(c, o, sliceOf(objectRawString(o).ptr + from, len), o->value_len - len);
    }
}

void addReplyDouble(client *c, double d) {
    if (!mayReply(c)) return;
    replyBlock *b = replyReserve(c, RESP_DOUBLE_MAX);
    if (unlikely(!b)) return;
    account(c, b, respDouble(b->data + b->used, d, c->resp), 0);
}

/* Adds "<prefix>text\r\n" in RESP3, a bulk string in RESP2. */
static void addSimpleOrBulk(client *c, char prefix, slice text) {
    if (c->resp < 3) {
        addReplyBulk(c, text);
        return;
    }
    if (!mayReply(c)) return;
    replyAppend(c, &prefix, 1);
    replyAppend(c, text.ptr, text.len);
    replyAppend(c, "\r\n", 2);
}

void addReplyHumanLongDouble(client *c, long double d) {
    char digits[LONG_DOUBLE_STR_SIZE];
    addSimpleOrBulk(c, ',', sliceOf(digits, ld2string(digits, sizeof(digits), d, true)));
}

void addReplyBool(client *c, bool v) {
    if (!mayReply(c)) return;
    replyBlock *b = replyReserve(c, RESP_HEADER_MAX);
    if (unlikely(!b)) return;
    account(c, b, respBool(b->data + b->used, v, c->resp), 0);
}

void addReplyBigNum(client *c, slice digits) { addSimpleOrBulk(c, '(', digits); }

void addReplyVerbatim(client *c, slice text, const char ext[3]) {
    if (c->resp < 3) {
        addReplyBulk(c, text);
        return;
    }
    addHeader(c, '=', (long long)text.len + 4);
    if (!mayReply(c)) return;
    replyAppend(c, ext, 3);
    replyAppend(c, ":", 1);
    replyAppend(c, text.ptr, text.len);
    replyAppend(c, "\r\n", 2);
}

/* ---- Aggregates ------------------------------------------------------------------------------------------------- */

void addReplyArrayLen(client *c, long long n) { addHeader(c, '*', n); }

void addReplyMapLen(client *c, long long pairs) {
    if (c->resp >= 3) addHeader(c, '%', pairs);
    else addHeader(c, '*', pairs * 2);
}

void addReplySetLen(client *c, long long n) { addHeader(c, c->resp >= 3 ? '~' : '*', n); }

void addReplyPushLen(client *c, long long n) { addHeader(c, c->resp >= 3 ? '>' : '*', n); }

void addReplyAttributeLen(client *c, long long pairs) {
    serverAssert(c->resp >= 3);
    addHeader(c, '|', pairs);
}

/* The contents of the gap of a length that is not yet known. */
typedef struct openLength {
    replyBlock *block; /* borrowed: the block of the gap */
    char *outer;       /* the gap that was opened before it and is still open */
} openLength;
static_assert(sizeof(openLength) <= GAP_BYTES, "it fits the gap");

void *addReplyDeferredLen(client *c) {
    if (!mayReply(c)) return NULL;
    replyBlock *b = replyReserve(c, GAP_BYTES);
    if (unlikely(!b)) return NULL;
    char *gap = b->data + b->used;
    openLength p = {b, c->deferred};
    memcpy(gap, &p, sizeof(p));
    c->deferred = gap;
    account(c, b, GAP_BYTES, 0);
    return gap;
}

/* Writes the header into the gap and closes the rest of the gap. */
static void closeGap(client *c, char *gap, char prefix, long long n) {
    openLength p;

    if (!gap) return;
    serverAssert(c->deferred == gap);
    memcpy(&p, gap, sizeof(p));
    c->deferred = p.outer;

    replyBlock *b = p.block;
    size_t header = putHeader(gap, prefix, n), surplus = GAP_BYTES - header;
    size_t after = (size_t)(gap - b->data) + GAP_BYTES;
    memmove(gap + header, gap + GAP_BYTES, b->used - after);
    for (uint32_t i = b->nrefs; i > 0 && replyBlockRef(b, i - 1)->offset >= after; i--) {
        replyBlockRef(b, i - 1)->offset -= surplus;
    }
    b->used -= surplus;
    b->total -= surplus;
    c->output_bytes -= surplus;
}

bool addReplyGiveUp(client *c, const void *outer) {
    if (c->deferred == outer) return false;
    while (c->deferred != outer) {
        openLength p;
        serverAssert(c->deferred);
        memcpy(&p, c->deferred, sizeof(p));
        c->deferred = p.outer;
    }
    closeForMemory(c, GAP_BYTES);
    return true;
}

/* Returns the block of the open chain that contains the gap; NULL if there is none. */
static const replyBlock *blockOfGap(const client *c, const char *gap) {
    const replyBlock *b = c->reply_head;
    while (b && !(gap >= b->data && gap + GAP_BYTES <= b->data + b->used)) b = b->next;
    return b;
}

void replyCheck(const client *c) {
    assertMainRole();
    const replyBlock *last = NULL;

    for (const replyBlock *b = c->reply_head; b; b = b->next) {
        replyBlockCheck(b);
        serverAssert(b->sent == 0);
        last = b;
    }
    serverAssert(c->reply_tail == last);

    /* From the innermost to the outermost: each gap precedes the one that was opened after it. */
    const replyBlock *inner_block = NULL;
    const char *inner = NULL;
    for (const char *gap = c->deferred; gap;) {
        const replyBlock *b = blockOfGap(c, gap);
        openLength p;
        serverAssert(b != NULL);
        memcpy(&p, gap, sizeof(p));
        serverAssert(p.block == b);
        if (inner_block == b) serverAssert(gap + GAP_BYTES <= inner);
        for (const replyBlock *after = b->next; inner_block && inner_block != b; after = after->next) {
            serverAssert(after != NULL);
            if (after == inner_block) break;
        }
        inner_block = b;
        inner = gap;
        gap = p.outer;
    }
}

void setDeferredArrayLen(client *c, void *at, long long n) { closeGap(c, at, '*', n); }

void setDeferredMapLen(client *c, void *at, long long pairs) {
    if (c->resp >= 3) closeGap(c, at, '%', pairs);
    else closeGap(c, at, '*', pairs * 2);
}

void setDeferredSetLen(client *c, void *at, long long n) { closeGap(c, at, c->resp >= 3 ? '~' : '*', n); }

void setDeferredPushLen(client *c, void *at, long long n) { closeGap(c, at, c->resp >= 3 ? '>' : '*', n); }

void addReplyHelp(client *c, const char *const *lines) {
    sds name = sdsFromSlice(c->argv[0]);
    long long count = 0;
    sdsToUpper(name);
    while (lines[count]) count++;
    addReplyArrayLen(c, count + 3);
    addReplyStatusFormat(c, "%s <subcommand> [<arg> [value] [opt] ...]. Subcommands are:", name);
    for (long long i = 0; i < count; i++) addReplyStatus(c, lines[i]);
    addReplyStatus(c, "HELP");
    addReplyStatus(c, "    Show this help.");
    sdsFree(name);
}
