/* migrate.c -- MIGRATE: moves keys to another server.
 *
 *   keys --> [AUTH] [SELECT] RESTORE RESTORE ... --> target      (RESTORE-ASKING in cluster mode)
 *            a reply to each <------------------------'     +OK: the key is deleted here
 *
 * A key must never be visible on both servers or on none. So commands of others about these keys wait until MIGRATE is
 * over; all others are executed while it makes payloads and waits for the target (engine/sliced.h). In a transaction or
 * a script, all wait. The timeout bounds each wait for the target: for 64 kB that are written, and for each reply.
 *
 * Keys are sent in rounds, and the replies to a round are read before the next one. So neither side has to buffer more
 * than one round, and acknowledged values are deleted before the next ones are copied. A round is so large that the
 * round-trip time does not matter.
 *
 * Only a reply that begins with "+" is a success. Any reply that does not begin with "+" or "-", and bytes after the
 * last reply, close the connection: a reply that is assigned to the wrong key would delete a key that has not arrived.
 *
 * Not here    connections (target_link.c), payloads (object/rdb_value.h), RESTORE (commands/keyspace/dump.c).
 * Owns        the migration, while its command runs.
 * Threads     main.
 * Invariants  1. A key is deleted when its own RESTORE was acknowledged, and not before.
 *             2. After the first reply to a RESTORE, no key is sent again over another connection.
 * Tests       tests/repl/migrate.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "migrate.h"

#include "clock.h"
#include "command_memory.h"
#include "rdb_value.h"
#include "key_changed.h"
#include "numbers.h"
#include "object_settings.h"
#include "panic.h"
#include "propagate.h"
#include "redact.h"
#include "reply.h"
#include "resp_format.h"
#include "sliced.h"
#include "slot_table.h"
#include "target_link.h"
#include "zmalloc.h"

#include <errno.h>
#include <limits.h>

#define KEY_ARG 3
#define FIRST_OPTION 6
#define DEFAULT_TIMEOUT_MS 1000
#define ROUND_BYTES ((size_t)1 << 20)
#define SKIPPED SIZE_MAX /* length of the name of a key that is skipped */
#define ROUND_KEYS 1000  /* so many replies fit into the socket's buffers, so that the target never has to wait */

typedef enum { MIGRATE_DONE, MIGRATE_CONNECTING, MIGRATE_WRITING, MIGRATE_READING } migrateResult;

typedef struct migration {
    client *c; /* borrowed */
    long long db, timeout_ms;
    bool copy, replace;
    bool sliced; /* others are served meanwhile */
    slice user, password;
    bool has_user, has_password;
    uint32_t first, args; /* index and number of the arguments that are keys */

    hashedKey *keys; /* owns: those that exist */
    size_t count;
    size_t sent;     /* keys that were sent or skipped */
    size_t answered; /* keys whose reply was read, or that were skipped */
    size_t deleted;  /* keys that were deleted: their names are moved to keys[0 .. deleted), deleted <= answered */
    sds error;       /* owns: the first error reply of the target; NULL without one */

    targetLink *link;            /* owns while it is connected */
    sds out;                     /* owns: bytes to be written */
    bool auth_sent, select_sent; /* AUTH or SELECT was sent and has no reply yet */
    bool refused;                /* one of the two has failed: keys were restored in a wrong database, or not at all */
    bool got_reply;              /* a reply to a RESTORE was read */
} migration;

static void migrationCheck(const migration *m) {
    debugAssert(m->deleted <= m->answered && m->answered <= m->sent && m->sent <= m->count && m->count <= m->args);
    debugAssert(m->deleted == 0 || (m->got_reply && !m->copy)); /* invariant 1 */
    debugAssert(sdsLen(m->out) < TARGET_PIECE_BYTES);
    debugAssert(!m->has_user || m->has_password);
    debugAssert(!m->refused || m->error);
    unused(m);
}

/* ---- Arguments ---- */

