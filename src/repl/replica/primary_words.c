/* primary_words.c -- what a primary says before its stream begins: lines, without their ends, taken apart.
 *
 * Numbers are as servers write them, and in the range where they mean something; nothing may follow.
 *
 * Not here    the header of a snapshot (resp/snapshot_frame.h); when which line is expected, and what follows from it
 *             (handshake.c).
 * Owns        nothing.
 * Threads     any.
 * Tests       tests/unit/repl/replica/primary_words_test.c, tests/fuzz/repl_handshake_fuzz.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "primary_words.h"

#include "numbers.h"

#include <string.h>

bool lineBegins(const char *line, const char *with) {
    return !strncmp(line, with, strlen(with));
}

/* Forty digits; behind them, NULL: they are not that. */
static const char *takeId(const char *text, char *id) {
    if (strspn(text, "0123456789abcdefABCDEF") != PRIMARY_ID_BYTES) return NULL;
    memcpy(id, text, PRIMARY_ID_BYTES);
    id[PRIMARY_ID_BYTES] = '\0';
    return text + PRIMARY_ID_BYTES;
}

/* A number in a range, up to `end`; behind that, NULL: it is not there. */
static const char *takeNumber(const char *text, char end, long long min, long long max, long long *out) {
    const char *stop = text ? strchr(text, end) : NULL;
    if (!stop || !string2ll(text, (size_t)(stop - text), out) || *out < min || *out > max) return NULL;
    return end ? stop + 1 : stop;
}

static const char *takeBlank(const char *text) {
    return text && *text == ' ' ? text + 1 : NULL;
}

/* ---- The reply to PSYNC ---- */

static primaryAnswer readContinue(const char *rest, primaryPlace *place) {
    if (*rest == '\0') return PRIMARY_CONTINUES;
    const char *id = takeBlank(rest), *end = id ? takeId(id, place->id) : NULL;
    return end && *end == '\0' ? PRIMARY_CONTINUES : PRIMARY_MUMBLES;
}

static primaryAnswer readFull(const char *rest, primaryPlace *place) {
    const char *offset = takeBlank(takeId(rest, place->id));
    bool ok = takeNumber(offset, '\0', 0, PRIMARY_OFFSET_MAX, &place->offset) != NULL;
    return ok ? PRIMARY_SENDS_ALL : PRIMARY_MUMBLES;
}

primaryAnswer primaryReadAnswer(const char *line, primaryPlace *place) {
    *place = (primaryPlace){.offset = -1};
    if (lineBegins(line, "+CONTINUE")) return readContinue(line + 9, place);
    if (lineBegins(line, "+FULLRESYNC ")) return readFull(line + 12, place);
    if (lineBegins(line, "+DUALCHANNELSYNC")) return PRIMARY_WANTS_TWO;
    if (lineBegins(line, "-NOMASTERLINK") || lineBegins(line, "-LOADING")) return PRIMARY_NOT_NOW;
    return PRIMARY_KNOWS_NOT;
}

/* ---- A second connection ---- */

bool primaryReadEnd(const char *line, primaryEnd *out) {
    *out = (primaryEnd){.db = -1};
    if (!lineBegins(line, "$ENDOFF:")) return false;
    const char *at = takeNumber(line + 8, ' ', 0, PRIMARY_OFFSET_MAX, &out->place.offset);
    at = at ? takeBlank(takeId(at, out->place.id)) : NULL;
    at = takeNumber(at, ' ', -1, INT_MAX, &out->db);
    return takeNumber(at, '\0', LLONG_MIN, LLONG_MAX, &out->client) != NULL;
}
