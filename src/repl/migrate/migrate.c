/* migrate.c -- MIGRATE: keys move to another server.
 *
 *   found here --> [AUTH] [SELECT] RESTORE RESTORE ... --> target
 *                  a reply to each <------------------------'     +OK: that key goes here
 *
 * The server stands still meanwhile, as the field's does: nobody sees a key at both places, or at none. What that costs
 * is bounded by the timeout: so long the target may take for 64 kB, and for each reply.
 *
 * Keys are sent in rounds, and replies taken between them: so neither side has to hold more than a round of what the
 * other one has not taken, and values that have arrived are gone before the next ones are copied. A round is large
 * enough that the way there and back does not count.
 *
 * Only "+" is taken for success. What is none of a server's replies, and bytes that nobody has asked for, end the
 * connection: a reply that is taken for another's would delete a key that has not arrived.
 *
 * Not here    connections (target_link.c), payloads (object/dump_payload.h), RESTORE (commands/keyspace/dump.c).
 * Owns        a migration, while its command runs.
 * Threads     main.
 * Invariants  1. A key is deleted when its own RESTORE was acknowledged, and not before.
 *             2. Nothing is sent twice once a reply to a RESTORE has come.
 * Tests       tests/repl/migrate.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "migrate.h"

#include "clock.h"
#include "command_memory.h"
#include "dump_payload.h"
#include "key_changed.h"
#include "numbers.h"
#include "object_settings.h"
#include "panic.h"
#include "propagate.h"
#include "redact.h"
#include "reply.h"
#include "request_format.h"
#include "target_link.h"
#include "zmalloc.h"

#include <errno.h>
#include <limits.h>

#define KEY_ARG 3
#define FIRST_OPTION 6
#define DEFAULT_TIMEOUT_MS 1000
#define ROUND_BYTES ((size_t)1 << 20)
#define PASSED_OVER SIZE_MAX /* length of a name that is not sent */
#define ROUND_KEYS 1000      /* so many replies fit into the buffers of a socket: the target need not wait for us */

typedef enum { MIGRATE_DONE, MIGRATE_CONNECTING, MIGRATE_WRITING, MIGRATE_READING } migrateResult;

typedef struct migration {
    client *c; /* borrowed */
    long long db, timeout_ms;
    bool copy, replace;
    slice user, password;
    bool has_user, has_password;
    uint32_t first, args; /* the keys' arguments */

    hashedKey *keys; /* owns: those that were there */
    size_t count;
    size_t sent;     /* of them, or passed over */
    size_t answered; /* likewise; keys[0 .. gone) have gone meanwhile, gone <= answered */
    size_t gone;
    sds error; /* owns: the target's first */

    targetLink *link;              /* while it is connected */
    sds out;                       /* owns: collected, not written yet */
    bool auth_asked, select_asked; /* a reply to it is to come */
    bool refused;                  /* an error to one of them: no key is where it should be */
    bool heard;                    /* a reply to a RESTORE has come */
} migration;

static void migrationCheck(const migration *m) {
    debugAssert(m->gone <= m->answered && m->answered <= m->sent && m->sent <= m->count && m->count <= m->args);
    debugAssert(m->gone == 0 || (m->heard && !m->copy)); /* invariant 1 */
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

/* False after an error. */
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

static bool parse(client *c, migration *m) {
    *m = (migration){.c = c, .first = KEY_ARG, .args = 1};
    if (!parseOptions(m)) return false;
    if (!getLongLongFromArg(c, 5, &m->timeout_ms, NULL)) return false;
    if (!getLongLongFromArg(c, 4, &m->db, NULL)) return false;
    if (m->timeout_ms <= 0) m->timeout_ms = DEFAULT_TIMEOUT_MS;
    if (m->timeout_ms > INT_MAX) m->timeout_ms = INT_MAX;
    debugAssert(m->first + m->args <= c->argc);
    return true;
}

/* What there is of the keys. False after an error: there is no memory for the largest of them. */
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
    return commandMemoryReserve(c, 3 * largest); /* as DUMP */
}

/* ---- What is sent ---- */

static bool flush(migration *m) {
    bool ok = targetWrite(m->link, sdsSlice(m->out));
    if (m->has_password) explicit_bzero(m->out, sdsLen(m->out));
    sdsClear(m->out);
    return ok;
}

static bool put(migration *m, slice bytes) {
    if (bytes.len >= TARGET_PIECE_BYTES) return flush(m) && targetWrite(m->link, bytes);
    m->out = sdsCatSlice(m->out, bytes);
    return sdsLen(m->out) < TARGET_PIECE_BYTES || flush(m);
}

static bool putHeader(migration *m, char prefix, size_t n) {
    char header[RESP_HEADER_MAX];
    return put(m, sliceOf(header, respHeader(header, prefix, (long long)n)));
}

static bool putArg(migration *m, slice arg) {
    return putHeader(m, '$', arg.len) && put(m, arg) && put(m, sliceStr("\r\n"));
}

static bool putNumber(migration *m, long long n) {
    char digits[LONG_STR_SIZE];
    return putArg(m, sliceOf(digits, ll2string(digits, n)));
}