int migrateGetKeys(const serverCommand *cmd, const slice *argv, uint32_t argc, requestKey *out, int cap) {
    unused(cmd);
    uint32_t first = KEY_ARG, count = 1;
    for (uint32_t i = FIRST_OPTION; i < argc; i++) {
        if (sliceIs(argv[i], "auth")) i += 1;
        else if (sliceIs(argv[i], "auth2")) i += 2;
        else if (!sliceIs(argv[i], "keys")) continue;
        else if (argv[KEY_ARG].len > 0) return -1;
        else if (i + 1 < argc) {
            first = i + 1;
            count = argc - first;
            break;
        }
    }
    for (uint32_t i = 0; i < count && i < (uint32_t)cap; i++) {
        out[i].index = first + i;
        out[i].flags = CMD_KEY_RW | CMD_KEY_ACCESS | CMD_KEY_DELETE;
    }
    return (int)count;
}

static slice takeSecret(client *c, uint32_t index) {
    redactArgument(c, index);
    return c->argv[index];
}

/* Returns false after an error reply. */
static bool parseOptions(migration *m) {
    client *c = m->c;
    for (uint32_t i = FIRST_OPTION; i < c->argc; i++) {
        slice word = c->argv[i];
        uint32_t more = c->argc - 1 - i;
        if (sliceIs(word, "copy")) {
            m->copy = true;
        } else if (sliceIs(word, "replace")) {
            m->replace = true;
        } else if (sliceIs(word, "auth") && more >= 1) {
            m->password = takeSecret(c, ++i);
            m->has_password = true;
        } else if (sliceIs(word, "auth2") && more >= 2) {
            m->user = takeSecret(c, ++i);
            m->password = takeSecret(c, ++i);
            m->has_user = m->has_password = true;
        } else if (sliceIs(word, "keys")) {
            if (c->argv[KEY_ARG].len > 0) {
                addReplyError(c, "When using MIGRATE KEYS option, the key argument must be set to the empty string");
                return false;
            }
            m->first = i + 1;
            m->args = more;
            break;
        } else {
            addReplySyntaxError(c);
            return false;
        }
    }
    return true;
}

static bool migrateParse(client *c, migration *m) {
    *m = (migration){.c = c, .first = KEY_ARG, .args = 1};
    if (!parseOptions(m)) return false;
    if (!getLongLongFromArg(c, 5, &m->timeout_ms, NULL)) return false;
    if (!getLongLongFromArg(c, 4, &m->db, NULL)) return false;
    if (m->timeout_ms <= 0) m->timeout_ms = DEFAULT_TIMEOUT_MS;
    if (m->timeout_ms > INT_MAX) m->timeout_ms = INT_MAX;
    debugAssert(m->first + m->args <= c->argc);
    return true;
}

/* Finds the keys that exist. Returns false after an error reply, if the memory for the largest of them cannot be
 * reserved. */
static bool findKeys(migration *m) {
    client *c = m->c;
    size_t largest = 0;
    m->keys = zmalloc((m->args ? m->args : 1) * sizeof(*m->keys));
    for (uint32_t i = 0; i < m->args; i++) {
        hashedKey key = clientKeyAt(c, m->first + i);
        const robj *o = lookupKeyRead(c->db, key);
        if (!o) continue;
        m->keys[m->count++] = key;
        size_t bytes = objectMemUsage(o, 0);
        if (bytes > largest) largest = bytes;
    }
    return commandMemoryReserve(c, 3 * largest); /* as for DUMP */
}

/* ---- Sending ---- */

static bool migrateFlush(migration *m) {
    bool ok = targetWrite(m->link, sdsSlice(m->out));
    if (m->has_password) explicit_bzero(m->out, sdsLen(m->out));
    sdsClear(m->out);
    return ok;
}

static bool migratePut(migration *m, slice bytes) {
    if (bytes.len >= TARGET_PIECE_BYTES) return migrateFlush(m) && targetWrite(m->link, bytes);
    m->out = sdsCatSlice(m->out, bytes);
    return sdsLen(m->out) < TARGET_PIECE_BYTES || migrateFlush(m);
}

static bool putHeader(migration *m, char prefix, size_t n) {
    char header[RESP_HEADER_MAX];
    return migratePut(m, sliceOf(header, respHeader(header, prefix, (long long)n)));
}

