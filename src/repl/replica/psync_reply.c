/* psync_reply.c -- parses the answers of a primary to PSYNC and SYNC: single lines, without their line ends.
 *
 * A number must be written in decimal as servers write it, and be in its range. A line must have nothing after its last
 * part.
 *
 * Not here    the header of an RDB (resp/snapshot_frame.h); the order of the lines, and acting on them (handshake.c).
 * Owns        nothing.
 * Threads     any.
 * Tests       tests/unit/repl/replica/psync_reply_test.c, tests/fuzz/repl_handshake_fuzz.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "psync_reply.h"

#include "numbers.h"

#include <string.h>

bool lineBegins(const char *line, const char *with) { return !strncmp(line, with, strlen(with)); }

/* Reads an ID of forty hexadecimal digits. Returns the text after it, or NULL if it is not valid. */
static const char *takeId(const char *text, char *id) {
    if (strspn(text, "0123456789abcdefABCDEF") != PRIMARY_ID_BYTES) return NULL;
    memcpy(id, text, PRIMARY_ID_BYTES);
    id[PRIMARY_ID_BYTES] = '\0';
    return text + PRIMARY_ID_BYTES;
}

/* Reads a number from `min` to `max` that is followed by the character `end`. Returns the text after `end` (or the end
 * of the text, if `end` is NUL), or NULL if it is not valid. */
static const char *takeNumber(const char *text, char end, long long min, long long max, long long *out) {
    const char *stop = text ? strchr(text, end) : NULL;
    if (!stop || !string2ll(text, (size_t)(stop - text), out) || *out < min || *out > max) return NULL;
    return end ? stop + 1 : stop;
}

static const char *takeBlank(const char *text) { return text && *text == ' ' ? text + 1 : NULL; }

/* ---- The reply to PSYNC ---- */

static psyncReply readContinue(const char *rest, replPosition *position) {
    if (*rest == '\0') return PSYNC_CONTINUES;
    const char *id = takeBlank(rest), *end = id ? takeId(id, position->id) : NULL;
    return end && *end == '\0' ? PSYNC_CONTINUES : PSYNC_MALFORMED;
}

static psyncReply readFull(const char *rest, replPosition *position) {
    const char *offset = takeBlank(takeId(rest, position->id));
    bool ok = takeNumber(offset, '\0', 0, PRIMARY_OFFSET_MAX, &position->offset) != NULL;
    return ok ? PSYNC_FULL : PSYNC_MALFORMED;
}

psyncReply psyncReplyParse(const char *line, replPosition *position) {
    *position = (replPosition){.offset = -1};
    if (lineBegins(line, "+CONTINUE")) return readContinue(line + 9, position);
    if (lineBegins(line, "+FULLRESYNC ")) return readFull(line + 12, position);
    if (lineBegins(line, "+DUALCHANNELSYNC")) return PSYNC_DUAL_CHANNEL;
    if (lineBegins(line, "-NOMASTERLINK") || lineBegins(line, "-LOADING")) return PSYNC_NOT_NOW;
    return PSYNC_UNKNOWN;
}

/* ---- The answer on a second connection ---- */

bool syncEndParse(const char *line, syncEnd *out) {
    *out = (syncEnd){.db = -1};
    if (!lineBegins(line, "$ENDOFF:")) return false;
    const char *at = takeNumber(line + 8, ' ', 0, PRIMARY_OFFSET_MAX, &out->position.offset);
    at = at ? takeBlank(takeId(at, out->position.id)) : NULL;
    at = takeNumber(at, ' ', -1, INT_MAX, &out->db);
    return takeNumber(at, '\0', LLONG_MIN, LLONG_MAX, &out->client) != NULL;
}