static void addIntroduction(migration *m) {
    char select[RESP_SELECT_MAX];
    m->auth_asked = m->has_password;
    m->select_asked = !targetIsAt(m->link, m->db);
    if (m->auth_asked && m->has_user) m->out = RESP_CAT_REQUEST(m->out, sliceStr("AUTH"), m->user, m->password);
    else if (m->auth_asked) m->out = RESP_CAT_REQUEST(m->out, sliceStr("AUTH"), m->password);
    if (m->select_asked) m->out = sdsCatLen(m->out, select, respSelect(select, m->db));
}

/* How long the value has yet: 0 for ever. Time has gone on since the command began. */
static long long timeLeft(const robj *o) {
    int64_t when_ms = objectExpire(o);
    if (when_ms == -1) return 0;
    int64_t left_ms = when_ms - clockWallMs();
    return left_ms < 1 ? 1 : left_ms;
}

static bool putRestore(migration *m, hashedKey key, const robj *o, size_t *bytes) {
    sds payload = dumpPayloadOf(o, object_settings.compression);
    *bytes += sdsLen(payload);
    bool ok = putHeader(m, '*', m->replace ? 5 : 4) && putArg(m, sliceStr("RESTORE")) && putArg(m, key.name) &&
              putNumber(m, timeLeft(o)) && putArg(m, sdsSlice(payload)) &&
              (!m->replace || putArg(m, sliceStr("REPLACE")));
    sdsFree(payload);
    return ok;
}

/* A key may have ended since it was found, and a name may have been given twice. */
static robj *stillThere(migration *m, size_t i) {
    const int flags = LOOKUP_NOTOUCH | LOOKUP_NOSTATS | LOOKUP_NONOTIFY;
    robj *o = lookupKeyReadWithFlags(m->c->db, m->keys[i], flags);
    if (!o) m->keys[i].name.len = PASSED_OVER;
    return o;
}

static bool sendRound(migration *m) {
    size_t bytes = 0, end = m->count - m->sent > ROUND_KEYS ? m->sent + ROUND_KEYS : m->count;
    for (; m->sent < end && bytes < ROUND_BYTES; m->sent++) {
        const robj *o = stillThere(m, m->sent);
        if (o && !putRestore(m, m->keys[m->sent], o, &bytes)) return false;
    }
    migrationCheck(m);
    return flush(m);
}

/* ---- What comes back ---- */

/* False with errno. */
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
    if (m->auth_asked && !readReply(m, &auth)) return false;
    if (m->select_asked && !readReply(m, &selected)) return false;
    if (m->select_asked && selected) targetSetDb(m->link, m->db);
    m->refused = !auth || !selected;
    m->auth_asked = m->select_asked = false;
    return true;
}

/* keys[i] has arrived. */
static void letGo(migration *m, size_t i) {
    client *c = m->c;
    hashedKey key = m->keys[i];
    debugAssert(m->heard && !m->refused && i == m->answered);
    if (m->copy || !dbDelete(c->db, key)) return;
    keyChanged(c, key, NOTIFY_GENERIC, "del", 1);
    m->keys[m->gone++] = key;
}

static bool readRound(migration *m) {
    bool good;
    if (!readIntroduction(m)) return false;
    for (; m->answered < m->sent; m->answered++) {
        if (m->keys[m->answered].name.len == PASSED_OVER) continue;
        if (!readReply(m, &good)) return false;
        m->heard = true;
        if (good && !m->refused) letGo(m, m->answered);
    }
    debugAssert(m->answered == m->sent);
    return true;
}

/* ---- All of it ---- */

static migrateResult exchange(migration *m) {
    debugAssert(!m->heard && m->gone == 0); /* invariant 2 */
    m->sent = m->answered = 0;
    sdsClear(m->out);
    addIntroduction(m);
    do {
        if (!sendRound(m)) return MIGRATE_WRITING;
        if (!readRound(m)) return MIGRATE_READING;
    } while (m->sent < m->count && !m->refused);
    return MIGRATE_DONE;
}

/* One try; *error: errno of what has failed. */
static migrateResult rdbCopier(migration *m, int *error) {
    m->link = targetOpen(m->c->argv[1], m->c->argv[2], m->has_password, m->timeout_ms);
    if (!m->link) {
        *error = errno;
        return *error == ECONNREFUSED ? MIGRATE_WRITING : MIGRATE_CONNECTING;
    }
    migrateResult result = exchange(m);
    *error = errno;
    if (m->error) targetForgetDb(m->link);
    if (result == MIGRATE_DONE) targetKeep(m->link);
    else targetDrop(m->link);
    return result;
}

/* What has gone, whatever became of the others. */
static void propagateGone(const migration *m) {
    if (m->gone == 0) {
        propagateNothing();
    } else if (propagateInstead(m->c, "DEL")) {
        for (size_t i = 0; i < m->gone; i++) propagateArg(m->keys[i].name);
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
    migrateResult result = rdbCopier(m, &error);
    bool broken = result == MIGRATE_WRITING || result == MIGRATE_READING;
    if (broken && !m->heard && error != ETIMEDOUT && error != EBADMSG) {
        sdsFree(m->error);
        m->error = NULL;
        result = rdbCopier(m, &error);
    }
    migrationCheck(m);
    propagateGone(m);
    reply(m, result);
    sdsFree(m->out);
    sdsFree(m->error);
}

void migrateCommand(client *c) {
    migration m;
    if (!parse(c, &m)) return;
    if (findKeys(&m)) {
        if (m.count) migrate(&m);
        else addReplyStatus(c, "NOKEY");
    }
    zfree(m.keys);
}
