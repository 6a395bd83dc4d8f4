/* key_check.h -- debug builds see that a command touches the keys and databases it names, and no others.
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
    const struct keyMark *outer; /* borrowed: of the command within which this one runs, or NULL */
    aclQuestion question;        /* borrowed from the record */
    namedKey *keys, few[8];      /* keys: owns what is not `few`; by hash */
    uint32_t nkeys;
    bool off;
} keyMark;

/* Around the handler of a command: what is touched in between must be what users are asked for. `mark` stays where it
 * is. */
void keyCheckBegin(keyMark *mark, const client *c);
void keyCheckEnd(const keyMark *mark);
/* Around what is nobody's command within one; keyCheckEnd() ends it. */
void keyCheckPause(keyMark *mark);
#else
typedef struct keyMark {
    char unused;
} keyMark;

static inline void keyCheckBegin(const keyMark *mark, const client *c) {
    (void)mark;
    (void)c;
}

static inline void keyCheckPause(const keyMark *mark) {
    (void)mark;
}

static inline void keyCheckEnd(const keyMark *mark) {
    (void)mark;
}
#endif

/* Boot. Release builds: nothing. */
void keyCheckInit(void);

#endif
