/* expire_options.c -- options about expiry: EX, PX, KEEPTTL ... of SET, GETEX and HSETEX; NX, XX, GT, LT of EXPIRE.
 *
 * Not here    the commands (t_string.c, expire_cmds.c, t_hash_expire.c).
 * Threads     main.
 * Tests       tests/type/string.tcl, tests/type/hash_expire.tcl, tests/type/keys.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "expire_options.h"

#include "propagate.h"
#include "reply.h"
#include "store_state.h"

#include <limits.h>

#define MS_PER_S 1000
#define OPT_TIME (OPT_EX | OPT_PX | OPT_EXAT | OPT_PXAT)
#define OPT_EXPIRE (OPT_TIME | OPT_KEEPTTL | OPT_PERSIST)
#define ALL_OPTIONS (SET_OPTIONS | GETEX_OPTIONS | MSETEX_OPTIONS | HGETEX_OPTIONS | HSETEX_OPTIONS)

/* The options. `excludes` has the options that must not precede one. An option may be repeated, except the
 * comparisons: IFEQ and its kind. */
static const struct {
    const char *word;
    uint32_t flag;
    unsigned sets; /* commands that have it */
    uint32_t excludes;
} option_words[] = {
    {"NX", OPT_NX, SET_OPTIONS | MSETEX_OPTIONS | HSETEX_OPTIONS, OPT_XX | OPT_COMPARISON},
    {"XX", OPT_XX, SET_OPTIONS | MSETEX_OPTIONS | HSETEX_OPTIONS, OPT_NX | OPT_COMPARISON},
    {"IFEQ", OPT_IFEQ, SET_OPTIONS, OPT_CONDITION},
    {"IFNE", OPT_IFNE, SET_OPTIONS, OPT_CONDITION},
    {"IFDEQ", OPT_IFDEQ, SET_OPTIONS, OPT_CONDITION},
    {"IFDNE", OPT_IFDNE, SET_OPTIONS, OPT_CONDITION},
    {"GET", OPT_GET, SET_OPTIONS, 0},
    {"FNX", OPT_FNX, HSETEX_OPTIONS, OPT_FXX},
    {"FXX", OPT_FXX, HSETEX_OPTIONS, OPT_FNX},
    {"KEEPTTL", OPT_KEEPTTL, SET_OPTIONS | MSETEX_OPTIONS | HSETEX_OPTIONS, OPT_EXPIRE & ~OPT_KEEPTTL},
    {"PERSIST", OPT_PERSIST, GETEX_OPTIONS | HGETEX_OPTIONS, OPT_EXPIRE & ~OPT_PERSIST},
    {"EX", OPT_EX, ALL_OPTIONS, OPT_EXPIRE & ~OPT_EX},
    {"PX", OPT_PX, ALL_OPTIONS, OPT_EXPIRE & ~OPT_PX},
    {"EXAT", OPT_EXAT, ALL_OPTIONS, OPT_EXPIRE & ~OPT_EXAT},
    {"PXAT", OPT_PXAT, ALL_OPTIONS, OPT_EXPIRE & ~OPT_PXAT},
};

/* Parses the option at argument `at`. Returns the number of its arguments; 0 if it is unknown, or excluded by one
 * before it. */
static uint32_t takeOption(const client *c, uint32_t at, uint32_t end, optionSet set, expireOptions *opts) {
    for (size_t i = 0; i < array_len(option_words); i++) {
        uint32_t flag = option_words[i].flag;
        if (!sliceIs(c->argv[at], option_words[i].word)) continue;
        if (!(option_words[i].sets & set) || (opts->flags & option_words[i].excludes)) return 0;
        opts->flags |= flag;
        if (!(flag & (OPT_COMPARISON | OPT_TIME))) return 1;
        if (at + 1 == end) return 0;
        *(flag & OPT_COMPARISON ? &opts->compared_arg : &opts->expire_arg) = at + 1;
        return 2;
    }
    return 0;
}

