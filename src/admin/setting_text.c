/* setting_text.c -- converts the value of a setting from and to text, with all checks.
 *
 * Everything that depends on the type of a setting is here, so that the command line, the file, CONFIG SET, CONFIG GET
 * and CONFIG REWRITE agree. The error texts are those of Valkey, which existing clients know.
 *
 * Not here    the settings (the layers' tables), whether a value may change now (config.c).
 * Owns        the buffer of the last error text; values belong to the layers' structs.
 * Threads     main.
 * Invariants  1. settingRestore(s, settingText(s)) changes nothing.
 * Tests       tests/unit/admin/setting_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "setting_text.h"

#include "numbers.h"
#include "panic.h"
#include "zmalloc.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

/* Buffer of error texts with a range or a list of words. The caller uses a text before it sets the next value. */
static char error_text[1024];

static bool settingTextRefuse(const char **err, const char *text) {
    *err = text;
    return false;
}

static bool inRange(const setting *s, long long number, const char **err) {
    if (number >= s->min && number <= s->max) return true;
    snprintf(error_text, sizeof(error_text),
             s->type == SETTING_OCTAL ? "argument must be between %llo and %llo inclusive"
                                      : "argument must be between %lld and %lld inclusive",
             s->min, s->max);
    return settingTextRefuse(err, error_text);
}

/* Parses a memory size. A unit without digits is zero, as is the empty text. */
static bool parseBytes(const char *text, unsigned long long *bytes) {
    static const char *const units[] = {"", "b", "k", "kb", "m", "mb", "g", "gb"};
    for (size_t i = 0; i < array_len(units); i++)
        if (!strcasecmp(text, units[i])) {
            *bytes = 0;
            return true;
        }
    return memory2ull(text, strlen(text), bytes);
}

static bool parseMemory(const setting *s, const char *text, long long *out, const char **err) {
    unsigned long long bytes;
    size_t len = strlen(text);
    if (s->type == SETTING_PERCENT_OR_MEMORY && len && text[len - 1] == '%') {
        if (!string2ll(text, len - 1, out) || *out < 0)
            return settingTextRefuse(err, "argument must be a memory or percent value");
        if (*out > 100) return settingTextRefuse(err, "percentage argument must be less or equal to 100");
        *out = -*out;
        return true;
    }
    if (s->min < 0 && s->type == SETTING_MEMORY && string2ll(text, len, out)) return inRange(s, *out, err);
    if (!parseBytes(text, &bytes))
        return settingTextRefuse(err, s->type == SETTING_MEMORY ? "argument must be a memory value"
                                                                : "argument must be a memory or percent value");
    if (bytes > LLONG_MAX) {
        inRange(s, LLONG_MIN, err);
        return settingTextRefuse(err, error_text);
    }
    *out = (long long)bytes;
    return inRange(s, *out, err);
}

static bool parseOctal(const setting *s, const char *text, long long *out, const char **err) {
    char *end;
    *out = strtoll(text, &end, 8);
    if (*end) return settingTextRefuse(err, "argument couldn't be parsed as an octal number");
    return inRange(s, *out, err);
}

static bool refuseNames(const setting *s, const char **err) {
    size_t at = (size_t)snprintf(error_text, sizeof(error_text), "argument(s) must be one of the following: ");
    for (const settingName *n = s->names; n->name && at < sizeof(error_text); n++)
        at += (size_t)snprintf(error_text + at, sizeof(error_text) - at, "%s%s", n == s->names ? "" : ", ", n->name);
    return settingTextRefuse(err, error_text);
}

/* Parses names: exactly one for ENUM, any number for FLAGS. */
static bool parseNames(const setting *s, char **words, int count, long long *out, const char **err) {
    *out = 0;
    if (count == 0) return refuseNames(s, err);
    for (int i = 0; i < count; i++) {
        const settingName *n = s->names;
        while (n->name && strcasecmp(n->name, words[i])) n++;
        if (!n->name) return refuseNames(s, err);
        *out |= n->value;
    }
    return true;
}

static bool parseNumber(const setting *s, sds *words, int count, long long *out, const char **err) {
    switch (s->type) {
    case SETTING_BOOL:
        *out = !strcasecmp(words[0], "yes");
        return *out || !strcasecmp(words[0], "no") || settingTextRefuse(err, "argument must be 'yes' or 'no'");
    case SETTING_INT:
        if (!string2ll(words[0], sdsLen(words[0]), out))
            return settingTextRefuse(err, "argument couldn't be parsed into an integer");
        return inRange(s, *out, err);
    case SETTING_MEMORY:
    case SETTING_PERCENT_OR_MEMORY: return parseMemory(s, words[0], out, err);
    case SETTING_OCTAL: return parseOctal(s, words[0], out, err);
    case SETTING_ENUM:
    case SETTING_FLAGS: return parseNames(s, words, count, out, err);
    case SETTING_STRING:
    case SETTING_BYTES:
    case SETTING_SPECIAL: break;
    }
    return true;
}

