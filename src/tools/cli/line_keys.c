/* line_keys.c -- decodes the bytes that a terminal sends into keys.
 *
 *     ESC [ 3 ~        ESC [ 1 ; 5 C        ESC O H        ESC b          0x17
 *     CSI with number  ... with modifier    SS3            Alt + letter   Ctrl + letter
 *
 * The sequences of xterm, the Linux console, rxvt, screen and tmux are built in instead of being read from terminfo:
 * all of them agree on these keys, and the program needs no library for it.
 *
 * Tests       tests/unit/tools/line_keys_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "line_keys.h"
#include "utf8.h"

#define ESC 0x1b
#define SEQUENCE_MAX 32 /* a longer sequence is skipped */

static lineKey controlKey(unsigned char c) {
    static const lineKey keys[0x80] = {[0x01] = KEY_HOME,          [0x02] = KEY_LEFT,     [0x03] = KEY_INTERRUPT,
                                       [0x04] = KEY_DELETE_OR_END, [0x05] = KEY_END,      [0x06] = KEY_RIGHT,
                                       [0x08] = KEY_DELETE_LEFT,   [0x09] = KEY_TAB,      [0x0a] = KEY_ENTER,
                                       [0x0b] = KEY_CUT_RIGHT,     [0x0c] = KEY_CLEAR,    [0x0d] = KEY_ENTER,
                                       [0x0e] = KEY_DOWN,          [0x10] = KEY_UP,       [0x12] = KEY_SEARCH,
                                       [0x14] = KEY_SWAP,          [0x15] = KEY_CUT_LEFT, [0x17] = KEY_CUT_WORD_LEFT,
                                       [0x19] = KEY_PASTE,         [0x1a] = KEY_SUSPEND,  [0x7f] = KEY_DELETE_LEFT};
    return keys[c] != KEY_MORE ? keys[c] : KEY_UNKNOWN; /* KEY_MORE is 0 */
}

static lineKey altKey(char c) {
    switch (c) {
    case 'b': return KEY_WORD_LEFT;
    case 'f': return KEY_WORD_RIGHT;
    case 'd': return KEY_CUT_WORD_RIGHT;
    case 0x7f:
    case 0x08: return KEY_CUT_WORD_LEFT;
    default: return KEY_UNKNOWN;
    }
}

/* ESC [ number ~ */
static lineKey numberedKey(int number) {
    switch (number) {
    case 1:
    case 7: return KEY_HOME;
    case 3: return KEY_DELETE_RIGHT;
    case 4:
    case 8: return KEY_END;
    case 200: return KEY_PASTE_BEGINS;
    case 201: return KEY_PASTE_ENDS;
    default: return KEY_UNKNOWN;
    }
}

/* ESC [ ... letter, ESC O letter; `jumps` if Ctrl or Alt is held down. */
static lineKey letteredKey(char letter, bool jumps) {
    switch (letter) {
    case 'A': return KEY_UP;
    case 'B': return KEY_DOWN;
    case 'C': return jumps ? KEY_WORD_RIGHT : KEY_RIGHT;
    case 'D': return jumps ? KEY_WORD_LEFT : KEY_LEFT;
    case 'H': return KEY_HOME;
    case 'F': return KEY_END;
    default: return KEY_UNKNOWN;
    }
}

/* Decodes a sequence that begins with "ESC [": parameters, then one final byte. */
static lineKey sequenceKey(const char *p, size_t len, size_t *used) {
    int numbers[2] = {0, 0}, count = 0;
    for (size_t i = 2; i < len && i < SEQUENCE_MAX; i++) {
        char c = p[i];
        if (c >= '0' && c <= '9') {
            if (count < 2 && numbers[count] < 1000) numbers[count] = numbers[count] * 10 + (c - '0');
        } else if (c == ';') {
            count++;
        } else if (c >= 0x40 && c <= 0x7e) {
            *used = i + 1;
            /* The modifier is 1 plus a sum: Shift 1, Alt 2, Ctrl 4. */
            bool jumps = count > 0 && numbers[1] > 2;
            return c == '~' ? numberedKey(numbers[0]) : letteredKey(c, jumps);
        } else if (c < 0x20) {
            *used = i; /* the sequence is cut off by another key */
            return KEY_UNKNOWN;
        }
    }
    if (len < SEQUENCE_MAX) return KEY_MORE;
    *used = SEQUENCE_MAX;
    return KEY_UNKNOWN;
}

static lineKey escapeKey(const char *p, size_t len, size_t *used) {
    if (len == 1) return KEY_MORE;
    if (p[1] == '[') return sequenceKey(p, len, used);
    if (p[1] == 'O') {
        if (len == 2) return KEY_MORE;
        *used = 3;
        return letteredKey(p[2], false);
    }
    if (p[1] == ESC) {
        *used = 1;
        return KEY_ESCAPE;
    }
    *used = 2;
    return altKey(p[1]);
}

/* Decodes as many complete characters as there are. */
static lineKey textKey(const char *p, size_t len, bool waited, size_t *used) {
    size_t n = 0;
    while (n < len && (unsigned char)p[n] >= 0x20 && p[n] != 0x7f) {
        uint32_t code;
        if (!waited && utf8IsCut(p + n, len - n)) break;
        n += utf8Decode(p + n, len - n, &code);
    }
    *used = n;
    return n ? KEY_TEXT : KEY_MORE;
}

lineKey lineKeyDecode(const char *p, size_t len, bool waited, size_t *used) {
    *used = 0;
    if (p[0] == ESC) {
        lineKey key = escapeKey(p, len, used);
        if (key != KEY_MORE || !waited) return key;
        *used = len;
        return len == 1 ? KEY_ESCAPE : KEY_UNKNOWN;
    }
    if ((unsigned char)p[0] >= 0x20 && p[0] != 0x7f) return textKey(p, len, waited, used);
    *used = 1;
    return controlKey((unsigned char)p[0]);
}
