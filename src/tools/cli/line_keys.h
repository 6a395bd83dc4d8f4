/* line_keys.h -- decodes the bytes that a terminal sends into keys.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLI_LINE_KEYS_H
#define CLI_LINE_KEYS_H

#include "platform.h"

typedef enum {
    KEY_MORE, /* the key is not complete yet */
    KEY_TEXT, /* one or more characters */
    KEY_UNKNOWN,
    KEY_ENTER,
    KEY_TAB,
    KEY_ESCAPE,
    KEY_INTERRUPT,
    KEY_SUSPEND,
    KEY_CLEAR,
    KEY_SEARCH,
    KEY_LEFT,
    KEY_RIGHT,
    KEY_UP,
    KEY_DOWN,
    KEY_HOME,
    KEY_END,
    KEY_WORD_LEFT,
    KEY_WORD_RIGHT,
    KEY_DELETE_LEFT,
    KEY_DELETE_RIGHT,
    KEY_DELETE_OR_END, /* Ctrl-D: the end of input in an empty line */
    KEY_CUT_LEFT,
    KEY_CUT_RIGHT,
    KEY_CUT_WORD_LEFT,
    KEY_CUT_WORD_RIGHT,
    KEY_PASTE, /* inserts the text that was cut last */
    KEY_SWAP,
    KEY_PASTE_BEGINS, /* start of a paste of the terminal, which ends with KEY_PASTE_ENDS */
    KEY_PASTE_ENDS
} lineKey;

/* Decodes the key at `p` (len >= 1); *used is its length in bytes, 0 with KEY_MORE. `waited` means that no more bytes
 * came for a while: then an escape is KEY_ESCAPE, incomplete characters are text, and KEY_MORE is not returned. */
lineKey lineKeyDecode(const char *p, size_t len, bool waited, size_t *used);

#endif
