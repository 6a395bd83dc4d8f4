/* bitfield.c -- integers of any width inside a string: BITFIELD, BITFIELD_RO.
 *
 * The arguments are parsed twice: the first pass checks all of them and finds how long the string must be, the second
 * one performs the operations. So a million operations need no memory for a parsed form.
 *
 * Arithmetic is done with 128 bits, so no operand or result overflows; only the width of the integer can be exceeded.
 *
 * Threads     main.
 * Invariants  1. If any argument is wrong, the string does not change.
 *             2. The string grows to the end of the last integer that is to be written, even if OVERFLOW FAIL then
 *                refuses to write it.
 * Tests       tests/type/bitmap.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
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
    long long operand; /* for SET and INCRBY */
} fieldOperation;

/* ---- Arguments --------------------------------------------------------------------------------------------------- */

static bool parseRule(client *c, uint32_t index, overflowRule *rule) {
    if (sliceIs(c->argv[index], "wrap")) *rule = OVERFLOW_WRAP;
    else if (sliceIs(c->argv[index], "sat")) *rule = OVERFLOW_SAT;
    else if (sliceIs(c->argv[index], "fail")) *rule = OVERFLOW_FAIL;
    else return addReplyError(c, "Invalid OVERFLOW type specified");
    return true;
}

/* Parses a type: u1 to u63, i1 to i64. */
static bool parseWidth(client *c, uint32_t index, fieldOperation *op) {
    slice text = c->argv[index];
    long long width;

    op->is_signed = text.len && text.ptr[0] == 'i';
    if (text.len == 0 || (!op->is_signed && text.ptr[0] != 'u') || !string2ll(text.ptr + 1, text.len - 1, &width) ||
        width < 1 || width > (op->is_signed ? 64 : 63))
        return addReplyError(
            c, "Invalid bitfield type. Use something like i16 u8. Note that u64 is not supported but i64 is.");
    op->width = (unsigned)width;
    return true;
}

typedef enum { PARSED_OPERATION, PARSED_RULE, PARSED_WRONG } parsedWords;

/* Parses the words from argument *at on, one operation or OVERFLOW with the rule for the operations after it, and moves
 * *at after them. Returns PARSED_WRONG after an error reply. */
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

/* The requirements of all operations together. */
typedef struct fieldNeeds {
    uint32_t count;
    bool writes;
    uint64_t bits; /* end of the last integer that is written */
} fieldNeeds;

/* Checks all arguments. Returns false after an error reply. */
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

/* Returns the number that the low `width` bits stand for. */
static wideInteger numberOf(const fieldOperation *op, uint64_t bits) {
    if (!op->is_signed) return bits;
    return (int64_t)(bits << (64 - op->width)) >> (64 - op->width);
}

static wideInteger maxOf(const fieldOperation *op) {
    return (wideInteger)((UINT64_MAX >> (64 - op->width)) >> op->is_signed);
}

static wideInteger minOf(const fieldOperation *op) { return op->is_signed ? -maxOf(op) - 1 : 0; }

/* Makes `value` fit the width as the overflow rule demands. Returns false if it must not be stored. */
static bool fitToWidth(const fieldOperation *op, wideInteger *value) {
    bool above = *value > maxOf(op), below = *value < minOf(op);

    if (!above && !below) return true;
    switch (op->rule) {
    case OVERFLOW_WRAP: *value = numberOf(op, (uint64_t)*value & (UINT64_MAX >> (64 - op->width))); break;
    case OVERFLOW_SAT: *value = above ? maxOf(op) : minOf(op); break;
    case OVERFLOW_FAIL: return false;
    }
    return true;
}

/* Returns the value that SET or INCRBY is to store, before the overflow rule. For SET of an unsigned integer a negative
 * operand stands for the large number with the same bits. */
static wideInteger newValueOf(const fieldOperation *op, wideInteger old) {
    if (op->verb == FIELD_INCRBY) return old + op->operand;
    return op->is_signed ? (wideInteger)op->operand : (wideInteger)(uint64_t)op->operand;
}

/* The string that the operations read and write. The first operation that changes it makes it writable. */
typedef struct fieldString {
    hashedKey key;
    robj *o;
    slice bytes;    /* the bytes of `o` */
    char *writable; /* the same bytes, once they are writable; else NULL */
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

/* Performs one operation and adds its reply. */
static fieldResult performOperation(client *c, const fieldOperation *op, fieldString *string) {
    wideInteger old = numberOf(op, bitsGetField(string->bytes.ptr, string->bytes.len, op->at, op->width));

    if (op->verb == FIELD_GET) {
        addReplyLongLong(c, (long long)old);
        return FIELD_NOT_WRITTEN;
    }
    wideInteger value = newValueOf(op, old);
    if (!fitToWidth(op, &value)) {
        addReplyNull(c);
        return FIELD_NOT_WRITTEN;
    }
    addReplyLongLong(c, (long long)(op->verb == FIELD_SET ? old : value));
    if (value == old) return FIELD_WRITTEN_SAME;
    bitsSetField(openForChange(c, string), string->bytes.len, op->at, op->width, (uint64_t)value);
    return FIELD_WRITTEN;
}

/* Performs all operations. Returns the number of changes; in a string that has grown each write counts as one. */
static long long performAll(client *c, const fieldNeeds *needs, fieldString *string, bool grown) {
    fieldOperation op = {.rule = OVERFLOW_WRAP};
    long long changes = 0;

    addReplyArrayLen(c, needs->count);
    for (uint32_t at = 2; at < c->argc;) {
        if (parseWords(c, &at, &op) != PARSED_OPERATION) continue;
        fieldResult result = performOperation(c, &op, string);
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
    else if (grown) keyChanged(c, string.key, 0, NULL, 1); /* OVERFLOW FAIL refused all writes */
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
