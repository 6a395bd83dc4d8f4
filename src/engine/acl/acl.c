/* acl.c -- the table of users, the user of each client, and the checks of its commands.
 *
 * The gate is disabled for a client whose user may do everything, as nearly all may: its commands cost nothing.
 *
 * Not here    what a user is (acl_user.c), what a command needs (acl_check.c), passwords that clients send (auth.c).
 * Owns        the users.
 * Threads     main.
 * Invariants  1. There is a user "default", always the same object.
 *             2. GATE_ACL is enabled for exactly the clients whose user is restricted.
 *             3. No client has a user that is not in the table.
 * Tests       tests/engine/acl.tcl, tests/differential/acl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "acl.h"

#include <string.h>

#include "acl_check.h"
#include "client_describe.h"
#include "db.h"
#include "engine_settings.h"
#include "panic.h"
#include "pubsub.h"
#include "rax.h"
#include "reply.h"
#include "setting.h"
#include "transaction_queue.h"
#include "zmalloc.h"

static struct {
    rax *by_name; /* owns users */
    user *default_user;
    const client *closing; /* borrowed, until its command has ended: the
                           * client that is to be closed after its own reply */
    uint64_t version;      /* see aclVersion() */
} acl;

#define CLIENTS_CHECKED 32

/* Asserts the invariants for one client. */
static void clientCheck(const client *c) {
    const user *u = c->user;
    if (!u) return; /* a client without a connection */
    debugAssert((c->gates >> GATE_ACL & 1) == !u->unrestricted);
    debugAssert(!u->deleted && aclUser(sdsSlice(u->name)) == u);
}

/* Asserts the invariants for the table and the first clients. Call where no function of this file is in the middle of
 * a change. */
static void usersCheck(void) {
#ifdef DEBUG_ASSERTIONS
    debugAssert(aclUser(sliceStr("default")) == acl.default_user);
    debugAssert(!acl.default_user->deleted && !acl.default_user->changed && aclUsers() >= 1);
    if (!client_state.clients) return;
    listIter it = listBegin(client_state.clients, false);
    int left = CLIENTS_CHECKED;
    for (listNode *n = listNext(&it); n && left-- > 0; n = listNext(&it)) clientCheck(listNodeValue(n));
#else
    unused(clientCheck);
#endif
}

user *aclDefaultUser(void) { return acl.default_user; }

user *aclUser(slice name) {
    void *found;
    return raxFind(acl.by_name, name, &found) ? found : NULL;
}

uint64_t aclVersion(void) {
    assertMainRole();
    return acl.version;
}

size_t aclUsers(void) { return raxSize(acl.by_name); }

void aclEachUser(void (*fn)(void *arg, const user *u), void *arg) {
    raxIterator it;
    for (bool on = raxIterFirst(&it, acl.by_name); on; on = raxIterNext(&it)) fn(arg, raxIterValue(&it));
    raxIterEnd(&it);
}

/* ---- Clients ---------------------------------------------------------------------------------------------------- */

void aclBecome(client *c, user *u) {
    assertMainRole();
    debugAssert(!u->deleted);
    c->user = u;
    gateEnableClient(c, GATE_ACL, !u->unrestricted);
}

static bool mayNotSubscribe(const client *c, pubsubKind kind, slice name) {
    return !aclMaySubscribe(c->user, name, kind == PUBSUB_PATTERN);
}

/* Closes a client's connection; that of the running command's client only after its reply. */
static void aclCloseClient(client *c) {
    debugAssert(!c->req || !acl.closing || acl.closing == c); /* one command changes users at a time */
    if (c->req) acl.closing = c;
    else clientCloseAsap(c);
}

void aclAfterReply(client *c) {
    if (acl.closing == c) c->flags |= CLIENT_CLOSE_AFTER_REPLY;
    acl.closing = NULL;
}

/* Updates the clients of all users that are marked as changed or gone, in one walk of the clients. Closes clients whose
 * user is deleted, and those that are subscribed to a channel that their user may not access any more. */