static bool putArg(migration *m, slice arg) {
    return putHeader(m, '$', arg.len) && migratePut(m, arg) && migratePut(m, sliceStr("\r\n"));
}

static bool putNumber(migration *m, long long n) {
    char digits[LONG_STR_SIZE];
    return putArg(m, sliceOf(digits, ll2string(digits, n)));
}

static void addIntroduction(migration *m) {
    char select[RESP_SELECT_MAX];
    m->auth_sent = m->has_password;
    m->select_sent = !targetHasDb(m->link, m->db);
    if (m->auth_sent && m->has_user) m->out = RESP_CAT_REQUEST(m->out, sliceStr("AUTH"), m->user, m->password);
    else if (m->auth_sent) m->out = RESP_CAT_REQUEST(m->out, sliceStr("AUTH"), m->password);
    if (m->select_sent) m->out = sdsCatLen(m->out, select, respSelect(select, m->db));
}

/* Returns the time to live in ms, at least 1 because the clock has advanced since the command began; 0 without an
 * expiry. */
static long long timeLeft(const robj *o) {
    int64_t when_ms = objectExpire(o);
    if (when_ms == -1) return 0;
    int64_t left_ms = when_ms - clockWallMs();
    return left_ms < 1 ? 1 : left_ms;
}

static bool putRestore(migration *m, hashedKey key, robj *o, size_t *bytes) {
    long long left_ms = timeLeft(o);
    incrRefCount(o); /* others are served meanwhile: it may be evicted */
    sds payload = dumpPayloadOf(o, object_settings.compression);
    objectReleaseBorrowed(o);
    *bytes += sdsLen(payload);
    slice command = sliceStr(slots_enabled ? "RESTORE-ASKING" : "RESTORE"); /* the target is importing the slot */
    bool ok = putHeader(m, '*', m->replace ? 5 : 4) && putArg(m, command) && putArg(m, key.name) &&
              putNumber(m, left_ms) && putArg(m, sdsSlice(payload)) && (!m->replace || putArg(m, sliceStr("REPLACE")));
    sdsFree(payload);
    return ok;
}

/* Returns the value of a key, or marks the key as skipped and returns NULL: it may have expired since it was found, or
 * was named twice and has been deleted. */
static robj *peekValue(migration *m, size_t i) {
    const int flags = LOOKUP_NOTOUCH | LOOKUP_NOSTATS | LOOKUP_NONOTIFY;
    robj *o = lookupKeyReadWithFlags(m->c->db, m->keys[i], flags);
    if (!o) m->keys[i].name.len = SKIPPED;
    return o;
}

static bool sendRound(migration *m) {
    size_t bytes = 0, end = m->count - m->sent > ROUND_KEYS ? m->sent + ROUND_KEYS : m->count;
    for (; m->sent < end && bytes < ROUND_BYTES; m->sent++) {
        robj *o = peekValue(m, m->sent);
        if (o && !putRestore(m, m->keys[m->sent], o, &bytes)) return false;
    }
    migrationCheck(m);
    return migrateFlush(m);
}

/* ---- Replies ---- */

/* Reads a reply and sets `good` to whether it is a success. Returns false with errno if there is none. */
static bool readReply(migration *m, bool *good) {
    slice line;
    if (!targetReadLine(m->link, &line)) return false;
    if (line.len == 0 || (*line.ptr != '+' && *line.ptr != '-')) {
        errno = EBADMSG;
        return false;
    }
    *good = *line.ptr == '+';
    if (!*good && !m->error) m->error = sdsNewLen(line.ptr + 1, line.len - 1);
    return true;
}

static bool readIntroduction(migration *m) {
    bool auth = true, selected = true;
    if (m->auth_sent && !readReply(m, &auth)) return false;
    if (m->select_sent && !readReply(m, &selected)) return false;
    if (m->select_sent && selected) targetSetDb(m->link, m->db);
    m->refused = !auth || !selected;
    m->auth_sent = m->select_sent = false;
    return true;
}

