/* bitfield.c -- integers of any width inside a string: BITFIELD, BITFIELD_RO.
 *
 * The arguments are gone through twice, first to check all of them and to learn how long the string must be, then to do
 * what they say: nothing has to be kept for a million operations.
 *
 * Arithmetic is done with 128 bits, in which no operand and no result overflows; what overflows is the field.
 *
 * Threads     main.
 * Invariants  1. An argument that is wrong anywhere leaves the string as it is.
 *             2. The string grows to the last field that is to be written, whether or not OVERFLOW FAIL lets it be.
 * Tests       tests/type/bitmap.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "bit_offset.h"
#include "bits.h"
#include "command_memory.h"
#include "commands.h"
#include "string_change.h"
#include "typed_key.h"

typedef enum { FIELD_GET, FIELD_SET, FIELD_INCRBY } fieldVerb;
typedef enum { OVERFLOW_WRAP, OVERFLOW_SAT, OVERFLOW_FAIL } overflowRule;
__extension__ typedef __int128 wideInteger;

typedef struct fieldOperation {
    fieldVerb verb;
    overflowRule rule;
    bool is_signed;
    unsigned width;
    uint64_t at;
    long long operand; /* of SET, INCRBY */
} fieldOperation;

/* ---- Arguments --------------------------------------------------------------------------------------------------- */

static bool parseRule(client *c, uint32_t index, overflowRule *rule) {
    if (sliceIs(c->argv[index], "wrap")) *rule = OVERFLOW_WRAP;
    else if (sliceIs(c->argv[index], "sat")) *rule = OVERFLOW_SAT;
    else if (sliceIs(c->argv[index], "fail")) *rule = OVERFLOW_FAIL;
    else {
        addReplyError(c, "Invalid OVERFLOW type specified");
        return false;
    }
    return true;
}

/* "u8", "i64" */
static bool parseWidth(client *c, uint32_t index, fieldOperation *op) {
    slice text = c->argv[index];
    long long width;

    op->is_signed = text.len && text.ptr[0] == 'i';
    if (text.len == 0 || (!op->is_signed && text.ptr[0] != 'u') || !string2ll(text.ptr + 1, text.len - 1, &width) ||
        width < 1 || width > (op->is_signed ? 64 : 63)) {
        addReplyError(c,
                      "Invalid bitfield type. Use something like i16 u8. Note that u64 is not supported but i64 is.");
        return false;
    }
    op->width = (unsigned)width;
    return true;
}

typedef enum { PARSED_OPERATION, PARSED_RULE, PARSED_WRONG } parsedWords;

/* Take the words at argument *at, an operation or the rule for those after it, and move *at behind them. PARSED_WRONG
 * after an error. */
static parsedWords parseWords(client *c, uint32_t *at, fieldOperation *op) {
    slice word = c->argv[*at];
    uint32_t left = c->argc - *at - 1, first = *at + 1;

    if (left >= 1 && sliceIs(word, "overflow")) {
        *at += 2;
        return parseRule(c, first, &op->rule) ? PARSED_RULE : PARSED_WRONG;
    }
    if (left >= 2 && sliceIs(word, "get")) op->verb = FIELD_GET;
    else if (left >= 3 && sliceIs(word, "set")) op->verb = FIELD_SET;
    else if (left >= 3 && sliceIs(word, "incrby")) op->verb = FIELD_INCRBY;
    else {
        addReplySyntaxError(c);
        return PARSED_WRONG;
    }
    *at += op->verb == FIELD_GET ? 3 : 4;
    if (!parseWidth(c, first, op) || !getBitOffsetFromArg(c, first + 1, op->width, &op->at)) return PARSED_WRONG;
    if (op->verb != FIELD_GET && !getLongLongFromArg(c, first + 2, &op->operand, NULL)) return PARSED_WRONG;
    return PARSED_OPERATION;
}

/* What all operations together want of the string. */
typedef struct fieldNeeds {
    uint32_t count;
    bool writes;
    uint64_t bits; /* up to the end of the last field that is written */
} fieldNeeds;

/* Check all arguments. False after an error. */
static bool parseAll(client *c, fieldNeeds *needs) {
    fieldOperation op = {.rule = OVERFLOW_WRAP};

    *needs = (fieldNeeds){0};
    for (uint32_t at = 2; at < c->argc;) {
        parsedWords found = parseWords(c, &at, &op);
        if (found == PARSED_WRONG) return false;
        if (found == PARSED_RULE) continue;
        needs->count++;
        if (op.verb == FIELD_GET) continue;
        needs->writes = true;
        if (op.at + op.width > needs->bits) needs->bits = op.at + op.width;
    }
    return true;
}

/* ---- Operations -------------------------------------------------------------------------------------------------- */

/* The field's low `width` bits as the number they are. */
static wideInteger numberOf(const fieldOperation *op, uint64_t bits) {
    if (!op->is_signed) return bits;
    return (int64_t)(bits << (64 - op->width)) >> (64 - op->width);
}

static wideInteger largest(const fieldOperation *op) {
    return (wideInteger)((UINT64_MAX >> (64 - op->width)) >> op->is_signed);
}

