/* acl_check.c -- checks whether a user may run a command with given arguments.
 *
 * A selector allows a command as a whole or not at all: each database, the command's bit, each key with the access to
 * it, each channel. Keys are those of the record; if a key's flags depend on the options, keys are extracted again.
 *
 * Not here    replies and the log (acl.c).
 * Owns        nothing.
 * Threads     main.
 * Cost        a test of a bit for each selector; for each key, a comparison a pattern.
 * Tests       tests/engine/acl.tcl, tests/engine/acl_table.tcl, tests/differential/acl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "acl_check.h"

#include "db.h"
#include "numbers.h"
#include "panic.h"
#include "zmalloc.h"

/* Arguments that are names of channels or numbers of databases: `count` of them (-1: all) from `first` on. */
typedef struct argumentRun {
    const char *name; /* of the command */
    uint32_t first;
    int count;
    bool is_pattern;
    const serverCommand *cmd; /* borrowed; found at startup */
} argumentRun;

static argumentRun channel_runs[] = {{.name = "publish", .first = 1, .count = 1},
                                     {.name = "spublish", .first = 1, .count = 1},
                                     {.name = "subscribe", .first = 1, .count = -1},
                                     {.name = "ssubscribe", .first = 1, .count = -1},
                                     {.name = "psubscribe", .first = 1, .count = -1, .is_pattern = true}};
#define DB_ARGS_MAX 2
static argumentRun db_runs[] = {{.name = "select", .first = 1, .count = 1},
                                {.name = "swapdb", .first = 1, .count = 2},
                                {.name = "move", .first = 2, .count = 1}};
static const serverCommand *copy_cmd; /* borrowed */

void aclCheckInit(void) {
    for (size_t i = 0; i < array_len(channel_runs); i++) {
        channel_runs[i].cmd = commandNamed(channel_runs[i].name);
        serverAssert(!channel_runs[i].cmd || channel_runs[i].cmd->flags & CMD_PUBSUB);
    }
    for (size_t i = 0; i < array_len(db_runs); i++) db_runs[i].cmd = commandNamed(db_runs[i].name);
    copy_cmd = commandNamed("copy");
}

static const argumentRun *runOf(const serverCommand *cmd, const argumentRun *runs, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (runs[i].cmd == cmd) return &runs[i];
    return NULL;
}

/* ---- Keys ------------------------------------------------------------------------------------------------------- */

unsigned aclAccessOf(uint32_t key_flags) {
    unsigned access = key_flags & CMD_KEY_ACCESS ? ACL_READ : 0;
    return access | (key_flags & (CMD_KEY_INSERT | CMD_KEY_DELETE | CMD_KEY_UPDATE) ? ACL_WRITE : 0);
}

static bool hasVariableFlags(const serverCommand *cmd) {
    for (int i = 0; i < cmd->nspecs; i++)
        if (cmd->specs[i].flags & CMD_KEY_VARIABLE_FLAGS) return true;
    return false;
}

const requestKey *aclKeysOf(const aclQuestion *q, aclKeys *buffer, uint32_t *count) {
    buffer->more = NULL;
    *count = q->nkeys;
    if (q->keys && !(q->cmd->get_keys && hasVariableFlags(q->cmd))) return q->keys;
    requestKey *keys = buffer->few;
    int n = commandExtractKeys(q->cmd, q->argv, q->argc, keys, array_len(buffer->few));
    if (n > (int)array_len(buffer->few)) {
        keys = buffer->more = zmalloc((size_t)n * sizeof(*keys));
        n = commandExtractKeys(q->cmd, q->argv, q->argc, keys, n);
    }
    /* With too few arguments the command's own function may name keys that are not there. */
    uint32_t there = 0;
    for (int i = 0; i < n; i++)
        if (keys[i].index < q->argc) keys[there++] = keys[i];
    *count = there;
    return keys;
}

static bool keysAllowed(const aclSelector *s, const aclQuestion *q, uint32_t *index) {
    if (s->keys.all) return true;
    aclKeys buffer;
    uint32_t count;
    const requestKey *keys = aclKeysOf(q, &buffer, &count);
    uint32_t i = 0;
    while (i < count && aclPatternsMatch(&s->keys, q->argv[keys[i].index], aclAccessOf(keys[i].flags))) i++;
    if (i < count) *index = keys[i].index;
    zfree(buffer.more);
    return i == count;
}

/* ---- Channels --------------------------------------------------------------------------------------------------- */

static bool channelAllowed(const aclSelector *s, slice name, bool is_pattern) {
    return is_pattern ? aclPatternsHave(&s->channels, name) : aclPatternsMatch(&s->channels, name, 0);
}

static bool channelsAllowed(const aclSelector *s, const aclQuestion *q, uint32_t *index) {
    if (s->channels.all || !(q->cmd->flags & CMD_PUBSUB)) return true;
    const argumentRun *run = runOf(q->cmd, channel_runs, array_len(channel_runs));
    if (!run) return true;
    uint32_t end = run->count < 0 ? q->argc : run->first + (uint32_t)run->count;
    for (uint32_t i = run->first; i < end && i < q->argc; i++) {
        if (channelAllowed(s, q->argv[i], run->is_pattern)) continue;
        *index = i;
        return false;
    }
    return true;
}

