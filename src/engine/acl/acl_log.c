/* acl_log.c -- ACL LOG: recent refusals.
 *
 * Not here    when something is refused (acl.c, auth.c).
 * Owns        the entries, newest first.
 * Threads     main.
 * Invariants  1. There are at most acllog-max-len entries, each of a few kilobytes.
 *             2. Ids grow by one, also across a reset.
 * Tests       tests/engine/acl.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "acl_check.h"

#include "client_describe.h"
#include "engine_settings.h"
#include "panic.h"
#include "reply.h"
#include "zmalloc.h"

#define SAME_WITHIN_MS 60000
#define COMPARED_MAX 10 /* number of newest entries that are compared with a new one */
#define TEXT_MAX 1024   /* of texts that a client sends */

typedef struct logEntry {
    aclVerdict verdict;
    aclContext context;
    long long id, count;
    int64_t created_ms, updated_ms;
    sds object, user_name, client_info; /* owns */
} logEntry;

static void entryFree(void *p) {
    logEntry *e = p;
    sdsFree(e->object);
    sdsFree(e->user_name);
    sdsFree(e->client_info);
    zfree(e);
}

static struct {
    list entries; /* owns */
    long long next_id;
} log = {.entries.free = entryFree};

/* How each verdict but ACL_ALLOWED is shown and counted. */
static const struct {
    const char *reason;
    long long *counter;
} refusals[] = {[ACL_NO_COMMAND] = {"command", &engine_stats.acl_denied_cmd},
                [ACL_NO_KEY] = {"key", &engine_stats.acl_denied_key},
                [ACL_NO_AUTH] = {"auth", &engine_stats.acl_denied_auth},
                [ACL_NO_CHANNEL] = {"channel", &engine_stats.acl_denied_channel},
                [ACL_NO_DB] = {"database", &engine_stats.acl_denied_db},
                [ACL_NO_CERT] = {"tls-cert", &engine_stats.acl_denied_tls_cert}};

static_assert(array_len(refusals) == ACL_NO_CERT + 1, "a row for each verdict");

static slice aclLogShortened(slice text) { return text.len <= TEXT_MAX ? text : sliceOf(text.ptr, TEXT_MAX); }

static listNode *findSame(const logEntry *e) {
    listNode *node = listFirst(&log.entries);
    for (int i = 0; node && i < COMPARED_MAX; i++, node = node->next) {
        const logEntry *old = listNodeValue(node);
        if (old->verdict == e->verdict && old->context == e->context &&
            e->created_ms - old->created_ms <= SAME_WITHIN_MS && sdsCmp(old->object, e->object) == 0 &&
            sdsCmp(old->user_name, e->user_name) == 0)
            return node;
    }
    return NULL;
}

/* Merges a new refusal into an equal entry, which moves to the head. Frees `e`. */
static void aclLogJoin(listNode *node, logEntry *e) {
    logEntry *old = listNodeValue(node);
    sds info = old->client_info;
    old->client_info = e->client_info;
    e->client_info = info;
    old->updated_ms = e->updated_ms;
    old->count++;
    entryFree(e);
    listUnlinkNode(&log.entries, node);
    zfree(node);
    listAddNodeHead(&log.entries, old);
}

void aclLogAdd(const client *c, aclVerdict verdict, aclContext context, slice object, slice user_name) {
    assertMainRole();
    debugAssert(verdict != ACL_ALLOWED);
    ++*refusals[verdict].counter;
    logEntry *e = zmalloc(sizeof(*e));
    int64_t now_ms = (int64_t)clockWallMs();
    *e = (logEntry){.verdict = verdict,
                    .context = context,
                    .count = 1,
                    .created_ms = now_ms,
                    .updated_ms = now_ms,
                    .object = sdsFromSlice(aclLogShortened(object)),
                    .user_name = sdsFromSlice(aclLogShortened(user_name)),
                    .client_info = clientCatInfo(sdsEmpty(), c)};
    listNode *same = findSame(e);
    if (same) {
        aclLogJoin(same, e);
    } else {
        e->id = log.next_id++;
        listAddNodeHead(&log.entries, e);
    }
    while ((long long)listLength(&log.entries) > engine_settings.acllog_max_len)
        listDelNode(&log.entries, listLast(&log.entries));
    debugAssert((long long)listLength(&log.entries) <= log.next_id);
}

/* ---- The reply -------------------------------------------------------------------------------------------------- */

static const char *const contexts[] = {[ACL_IN_TOPLEVEL] = "toplevel", [ACL_IN_MULTI] = "multi", [ACL_IN_LUA] = "lua"};

static void replyEntry(client *c, const logEntry *e, int64_t now_ms) {
    debugAssert(e->id < log.next_id && e->count > 0);
    addReplyMapLen(c, 10);
    addReplyBulkCString(c, "count");
    addReplyLongLong(c, e->count);
    addReplyBulkCString(c, "reason");
    addReplyBulkCString(c, refusals[e->verdict].reason);
    addReplyBulkCString(c, "context");
    addReplyBulkCString(c, contexts[e->context]);
    addReplyBulkCString(c, "object");
    addReplyBulk(c, sdsSlice(e->object));
    addReplyBulkCString(c, "username");
    addReplyBulk(c, sdsSlice(e->user_name));
    addReplyBulkCString(c, "age-seconds");
    addReplyDouble(c, (double)(now_ms - e->created_ms) / 1000);
    addReplyBulkCString(c, "client-info");
    addReplyBulk(c, sdsSlice(e->client_info));
    addReplyBulkCString(c, "entry-id");
    addReplyLongLong(c, e->id);
    addReplyBulkCString(c, "timestamp-created");
    addReplyLongLong(c, e->created_ms);
    addReplyBulkCString(c, "timestamp-last-updated");
    addReplyLongLong(c, e->updated_ms);
}

void aclLogReply(client *c, long long count) {
    int64_t now_ms = (int64_t)clockWallMs();
    if (count > (long long)listLength(&log.entries)) count = (long long)listLength(&log.entries);
    addReplyArrayLen(c, (size_t)count);
    for (const listNode *n = listFirst(&log.entries); count > 0; count--, n = n->next)
        replyEntry(c, listNodeValue(n), now_ms);
}

void aclLogReset(void) {
    assertMainRole();
    listEmpty(&log.entries);
}
