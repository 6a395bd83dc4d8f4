/* web_access.c -- decides who may read metrics, by a copy of the users.
 *
 * The rules are those of the server's own port: if the default user has no password, a peer without credentials is that
 * user, and may read metrics if it may run INFO. Others send a name and a password.
 *
 * Not here    users and their rules (engine/acl/acl.h); the encoding of name and password (http_request.c).
 * Owns        a copy of names and hashes of passwords.
 * Threads     main makes a copy and hands it over (http_server.c); from then on it never changes.
 * Cost        a check: one SHA-256 and a walk over the user's hashes.
 * Tests       tests/unit/web/web_access_test.c, tests/server/metrics.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "web_access.h"

#include "acl.h"
#include "hash.h"
#include "panic.h"
#include "zmalloc.h"

typedef struct webUser {
    sds name;     /* owns */
    char *hashes; /* owns: `count` of PASSWORD_HASH_LEN digits each */
    uint32_t count;
    bool nopass, may_read, may_see_keys;
} webUser;

struct webAccess {
    bool is_protected, is_open;
    int anonymous; /* the status for requests without credentials */
    bool anonymous_may_see_keys;
    webUser *users; /* owns: the enabled users */
    size_t count, capacity;
};

uint64_t webAccessVersion(void) { return aclVersion(); }

/* ---- Making: main ---- */

static bool webAccessMayRun(const user *u, uint32_t argc, const slice *words) {
    bool bad_sub;
    const serverCommand *cmd = commandLookup(words, argc, &bad_sub);
    aclQuestion q = {.cmd = cmd, .argv = words, .argc = argc};
    uint32_t index;
    return cmd && aclCheck(u, &q, &index) == ACL_ALLOWED;
}

static bool mayRead(const user *u) { return webAccessMayRun(u, 1, (slice[]){sliceStr("info")}); }

static bool maySeeKeys(const user *u) { return webAccessMayRun(u, 2, (slice[]){sliceStr("hotkeys"), sliceStr("get")}); }

static void copyUser(void *arg, const user *u) {
    webAccess *a = arg;
    if (!u->enabled) return;
    serverAssert(a->count < a->capacity); /* no user can have been added meanwhile, as main makes the copy */
    webUser *copy = &a->users[a->count++];
    *copy =
        (webUser){.name = sdsDup(u->name), .nopass = u->nopass, .may_read = mayRead(u), .may_see_keys = maySeeKeys(u)};
    copy->hashes = u->passwords.count ? zmalloc((size_t)u->passwords.count * PASSWORD_HASH_LEN) : NULL;
    for (const aclWord *p = u->passwords.first; p; p = p->next)
        memcpy(copy->hashes + (size_t)copy->count++ * PASSWORD_HASH_LEN, p->text, PASSWORD_HASH_LEN);
    debugAssert(copy->count == u->passwords.count);
}

webAccess *webAccessMake(bool is_protected) {
    assertMainRole();
    const user *u = aclDefaultUser();
    webAccess *a = zmalloc(sizeof(*a));
    *a = (webAccess){.is_protected = is_protected, .is_open = u->enabled && u->nopass, .capacity = aclUsers()};
    a->anonymous = !a->is_open ? 401 : mayRead(u) ? 200 : 403;
    a->anonymous_may_see_keys = maySeeKeys(u);
    a->users = zcalloc(a->capacity, sizeof(*a->users));
    aclEachUser(copyUser, a);
    debugAssert(a->is_open == (a->anonymous != 401));
    return a;
}

void webAccessFree(webAccess *a) {
    if (!a) return;
    for (size_t i = 0; i < a->count; i++) {
        sdsFree(a->users[i].name);
        zfree(a->users[i].hashes);
    }
    zfree(a->users);
    zfree(a);
}

/* ---- Checks: the thread that owns the copy ---- */

bool webAccessIsLocal(const webAccess *a) { return a->is_open && a->is_protected; }

/* Compares all hashes of a user, each to its end, so that the time does not depend on the password. */
static bool passwordIs(const webUser *u, const char digits[PASSWORD_HASH_LEN]) {
    bool found = false;
    for (uint32_t i = 0; i < u->count; i++) {
        const char *hash = u->hashes + (size_t)i * PASSWORD_HASH_LEN;
        unsigned char differ = 0;
        for (size_t at = 0; at < PASSWORD_HASH_LEN; at++) differ |= (unsigned char)(digits[at] ^ hash[at]);
        found |= differ == 0;
    }
    return u->nopass || found;
}

int webAccessCheck(const webAccess *a, slice name, slice password, bool *may_see_keys) {
    char digits[PASSWORD_HASH_LEN + 1];
    const webUser *u = NULL;
    sha256Hex(digits, password.ptr, password.len); /* even for an unknown user, as the time would show which users
                                                    * exist */
    for (size_t i = 0; i < a->count && !u; i++)
        if (sliceEq(sdsSlice(a->users[i].name), name)) u = &a->users[i];
    bool right = u && passwordIs(u, digits);
    explicit_bzero(digits, sizeof(digits));
    *may_see_keys = right && u->may_see_keys;
    return !right ? 401 : u->may_read ? 200 : 403;
}

int webAccessCheckAnonymous(const webAccess *a, bool *may_see_keys) {
    *may_see_keys = a->anonymous_may_see_keys;
    return a->anonymous;
}