/* ---- Databases -------------------------------------------------------------------------------------------------- */

static bool dbAllowed(const aclSelector *s, long long id) {
    for (uint32_t i = 0; i < s->dbs_count; i++)
        if (s->dbs[i] == id) return true;
    return false;
}

static bool isDb(slice text, long long *id) { return string2ll(text.ptr, text.len, id) && *id >= 0 && *id < dbCount(); }

/* If an argument is no number of a database, the command itself will reply with the error. */
static bool dbArgsAllowed(const aclSelector *s, const aclQuestion *q, uint32_t first, uint32_t count, uint32_t *index) {
    long long ids[DB_ARGS_MAX];
    debugAssert(count <= DB_ARGS_MAX);
    for (uint32_t i = 0; i < count; i++)
        if (first + i >= q->argc || !isDb(q->argv[first + i], &ids[i])) return true;
    for (uint32_t i = 0; i < count; i++) {
        if (dbAllowed(s, ids[i])) continue;
        *index = first + i;
        return false;
    }
    return true;
}

static bool copyDbAllowed(const aclSelector *s, const aclQuestion *q, uint32_t *index) {
    for (uint32_t i = 3; i + 1 < q->argc; i++)
        if (sliceIs(q->argv[i], "db") && !dbArgsAllowed(s, q, i + 1, 1, index)) return false;
    return true;
}

bool aclUsesSelectedDb(const serverCommand *cmd) {
    return cmd->flags & (CMD_WRITE | CMD_READONLY | CMD_MOVABLE_KEYS) || cmd->first_key > 0 ||
           cmd->acl_categories & ACL_CATEGORY_KEYSPACE;
}

static bool dbsAllowed(const aclSelector *s, const aclQuestion *q, uint32_t *index) {
    if (s->all_dbs) return true;
    const argumentRun *run = runOf(q->cmd, db_runs, array_len(db_runs));
    if (run && !dbArgsAllowed(s, q, run->first, (uint32_t)run->count, index)) return false;
    if (q->cmd == copy_cmd && !copyDbAllowed(s, q, index)) return false;
    bool only_named = run && run->first == 1; /* SELECT and SWAPDB */
    if (q->cmd->flags & CMD_ALL_DBS) return false;
    return only_named || !aclUsesSelectedDb(q->cmd) || dbAllowed(s, q->dbid);
}

/* ---- The whole check -------------------------------------------------------------------------------------------- */

static aclVerdict checkSelector(const aclSelector *s, const aclQuestion *q, uint32_t *index) {
    *index = 0;
    bool always = q->cmd->flags & CMD_NO_AUTH; /* AUTH and similar commands are always allowed */
    if (!dbsAllowed(s, q, index)) return ACL_NO_DB;
    if (!always && !aclSelectorHasCommand(s, q->cmd) &&
        !(s->first_args && q->argc > 1 && aclSelectorHasFirstArg(s, q->cmd, q->argv[1])))
        return ACL_NO_COMMAND;
    if (!keysAllowed(s, q, index)) return ACL_NO_KEY;
    if (!channelsAllowed(s, q, index)) return ACL_NO_CHANNEL;
    return ACL_ALLOWED;
}

aclVerdict aclCheck(const user *u, const aclQuestion *q, uint32_t *index) {
    aclVerdict worst = ACL_ALLOWED;
    *index = 0;
    debugAssert(u->selectors_count > 0 && q->argc > 0);
    if (u->unrestricted) return ACL_ALLOWED;
    for (uint32_t i = 0; i < u->selectors_count; i++) {
        uint32_t at;
        aclVerdict verdict = checkSelector(u->selectors[i], q, &at);
        if (verdict == ACL_ALLOWED) return ACL_ALLOWED;
        if (verdict < worst || (verdict == worst && at <= *index)) continue;
        worst = verdict;
        *index = at;
    }
    return worst;
}

static bool readsAll(const aclPatterns *keys) {
    if (keys->all) return true;
    for (uint32_t i = 0; i < keys->count; i++)
        if (keys->items[i].access & ACL_READ && sliceIs(sdsSlice(keys->items[i].text), "*")) return true;
    return false;
}

bool aclMayReadAll(const user *u, const serverCommand *cmd) {
    for (uint32_t i = 0; i < u->selectors_count; i++)
        if (aclSelectorHasCommand(u->selectors[i], cmd) && readsAll(&u->selectors[i]->keys)) return true;
    return false;
}

bool aclMayRead(const user *u, slice key, int dbid) {
    for (uint32_t i = 0; i < u->selectors_count; i++) {
        const aclSelector *s = u->selectors[i];
        if ((s->all_dbs || dbAllowed(s, dbid)) && aclPatternsMatch(&s->keys, key, ACL_READ)) return true;
    }
    return false;
}

bool aclMaySubscribe(const user *u, slice name, bool is_pattern) {
    for (uint32_t i = 0; i < u->selectors_count; i++)
        if (channelAllowed(u->selectors[i], name, is_pattern)) return true;
    return false;
}
