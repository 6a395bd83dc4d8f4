/* key_check.h -- debug builds check that a command touches only what it names, and changes nothing if it only reads.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_KEY_CHECK_H
#define ENGINE_KEY_CHECK_H

#include "acl_check.h"

#ifdef DEBUG_ASSERTIONS
typedef struct namedKey {
    uint64_t hash;
    unsigned access; /* ACL_READ, ACL_WRITE */
} namedKey;

typedef struct keyMark {
    const struct keyMark *outer; /* borrowed: mark of the command within which this one runs, or NULL */
    aclQuestion question;        /* borrowed from the record */
    namedKey *keys, few[8];      /* sorted by hash; owns `keys` unless it points to `few` */
    uint32_t nkeys;
    bool off;
} keyMark;

/* Call before and after the handler of a command. Panics if the keys and databases that are touched in between are not
 * those that ACL is checked for. `mark` must not move. */
void keyCheckBegin(keyMark *mark, const client *c);
void keyCheckEnd(const keyMark *mark);
/* Suspends the check for code that belongs to no command, within one; keyCheckEnd() resumes it. */
void keyCheckPause(keyMark *mark);
#else
typedef struct keyMark {
    char unused;
} keyMark;

static inline void keyCheckBegin(const keyMark *mark, const client *c) { (void)mark, (void)c; }

static inline void keyCheckPause(const keyMark *mark) { (void)mark; }

static inline void keyCheckEnd(const keyMark *mark) { (void)mark; }
#endif

/* Call at startup. Does nothing in release builds. */
void keyCheckInit(void);

/* --- A command with the flag readonly changes nothing (readonly_check.c) ------------------------------------------ */

#ifdef DEBUG_ASSERTIONS
typedef struct readonlyMark {
    bool on;
    uint64_t fingerprint;
    long long expired, commands;
    uint32_t errors;
} readonlyMark;

/* Call before and after the command of `c` runs. `commands` is the number of commands that have run so far, of all
 * clients. readonlyEnd() asserts that the command's keys have not changed. */
readonlyMark readonlyBegin(const client *c, long long commands);
void readonlyEnd(const client *c, const readonlyMark *before, long long commands);
#endif

#endif