static void usersChanged(void) {
    listIter it = listBegin(client_state.clients, false);
    for (listNode *node; (node = listNext(&it)) != NULL;) {
        client *c = listNodeValue(node);
        user *u = c->user;
        if (!u || !(u->changed || u->deleted)) continue;
        aclBecome(c, u->deleted ? acl.default_user : u);
        if (u->deleted || pubsubAny(c, mayNotSubscribe)) aclCloseClient(c);
    }
}

slice aclUserName(const client *c) { return sdsSlice((c->user ? c->user : acl.default_user)->name); }

static void aclClientInfo(const client *c, clientInfoExtra *extra) {
    if (c->user) extra->user = c->user->name;
}

/* ---- Users ------------------------------------------------------------------------------------------------------ */

static user *makeDefault(void) {
    user *u = userCreate(sliceStr("default"));
    static const char *const words[] = {"on", "nopass", "~*", "&*", "+@all"};
    for (size_t i = 0; i < array_len(words); i++)
        if (userApply(u, sliceStr(words[i]))) serverPanic("ACL: rule '%s' of the default user is invalid", words[i]);
    return u;
}

static bool applyRequirepass(const char **err) {
    unused(err);
    sds password = engine_settings.requirepass;
    aclSetDefaultPassword(password ? sdsSlice(password) : sliceOf(NULL, 0));
    return true;
}

void aclInit(void) {
    serverAssert(!acl.by_name);
    aclCheckInit();
    acl.by_name = raxCreate();
    acl.default_user = makeDefault();
    raxInsert(acl.by_name, sdsSlice(acl.default_user->name), acl.default_user, NULL);
    debugAssert(acl.default_user->unrestricted);
    clientOnInfo(aclClientInfo);
    settingOnApply("requirepass", applyRequirepass);
}

/* Words may be passwords: their bytes must not remain in freed memory. */
static void freeWords(sds *words, int count) {
    for (int i = 0; i < count; i++) explicit_bzero(words[i], sdsLen(words[i]));
    sdsFreeSplitRes(words, count);
}

static sds catWord(sds out, slice word, bool for_log) {
    return for_log ? aclCatRedacted(out, word) : sdsCatSlice(out, word);
}

/* Applies the words to `u`, a copy that is discarded if one of them is wrong. Returns NULL or an error text. */
static sds applyWords(user *u, const slice *words, int count, bool for_log) {
    slice open = {NULL, 0};
    sds *joined = aclJoinWords(words, &count, &open), err = NULL;
    if (!joined) {
        err = catWord(sdsNew("Unmatched parenthesis in acl selector starting at '"), open, for_log);
        return sdsCat(err, "'.");
    }
    for (int i = 0; i < count && !err; i++) {
        const char *why = userApply(u, sdsSlice(joined[i]));
        if (!why) continue;
        err = catWord(sdsNew("Error in ACL SETUSER modifier '"), sdsSlice(joined[i]), for_log);
        err = sdsCat(sdsCat(err, "': "), why);
    }
    freeWords(joined, count);
    return err;
}

bool aclIsPlain(void) {
    const user *u = acl.default_user;
    bool password = engine_settings.requirepass != NULL;
    return aclUsers() == 1 && u->enabled && u->unrestricted && u->selectors_count == 1 && u->nopass == !password &&
           u->passwords.count == password;
}

sds aclSetUser(slice name, const slice *words, int count, bool for_log) {
    assertMainRole();
    usersCheck();
    if (aclHasBlank(name)) return sdsNew("Usernames can't contain spaces or null characters");
    user *old = aclUser(name), *changed = old ? userDup(old) : userCreate(name);
    sds err = applyWords(changed, words, count, for_log);
    if (err) {
        userFree(changed);
        return err;
    }
    acl.version++;
    if (old) {
        userTake(old, changed);
        old->changed = true;
        usersChanged();
        old->changed = false;
    } else if (raxInsert(acl.by_name, name, changed, NULL) == RAX_NO_MEMORY) {
        userFree(changed);
        return sdsNew("Not enough memory for a user name of this length");
    }
    usersCheck();
    return NULL;
}

