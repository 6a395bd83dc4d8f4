/* line_keys.h -- which key do these bytes of a terminal mean?
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLI_LINE_KEYS_H
#define CLI_LINE_KEYS_H

#include "platform.h"

typedef enum {
    KEY_MORE, /* not a whole key yet */
    KEY_TEXT, /* characters, one or many */
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
    KEY_PASTE, /* what was cut */
    KEY_SWAP,
    KEY_PASTE_BEGINS, /* the terminal's paste, up to KEY_PASTE_ENDS */
    KEY_PASTE_ENDS
} lineKey;

/* The key at `p` (len >= 1) and in *used how many bytes it takes, 0 with KEY_MORE. `waited`: no more bytes came for a
 * while, so that an escape is the key of that name and cut characters are what they are; never KEY_MORE then. */
lineKey lineKeyDecode(const char *p, size_t len, bool waited, size_t *used);

#endif