/* Deletes keys[i], which the target has acknowledged, unless COPY was given. */
static void deleteAcknowledged(migration *m, size_t i) {
    client *c = m->c;
    hashedKey key = m->keys[i];
    debugAssert(m->got_reply && !m->refused && i == m->answered);
    if (m->copy) return;
    if (m->sliced) slicedNoLoops(c);
    if (dbDelete(c->db, key)) {
        keyChanged(c, key, NOTIFY_GENERIC, "del", 1);
        m->keys[m->deleted++] = key;
    }
    if (m->sliced) slicedLoops(c);
}

static bool readRound(migration *m) {
    bool good;
    if (!readIntroduction(m)) return false;
    for (; m->answered < m->sent; m->answered++) {
        if (m->keys[m->answered].name.len == SKIPPED) continue;
        if (!readReply(m, &good)) return false;
        m->got_reply = true;
        if (good && !m->refused) deleteAcknowledged(m, m->answered);
    }
    debugAssert(m->answered == m->sent);
    return true;
}

/* ---- The command ---- */

static migrateResult migrateExchange(migration *m) {
    debugAssert(!m->got_reply && m->deleted == 0); /* invariant 2 */
    m->sent = m->answered = 0;
    sdsClear(m->out);
    addIntroduction(m);
    do {
        if (!sendRound(m)) return MIGRATE_WRITING;
        if (!readRound(m)) return MIGRATE_READING;
    } while (m->sent < m->count && !m->refused);
    return MIGRATE_DONE;
}

/* Makes one attempt. If it fails, sets *error to errno. */
static migrateResult migrateAttempt(migration *m, int *error) {
    m->link = targetOpen(m->c->argv[1], m->c->argv[2], m->has_password, m->timeout_ms);
    if (!m->link) {
        *error = errno;
        return *error == ECONNREFUSED ? MIGRATE_WRITING : MIGRATE_CONNECTING;
    }
    migrateResult result = migrateExchange(m);
    *error = errno;
    if (m->error) targetForgetDb(m->link);
    if (result == MIGRATE_DONE) targetCache(m->link);
    else targetDrop(m->link);
    return result;
}

/* Propagates the keys that were deleted, even if others failed. */
static void propagateDeleted(const migration *m) {
    if (m->deleted == 0) {
        propagateNothing();
    } else if (propagateInstead(m->c, "DEL")) {
        for (size_t i = 0; i < m->deleted; i++) propagateArg(m->keys[i].name);
        propagateDone();
    }
}

static void reply(const migration *m, migrateResult result) {
    static const char *const failed[] = {[MIGRATE_CONNECTING] = "connecting to the client",
                                         [MIGRATE_WRITING] = "writing to target instance",
                                         [MIGRATE_READING] = "reading to target instance"};
    if (m->error) addReplyErrorFormat(m->c, "Target instance replied with error: %s", m->error);
    else if (result != MIGRATE_DONE) addReplyErrorFormat(m->c, "-IOERR error or timeout %s", failed[result]);
    else addReplyOk(m->c);
}

static void migrate(migration *m) {
    int error;
    m->out = sdsEmpty();
    migrateResult result = migrateAttempt(m, &error);
    bool broken = result == MIGRATE_WRITING || result == MIGRATE_READING;
    if (broken && !m->got_reply && error != ETIMEDOUT && error != EBADMSG) {
        sdsFree(m->error);
        m->error = NULL;
        result = migrateAttempt(m, &error);
    }
    migrationCheck(m);
    propagateDeleted(m);
    reply(m, result);
    sdsFree(m->out);
    sdsFree(m->error);
}

void migrateCommand(client *c) {
    migration m;
    if (!migrateParse(c, &m)) return;
    slicedStart slices = slicedBegin(c, NULL, SIZE_MAX - 1);
    if (slices == SLICED_POSTPONED) return;
    m.sliced = slices == SLICED_YES;
    if (m.sliced) slicedAlone(c);
    if (m.sliced) slicedLoops(c);
    if (findKeys(&m)) {
        if (m.count) migrate(&m);
        else addReplyStatus(c, "NOKEY");
    }
    zfree(m.keys);
    if (m.sliced) slicedEnd(c);
}
