/* expire_options.h -- parses EX, PX, EXAT, PXAT, KEEPTTL, PERSIST and the other options of SET, GETEX, HSETEX ...; and
 * the conditions NX, XX, GT and LT of EXPIRE, HEXPIRE and related commands.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef COMMANDS_EXPIRE_OPTIONS_H
#define COMMANDS_EXPIRE_OPTIONS_H

#include "client.h"

/* Commands that have such options. */
typedef enum {
    SET_OPTIONS = 1,
    GETEX_OPTIONS = 2,
    MSETEX_OPTIONS = 4,
    HGETEX_OPTIONS = 8,
    HSETEX_OPTIONS = 16
} optionSet;

enum {
    OPT_NX = 1 << 0,
    OPT_XX = 1 << 1,
    OPT_IFEQ = 1 << 2,
    OPT_GET = 1 << 3,
    OPT_FNX = 1 << 4,
    OPT_FXX = 1 << 5,
    OPT_KEEPTTL = 1 << 6,
    OPT_PERSIST = 1 << 7,
    /* Forms of an expiry: seconds or milliseconds, relative to now or since 1970. */
    OPT_EX = 1 << 8,
    OPT_PX = 1 << 9,
    OPT_EXAT = 1 << 10,
    OPT_PXAT = 1 << 11,
    /* Conditions of Redis 8.4, which Valkey does not have. */
    OPT_IFNE = 1 << 12,
    OPT_IFDEQ = 1 << 13,
    OPT_IFDNE = 1 << 14
};
#define OPT_COMPARISON (OPT_IFEQ | OPT_IFNE | OPT_IFDEQ | OPT_IFDNE)
#define OPT_CONDITION (OPT_NX | OPT_XX | OPT_COMPARISON)

#define NO_EXPIRE (-1)

typedef struct expireOptions {
    uint32_t flags;        /* OPT_ */
    uint32_t compared_arg; /* the argument after IFEQ, IFNE, IFDEQ or IFDNE */
    uint32_t expire_arg;   /* the argument after EX, PX, EXAT or PXAT; 0 if none of them was given */
    int64_t when_ms;       /* NO_EXPIRE until expireOptionsTime() */
} expireOptions;

/* Parses the options of a command in the arguments from `at` up to `end`, except the number of the expiry, which
 * expireOptionsTime() reads. Returns false after a syntax error reply. */
bool expireOptionsParse(client *c, uint32_t at, uint32_t end, optionSet set, expireOptions *opts) must_check;
/* Sets when_ms as expireTimeParse() does, if an expiry was given. Returns false after an error reply. */
bool expireOptionsTime(client *c, int64_t min, expireOptions *opts) must_check;
/* Converts the number in argument `index` to milliseconds since 1970. `flags` has one of OPT_EX, OPT_PX, OPT_EXAT and
 * OPT_PXAT, the form of the number. Returns false, after an error reply, if it is no integer, is below `min`, or
 * overflows. */
bool expireTimeParse(client *c, uint32_t index, uint32_t flags, int64_t min, int64_t *when_ms) must_check;
/* Returns the reply of TTL, PTTL, EXPIRETIME and PEXPIRETIME (by `form`) for an expiry; -1 if it is NO_EXPIRE. */
long long expireTimeShown(int64_t when_ms, uint32_t form);

/* Propagates PEXPIREAT or HPEXPIREAT (`name`) in place of a command of the same family: with the time `when_ms`, and
 * the other arguments as they were sent. */
void propagateExpireAt(const client *c, const char *name, int64_t when_ms);

/* --- NX, XX, GT, LT --- */
/* Parses these words from argument `first` up to `end`. Returns false, after an error reply, if one is unknown or they
 * exclude each other. */
bool expireConditionsParse(client *c, uint32_t first, uint32_t end, unsigned *conditions) must_check;
/* Returns whether the conditions allow the expiry `when_ms` for a key or field that has `current_ms` now. -1 (no
 * expiry) is later than any. */
bool expireConditionsMet(unsigned conditions, int64_t current_ms, int64_t when_ms);

#endif