size_t aclDeleteUsers(const slice *names, size_t count) {
    usersCheck();
    user **deleted = zmalloc((count + 1) * sizeof(*deleted));
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        void *removed;
        serverAssert(!sliceEq(names[i], sliceStr("default")));
        if (!raxRemove(acl.by_name, names[i], &removed)) continue;
        deleted[n] = removed;
        deleted[n++]->deleted = true;
    }
    if (n) usersChanged();
    acl.version++;
    for (size_t i = 0; i < n; i++) userFree(deleted[i]);
    zfree(deleted);
    usersCheck();
    return n;
}

/* A user that remains stays the same object, as its clients point to it. */
void aclReplaceUsers(rax *users) {
    assertMainRole();
    rax *old = acl.by_name;
    raxIterator it;
    usersCheck();
    debugAssert(users != old);
    if (!raxFind(users, sliceStr("default"), NULL)) raxInsert(users, sliceStr("default"), makeDefault(), NULL);
    for (bool on = raxIterFirst(&it, old); on; on = raxIterNext(&it)) {
        user *u = raxIterValue(&it);
        void **now = raxFindRef(users, raxIterKey(&it));
        if (now) {
            userTake(u, *now);
            *now = u;
        }
        u->changed = now != NULL;
        u->deleted = !now;
    }
    usersChanged();
    for (bool on = raxIterSeek(&it, RAX_SEEK_FIRST, sliceStr("")); on; on = raxIterNext(&it)) {
        user *u = raxIterValue(&it);
        u->changed = false;
        if (u->deleted) userFree(u);
    }
    raxIterEnd(&it);
    acl.by_name = users;
    acl.version++;
    raxRelease(old, NULL);
    usersCheck();
}

void aclSetDefaultPassword(slice password) {
    sds word = sdsCatSlice(sdsNew(">"), password);
    const char *err = userApply(acl.default_user, sliceStr(password.len ? "resetpass" : "nopass"));
    if (password.len && !err) err = userApply(acl.default_user, sdsSlice(word));
    serverAssert(!err);
    acl.version++;
    debugAssert(acl.default_user->nopass == (password.len == 0));
    explicit_bzero(word, sdsLen(word));
    sdsFree(word);
    usersCheck();
}

/* ---- Refusals --------------------------------------------------------------------------------------------------- */

static slice refusedObject(const aclQuestion *q, aclVerdict verdict, uint32_t index) {
    return verdict == ACL_NO_COMMAND ? sliceStr(q->cmd->fullname) : q->argv[index];
}

sds aclCatRefusal(sds out, const user *u, aclVerdict verdict, const aclQuestion *q, uint32_t index) {
    slice what = refusedObject(q, verdict, index);
    int len = (int)what.len;
    switch (verdict) {
    case ACL_NO_COMMAND:
        return sdsCatPrintf(out, "User %s has no permissions to run the '%.*s' command", u->name, len, what.ptr);
    case ACL_NO_KEY:
        return sdsCatPrintf(out, "User %s has no permissions to access the '%.*s' key", u->name, len, what.ptr);
    case ACL_NO_CHANNEL:
        return sdsCatPrintf(out, "User %s has no permissions to access the '%.*s' channel", u->name, len, what.ptr);
    case ACL_NO_DB:
        return sdsCatPrintf(out, "User %s has no permissions to access database %.*s", u->name, len, what.ptr);
    case ACL_ALLOWED:
    case ACL_NO_AUTH:
    case ACL_NO_CERT: break;
    }
    return out;
}

/* If the client's own database is refused, no argument names it: log the command. */
static slice loggedObject(const aclQuestion *q, aclVerdict verdict, uint32_t index) {
    if (verdict == ACL_NO_DB && index == 0) return sliceStr(q->cmd->fullname);
    return refusedObject(q, verdict, index);
}

/* Error texts for clients name neither keys nor channels. */
static sds catError(sds out, const user *u, aclVerdict verdict, const aclQuestion *q) {
    switch (verdict) {
    case ACL_NO_KEY: return sdsCat(out, "No permissions to access a key");
    case ACL_NO_CHANNEL: return sdsCat(out, "No permissions to access a channel");
    case ACL_NO_DB: return sdsCat(out, "No permissions to access database");
    default: return aclCatRefusal(out, u, verdict, q, 0);
    }
}

