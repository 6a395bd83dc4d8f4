/* key_check.c -- debug builds check that a command touches only the keys and databases that it names.
 *
 * ACL is checked for the keys that a record names (acl_check.c). A key that a handler finds in another way would be
 * open to every user, and a key that it changes although it is named for reading, to users who may only read. So each
 * lookup and each change is compared, when it happens, with the keys that aclCheck() checks; the test suite runs all
 * commands.
 *
 * Not here    how the keyspace reports lookups and changes (store/keyspace_events.h); refusals
 *             (tests/engine/acl_table.tcl).
 * Owns        nothing: marks are on the stack of call().
 * Threads     main.
 * Tests       the suite, under sanitizers
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "key_check.h"

#ifdef DEBUG_ASSERTIONS
#include "numbers.h"
#include "panic.h"
#include "zmalloc.h"

#include <stdlib.h>

static const keyMark *running;

enum { ANY_KEY = 1, ALL_KEYS = 2, ARG_DBS = 4, ANY_DB = 8, CHANGES_READ = 16 };

/* Commands that touch other keys than those that they name. A container stands for its subcommands. */
static const struct {
    const char *name;
    unsigned may;
} exceptions[] = {
    /* They touch a whole database, which ACL checks for. */
    {"clusterscan", ALL_KEYS},
    {"flushdb", ALL_KEYS},
    {"keys", ALL_KEYS},
    {"randomkey", ALL_KEYS},
    {"scan", ALL_KEYS},
    /* They touch all databases (CMD_ALL_DBS), or those in their arguments. */
    {"flushall", ALL_KEYS},
    {"swapdb", ALL_KEYS | ARG_DBS},
    {"cluster|flushslot", ALL_KEYS},
    {"cluster|reset", ALL_KEYS | ANY_DB},         /* a replica gives up its dataset */
    {"cluster|getkeysinslot", ALL_KEYS | ANY_DB}, /* as in Valkey: it is no command of the keyspace for ACL */
    {"copy", ARG_DBS},
    {"move", ARG_DBS},
    /* Its patterns make names of keys out of elements: aclMayReadAllKeys(). */
    {"sort", ANY_KEY},
    {"sort_ro", ANY_KEY},
    /* EXEC looks up whether a watched key has expired: ACL was checked by WATCH. */
    {"exec", ANY_KEY | ANY_DB},
    /* A user who may read a stream may read it as a group, as in Valkey. */
    {"xreadgroup", CHANGES_READ},
    /* It changes the encoding of a value, which readers do not notice. */
    {"pfdebug", CHANGES_READ},
    /* It stores the count; users who may only read may call it. */
    {"pfcount", CHANGES_READ},
    /* The dataset is saved by a child, which is a copy of this process in the middle of the command. */
    {"save", ALL_KEYS | ANY_DB},
    {"bgsave", ALL_KEYS | ANY_DB},
    {"bgrewriteaof", ALL_KEYS | ANY_DB},
    {"psync", ALL_KEYS | ANY_DB},
    {"sync", ALL_KEYS | ANY_DB},
    {"config|set", ALL_KEYS | ANY_DB},
    {"shutdown", ALL_KEYS | ANY_DB},
    /* Each subcommand of DEBUG has its keys elsewhere, and administrators alone may call it. */
    {"debug", ALL_KEYS | ANY_DB},
};

static unsigned exceptionsOf(const serverCommand *cmd) {
    const char *name = cmd->parent ? cmd->parent->name : cmd->name;
    for (size_t i = 0; i < array_len(exceptions); i++)
        if (strcmp(exceptions[i].name, name) == 0 || strcmp(exceptions[i].name, cmd->fullname) == 0)
            return exceptions[i].may;
    return 0;
}

static bool isArgument(const aclQuestion *q, int id) {
    for (uint32_t i = 1; i < q->argc; i++) {
        long long n;
        if (string2ll(q->argv[i].ptr, q->argv[i].len, &n) && n == id) return true;
    }
    return false;
}

static bool dbIsNamed(const aclQuestion *q, unsigned may, int id) {
    if (may & ANY_DB || q->cmd->flags & CMD_ALL_DBS) return true;
    return (id == q->dbid && aclUsesSelectedDb(q->cmd)) || (may & ARG_DBS && isArgument(q, id));
}

static bool keyIsNamed(const keyMark *m, unsigned may, uint64_t hash, keyTouch touch) {
    if (may & ALL_KEYS || (may & ANY_KEY && touch == TOUCH_LOOKUP)) return true;
    uint32_t low = 0, high = m->nkeys;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (m->keys[middle].hash < hash) low = middle + 1;
        else high = middle;
    }
    for (; low < m->nkeys && m->keys[low].hash == hash; low++)
        if (touch == TOUCH_LOOKUP || may & CHANGES_READ || m->keys[low].access & ACL_WRITE) return true;
    return false;
}

static void checkTouch(const serverDb *db, uint64_t hash, keyTouch touch) {
    static const char *const does[] = {"looks up a key of", "changes a key of", "reads all of", "changes all of"};
    const keyMark *m = running;
    if (!m || m->off) return;
    unsigned may = exceptionsOf(m->question.cmd);
    bool all = touch == TOUCH_READ_ALL || touch == TOUCH_CHANGE_ALL;
    if (dbIsNamed(&m->question, may, dbId(db)) && (all ? may & ALL_KEYS : keyIsNamed(m, may, hash, touch))) return;
    serverPanic("Command '%s' %s database %d without declaring it in its key specs (hash of the key: %016llx)",
                m->question.cmd->fullname, does[touch], dbId(db), (unsigned long long)hash);
}

void keyCheckInit(void) { storeOnTouch(checkTouch); }

static int byHash(const void *a, const void *b) {
    const namedKey *x = a, *y = b;
    return (x->hash > y->hash) - (x->hash < y->hash);
}

static void nameKeys(keyMark *m) {
    aclKeys buffer;
    const requestKey *keys = aclKeysOf(&m->question, &buffer, &m->nkeys);
    m->keys = m->nkeys > array_len(m->few) ? zmalloc(m->nkeys * sizeof(*m->keys)) : m->few;
    for (uint32_t i = 0; i < m->nkeys; i++) {
        slice name = m->question.argv[keys[i].index];
        m->keys[i] = (namedKey){keyHash(name), aclAccessOf(keys[i].flags)};
    }
    if (m->nkeys) qsort(m->keys, m->nkeys, sizeof(*m->keys), byHash);
    zfree(buffer.more);
}

void keyCheckBegin(keyMark *mark, const client *c) {
    *mark = (keyMark){.outer = running};
    const parsedCommand *req = c->req;
    mark->question = (aclQuestion){.cmd = c->cmd,
                                   .argv = req->argv,
                                   .argc = req->argc,
                                   .keys = req->keys,
                                   .nkeys = req->nkeys,
                                   .dbid = dbId(c->db)};
    nameKeys(mark);
    running = mark;
}

void keyCheckPause(keyMark *mark) {
    *mark = (keyMark){.outer = running, .off = true};
    running = mark;
}

void keyCheckEnd(const keyMark *mark) {
    serverAssert(running == mark);
    running = mark->outer;
    if (mark->keys != mark->few) zfree(mark->keys);
}
#else
void keyCheckInit(void) {}
#endif