static void storeString(const setting *s, const char *text) {
    char **value_at = s->value, *old = *value_at;
    *value_at = (s->empty_is_null && !*text) ? NULL : zstrdup(text);
    zfree(old);
}

static void storeBytes(const setting *s, const sds bytes) {
    sds *value_at = s->value;
    sdsFree(*value_at);
    *value_at = sdsLen(bytes) ? sdsDup(bytes) : NULL;
}

bool settingTakesWords(const setting *s) { return (s->flags & SETTING_MULTI_ARG) || s->type == SETTING_FLAGS; }

static bool setWords(const setting *s, sds *words, int count, bool checked, const char **err) {
    long long number = 0;
    if (!settingTakesWords(s) && count != 1) return settingTextRefuse(err, "wrong number of arguments");
    if (s->type == SETTING_SPECIAL) return s->set(s, words, count, err);
    if (!parseNumber(s, words, count, &number, err)) return false;
    const char *text = s->type == SETTING_STRING ? words[0] : NULL;
    if (checked && s->check && !s->check(text, number, err)) return false;
    if (s->type == SETTING_STRING) storeString(s, text);
    else if (s->type == SETTING_BYTES) storeBytes(s, words[0]);
    else settingStoreNumber(s, number);
    return true;
}

/* The text is split at each blank: two blanks in a row make an empty word, which no setting accepts. */
static bool setText(const setting *s, sds text, bool checked, const char **err) {
    int count = 0;
    if (!settingTakesWords(s)) return setWords(s, &text, 1, checked, err);
    sds *words = sdsSplitLen(text, sdsLen(text), " ", 1, &count);
    bool ok = setWords(s, words, *text ? count : 0, checked, err);
    sdsFreeSplitRes(words, count);
    return ok;
}

static sds numberText(const setting *s, long long number);

/* Returns the text that set() would produce, by setting the value and then restoring it. */
static sds trySpecial(const setting *s, const sds before, sds *words, int count, const char **err) {
    if (s->preview) return s->preview(s, words, count, err);
    sds now = s->get(s);
    if (sdsCmp(now, before)) settingRestore(s, before);
    sds text = s->set(s, words, count, err) ? s->get(s) : NULL;
    settingRestore(s, now);
    sdsFree(now);
    return text;
}

/* Returns the text that a setting of a plain type would get. A value that equals the present one is not checked
 * again. */
static sds tryPlain(const setting *s, sds *words, int count, const char **err) {
    long long number = 0;
    if (!parseNumber(s, words, count, &number, err)) return NULL;
    sds text = s->type == SETTING_STRING  ? sdsNew(words[0])
               : s->type == SETTING_BYTES ? sdsDup(words[0])
                                          : numberText(s, number);
    sds now = settingText(s);
    bool ok = !s->check || !sdsCmp(now, text) || s->check(s->type == SETTING_STRING ? words[0] : NULL, number, err);
    sdsFree(now);
    if (ok) return text;
    sdsFree(text);
    return NULL;
}

static sds preview(const setting *s, const sds before, sds *words, int count, const char **err) {
    if (!settingTakesWords(s) && count != 1) {
        *err = "wrong number of arguments";
        return NULL;
    }
    return s->type == SETTING_SPECIAL ? trySpecial(s, before, words, count, err) : tryPlain(s, words, count, err);
}

/* Splits the words of a line as the setting needs them. The caller frees the result by sdsFreeSplitRes(). Returns NULL
 * if quotes do not match. */
static sds *lineWords(const setting *s, sds *words, int *count) {
    if (settingTakesWords(s) && *count == 1 && strchr(words[0], ' ')) return sdsSplitArgs(words[0], count);
    sds *copy = zmalloc(((size_t)*count + 1) * sizeof(sds));
    for (int i = 0; i < *count; i++) copy[i] = sdsDup(words[i]);
    if (settingTakesWords(s) && *count == 1 && !*words[0]) sdsFree(copy[--*count]);
    return copy;
}