/* Checks a command, and logs it if it is refused. Fills in *q. */
static aclVerdict aclRefuse(client *c, int dbid, const parsedCommand *req, aclContext context, aclQuestion *q) {
    *q = (aclQuestion){
        .cmd = req->cmd, .argv = req->argv, .argc = req->argc, .keys = req->keys, .nkeys = req->nkeys, .dbid = dbid};
    uint32_t index;
    clientCheck(c);
    aclVerdict verdict = aclCheck(c->user, q, &index);
    debugAssert(index < q->argc);
    if (unlikely(verdict != ACL_ALLOWED))
        aclLogAdd(c, verdict, context, loggedObject(q, verdict, index), sdsSlice(c->user->name));
    return verdict;
}

/* Checks a command in the client's own database. Returns false after the reply to the running command. */
static bool aclAllows(client *c, const parsedCommand *req, aclContext context) {
    aclQuestion q;
    aclVerdict verdict = aclRefuse(c, dbId(c->db), req, context, &q);
    if (likely(verdict == ACL_ALLOWED)) return true;
    sds error = catError(sdsNew("-NOPERM "), c->user, verdict, &q);
    transactionRefuse(c, error);
    sdsFree(error);
    return false;
}

gateResult aclGate(client *c) {
    assertMainRole();
    aclContext context = c->flags & CLIENT_MULTI ? ACL_IN_MULTI : ACL_IN_TOPLEVEL;
    return aclAllows(c, c->req, context) ? GATE_PASSED : GATE_REFUSED;
}

bool aclAllowsServed(client *c, const parsedCommand *req) {
    assertMainRole();
    return aclAllows(c, req, ACL_IN_TOPLEVEL);
}

bool aclAllowsQueued(client *c, const parsedCommand *req) {
    assertMainRole();
    static const char *const reasons[] = {
        [ACL_ALLOWED] = "",
        [ACL_NO_COMMAND] = "no permission to execute the command or subcommand",
        [ACL_NO_KEY] = "no permission to touch the specified keys",
        [ACL_NO_AUTH] = "no permission",
        [ACL_NO_CHANNEL] = "no permission to access one of the channels used as arguments",
        [ACL_NO_DB] = "no permission",
        [ACL_NO_CERT] = ""};
    aclQuestion q;
    aclVerdict verdict = aclRefuse(c, dbId(c->db), req, ACL_IN_MULTI, &q);
    if (verdict == ACL_ALLOWED) return true;
    return addReplyErrorFormat(
        c,
        "-NOPERM ACLs rules changed between the moment the transaction was accumulated and the EXEC "
        "call. This command is no longer allowed for the following reason: %s",
        reasons[verdict]);
}

/* The error counts as NOPERM, though its text begins with ERR. */
bool aclAllowsScript(client *c, client *self, const parsedCommand *req) {
    assertMainRole();
    aclQuestion q;
    aclVerdict verdict = aclRefuse(c, dbId(self->db), req, ACL_IN_LUA, &q);
    if (verdict == ACL_ALLOWED) return true;
    clientCountError(sliceStr("NOPERM"));
    sds error = catError(sdsNew("-ERR ACL failure in script: "), c->user, verdict, &q);
    addReplyErrorCounted(self, sdsSlice(error));
    sdsFree(error);
    return false;
}

bool aclMayReadAllKeys(const client *c) { return !aclIsRestricted(c) || aclMayReadAll(c->user, c->cmd); }

bool aclMayReadKey(const client *c, slice key, int dbid) {
    return !aclIsRestricted(c) || aclMayRead(c->user, key, dbid);
}

bool aclDbsAreAlike(const client *c) {
    for (uint32_t i = 0; aclIsRestricted(c) && i < c->user->selectors_count; i++)
        if (!c->user->selectors[i]->all_dbs) return false;
    return true;
}