static wideInteger smallest(const fieldOperation *op) {
    return op->is_signed ? -largest(op) - 1 : 0;
}

/* Make `value` fit the field as the rule says. False: it is not to be stored. */
static bool fit(const fieldOperation *op, wideInteger *value) {
    bool above = *value > largest(op), below = *value < smallest(op);

    if (!above && !below) return true;
    switch (op->rule) {
    case OVERFLOW_WRAP: *value = numberOf(op, (uint64_t)*value & (UINT64_MAX >> (64 - op->width))); break;
    case OVERFLOW_SAT: *value = above ? largest(op) : smallest(op); break;
    case OVERFLOW_FAIL: return false;
    }
    return true;
}

/* What SET and INCRBY would store. SET of an unsigned field takes a negative number for the large one that has its
 * bits. */
static wideInteger wanted(const fieldOperation *op, wideInteger old) {
    if (op->verb == FIELD_INCRBY) return old + op->operand;
    return op->is_signed ? (wideInteger)op->operand : (wideInteger)(uint64_t)op->operand;
}

/* The string that operations work on. It is opened for changes by the first that makes one. */
typedef struct fieldString {
    hashedKey key;
    robj *o;
    slice bytes;    /* what `o` holds */
    char *writable; /* the same, once it is open */
} fieldString;

static char *openForChange(client *c, fieldString *string) {
    if (!string->writable) {
        string->o = stringMakeWritable(c, string->key, string->o, string->bytes.len);
        string->writable = objectWritableBytes(string->o);
        string->bytes = sliceOf(string->writable, string->bytes.len);
    }
    return string->writable;
}

typedef enum { FIELD_NOT_WRITTEN, FIELD_WRITTEN_SAME, FIELD_WRITTEN } fieldResult;

/* Do one operation and answer it. */
static fieldResult perform(client *c, const fieldOperation *op, fieldString *string) {
    wideInteger old = numberOf(op, bitsGetField(string->bytes.ptr, string->bytes.len, op->at, op->width));

    if (op->verb == FIELD_GET) {
        addReplyLongLong(c, (long long)old);
        return FIELD_NOT_WRITTEN;
    }
    wideInteger value = wanted(op, old);
    if (!fit(op, &value)) {
        addReplyNull(c);
        return FIELD_NOT_WRITTEN;
    }
    addReplyLongLong(c, (long long)(op->verb == FIELD_SET ? old : value));
    if (value == old) return FIELD_WRITTEN_SAME;
    bitsSetField(openForChange(c, string), string->bytes.len, op->at, op->width, (uint64_t)value);
    return FIELD_WRITTEN;
}

/* Do all operations. Gives the number of changes; in a string that has grown each write is one. */
static long long performAll(client *c, const fieldNeeds *needs, fieldString *string, bool grown) {
    fieldOperation op = {.rule = OVERFLOW_WRAP};
    long long changes = 0;

    addReplyArrayLen(c, needs->count);
    for (uint32_t at = 2; at < c->argc;) {
        if (parseWords(c, &at, &op) != PARSED_OPERATION) continue;
        fieldResult result = perform(c, &op, string);
        if (result == FIELD_WRITTEN || (grown && result == FIELD_WRITTEN_SAME)) changes++;
    }
    return changes;
}

static void readFields(client *c, const fieldNeeds *needs) {
    fieldString string = {.key = clientKeyAt(c, 1)};
    char digits[LONG_STR_SIZE];

    if (!typedKeyRead(c, string.key, OBJ_STRING, &string.o)) return;
    if (string.o) string.bytes = objectString(string.o, digits);
    performAll(c, needs, &string, false);
}

static void writeFields(client *c, const fieldNeeds *needs) {
    fieldString string = {.key = clientKeyAt(c, 1)};
    size_t len = (size_t)((needs->bits + 7) / 8);
    char digits[LONG_STR_SIZE];

    if (!typedKeyWrite(c, string.key, OBJ_STRING, &string.o)) return;
    bool grown = !string.o || len > objectStringLen(string.o);
    if (grown) {
        string.o = stringOpen(c, string.key, string.o, len, len);
        if (!string.o) return;
        string.writable = objectWritableBytes(string.o);
        string.bytes = sliceOf(string.writable, len);
    } else {
        string.bytes = objectString(string.o, digits);
        if (!commandMemoryReserve(c, objectWritableNeeds(string.o, string.bytes.len))) return;
    }
    long long changes = performAll(c, needs, &string, grown);
    if (changes) keyChanged(c, string.key, NOTIFY_STRING, "setbit", changes);
    else if (grown) keyChanged(c, string.key, 0, NULL, 1); /* only the length, by what OVERFLOW FAIL kept back */
}

void bitfieldCommand(client *c) {
    fieldNeeds needs;

    if (!parseAll(c, &needs)) return;
    if (needs.writes) writeFields(c, &needs);
    else readFields(c, &needs);
}

void bitfieldRoCommand(client *c) {
    fieldNeeds needs;

    if (!parseAll(c, &needs)) return;
    if (needs.writes) addReplyError(c, "BITFIELD_RO only supports the GET subcommand");
    else readFields(c, &needs);
}