bool expireOptionsParse(client *c, uint32_t at, uint32_t end, optionSet set, expireOptions *opts) {
    *opts = (expireOptions){.when_ms = NO_EXPIRE};
    while (at < end) {
        uint32_t taken = takeOption(c, at, end, set, opts);
        if (taken == 0) return addReplySyntaxError(c);
        at += taken;
    }
    return true;
}

bool expireOptionsTime(client *c, int64_t min, expireOptions *opts) {
    return opts->expire_arg == 0 || expireTimeParse(c, opts->expire_arg, opts->flags, min, &opts->when_ms);
}

bool expireTimeParse(client *c, uint32_t index, uint32_t flags, int64_t min, int64_t *when_ms) {
    long long when;
    if (!getLongLongFromArg(c, index, &when, NULL)) return false;
    long long base_ms = flags & (OPT_EX | OPT_PX) ? storeNowMs() : 0;
    long long scale = flags & (OPT_EX | OPT_EXAT) ? MS_PER_S : 1;
    if (when < min || __builtin_mul_overflow(when, scale, &when) || __builtin_add_overflow(when, base_ms, &when))
        return addReplyErrorExpire(c);
    *when_ms = when;
    return true;
}

long long expireTimeShown(int64_t when_ms, uint32_t form) {
    if (when_ms == NO_EXPIRE) return -1;
    int64_t ms = form & (OPT_EXAT | OPT_PXAT) ? when_ms : when_ms - storeNowMs();
    if (ms < 0) ms = 0;
    return form & (OPT_EX | OPT_EXAT) ? (int64_t)(((uint64_t)ms + MS_PER_S / 2) / MS_PER_S) : ms;
}

void propagateExpireAt(const client *c, const char *name, int64_t when_ms) {
    if (!propagateInstead(c, name)) return;
    propagateArg(c->argv[1]);
    propagateNumber(when_ms);
    propagateArgs(c, 3, c->argc);
    propagateDone();
}

/* ---- The conditions of EXPIRE and HEXPIRE ---- */

enum { IF_NONE = 1, IF_SOME = 2, IF_GREATER = 4, IF_LESS = 8 }; /* NX XX GT LT */

bool expireConditionsParse(client *c, uint32_t first, uint32_t end, unsigned *conditions) {
    *conditions = 0;
    for (uint32_t i = first; i < end; i++) {
        slice word = c->argv[i];
        if (sliceIs(word, "nx")) {
            *conditions |= IF_NONE;
        } else if (sliceIs(word, "xx")) {
            *conditions |= IF_SOME;
        } else if (sliceIs(word, "gt")) {
            *conditions |= IF_GREATER;
        } else if (sliceIs(word, "lt")) {
            *conditions |= IF_LESS;
        } else {
            return addReplyErrorFormat(c, "Unsupported option %.*s", (int)(word.len < INT_MAX ? word.len : INT_MAX),
                                       word.ptr);
        }
    }
    if ((*conditions & IF_NONE) && (*conditions & ~(unsigned)IF_NONE))
        return addReplyError(c, "NX and XX, GT or LT options at the same time are not compatible");
    if ((*conditions & IF_GREATER) && (*conditions & IF_LESS))
        return addReplyError(c, "GT and LT options at the same time are not compatible");
    return true;
}

bool expireConditionsMet(unsigned conditions, int64_t current_ms, int64_t when_ms) {
    if ((conditions & IF_NONE) && current_ms != NO_EXPIRE) return false;
    if ((conditions & IF_SOME) && current_ms == NO_EXPIRE) return false;
    if ((conditions & IF_GREATER) && (current_ms == NO_EXPIRE || when_ms <= current_ms)) return false;
    if ((conditions & IF_LESS) && current_ms != NO_EXPIRE && when_ms >= current_ms) return false;
    return true;
}