sds settingPreview(const setting *s, const sds before, sds *words, int count, const char **err) {
    *err = "Invalid argument";
    sds *split = lineWords(s, words, &count);
    sds text = split ? preview(s, before, split, count, err) : NULL;
    if (split) sdsFreeSplitRes(split, count);
    return text;
}

bool settingSetText(const setting *s, const sds text, const char **err) {
    *err = "Invalid argument";
    return setText(s, text, true, err);
}

bool settingSetWords(const setting *s, sds *words, int count, const char **err) {
    *err = "Invalid argument";
    sds *split = lineWords(s, words, &count);
    bool ok = split && setWords(s, split, count, true, err);
    if (split) sdsFreeSplitRes(split, count);
    return ok;
}

void settingRestore(const setting *s, const sds text) {
    const char *err = NULL;
    bool ok = setText(s, text, false, &err);
    debugAssert(ok || s->type == SETTING_SPECIAL);
    unused(ok);
}

void settingSetDefault(const setting *s) {
    const char *err = NULL;
    if (settingStoreNumber(s, s->default_number) || (s->type == SETTING_SPECIAL && !s->default_text)) return;
    sds text = sdsNew(s->default_text ? s->default_text : "");
    if (!setText(s, text, false, &err)) serverPanic("Bad default of setting '%s': %s", s->name, err);
    sdsFree(text);
}

static sds catFlags(sds out, const setting *s, int value) {
    bool first = true;
    for (const settingName *n = s->names; n->name; n++) {
        if (value ? !n->value || (value & n->value) != n->value : n->value) continue;
        out = sdsCatPrintf(out, "%s%s", first ? "" : " ", n->name);
        first = false;
    }
    return out;
}

static sds catEnum(sds out, const setting *s, int value) {
    const settingName *n = s->names;
    while (n->name && n->value != value) n++;
    return sdsCat(out, n->name ? n->name : "unknown");
}

static sds numberText(const setting *s, long long number) {
    sds out;
    switch (s->type) {
    case SETTING_BOOL: return sdsNew(number ? "yes" : "no");
    case SETTING_INT:
    case SETTING_MEMORY: return sdsFromLongLong(number);
    case SETTING_PERCENT_OR_MEMORY: out = sdsFromLongLong(llabs(number)); return number < 0 ? sdsCat(out, "%") : out;
    case SETTING_OCTAL: return sdsCatPrintf(sdsEmpty(), "%llo", (unsigned long long)number);
    case SETTING_ENUM: return catEnum(sdsEmpty(), s, (int)number);
    case SETTING_FLAGS: return catFlags(sdsEmpty(), s, (int)number);
    case SETTING_STRING:
    case SETTING_BYTES:
    case SETTING_SPECIAL: break;
    }
    serverPanic("Setting '%s' has no number", s->name);
}

sds settingText(const setting *s) {
    switch (s->type) {
    case SETTING_BOOL: return numberText(s, *(bool *)s->value);
    case SETTING_ENUM:
    case SETTING_FLAGS: return numberText(s, *(int *)s->value);
    case SETTING_STRING: return sdsNew(*(char **)s->value ? *(char **)s->value : "");
    case SETTING_BYTES: return *(sds *)s->value ? sdsDup(*(sds *)s->value) : sdsEmpty();
    case SETTING_SPECIAL: return s->get(s);
    default: return numberText(s, *(long long *)s->value);
    }
}

static sds catMemory(sds out, long long bytes) {
    static const struct {
        int shift;
        const char *unit;
    } units[] = {{30, "gb"}, {20, "mb"}, {10, "kb"}};
    for (size_t i = 0; bytes > 0 && i < array_len(units); i++)
        if (!(bytes & ((1LL << units[i].shift) - 1)))
            return sdsCatPrintf(out, "%lld%s", bytes >> units[i].shift, units[i].unit);
    return sdsCatPrintf(out, "%lld", bytes);
}

sds settingCatFileText(sds out, const setting *s) {
    if (s->type == SETTING_MEMORY) return catMemory(out, *(long long *)s->value);
    if (s->type == SETTING_PERCENT_OR_MEMORY && *(long long *)s->value > 0)
        return catMemory(out, *(long long *)s->value);
    sds text = settingText(s);
    bool quoted = s->type == SETTING_STRING || s->type == SETTING_BYTES ||
                  (s->type == SETTING_SPECIAL && !(s->flags & SETTING_MULTI_ARG));
    out = quoted || !sdsLen(text) ? sdsCatRepr(out, text, sdsLen(text)) : sdsCatSlice(out, sdsSlice(text));
    sdsFree(text);
    return out;
}
