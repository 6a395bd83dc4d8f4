/* client_filter.c -- which clients CLIENT LIST shows and CLIENT KILL ends.
 *
 * A criterion has a word, a parser of its value (takeValue) and a check of a client (has). Its NOT- form negates the
 * check. If a criterion is given several times, the last value counts; IDs are added up.
 *
 * Not here    what is done with the clients that match (client_list.c).
 * Owns        lists of IDs, until clientFilterFree().
 * Threads     main.
 * Cost        a criterion not given costs one comparison per client.
 * Tests       tests/unit/commands/connection/client_filter_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "client_filter.h"

#include "acl.h"
#include "client_describe.h"
#include "numbers.h"
#include "reply.h"
#include "zmalloc.h"

#define FLAG_LETTERS "ABEIMNOPRSTUbcdeirtux"
#define CAPA_LETTERS "r"

/* ---- Checks of a client ----------------------------------------------------------------------------------------- */

static bool textIs(const sds actual, slice expected) { return actual && sliceEq(sdsSlice(actual), expected); }

/* Compares with the peer's address without its port and, for IPv6, without brackets. */
static bool ipIs(const client *c, slice expected) {
    const char *port = strrchr(c->peer, ':');
    slice ip = sliceOf(c->peer, port ? (size_t)(port - c->peer) : sdsLen(c->peer));
    if (ip.len >= 2 && ip.ptr[0] == '[') ip = sliceOf(ip.ptr + 1, ip.len - 2);
    return sliceEq(ip, expected);
}

static bool allIn(slice letters, const char *actual) {
    for (size_t i = 0; i < letters.len; i++) {
        if (!memchr(actual, letters.ptr[i], strlen(actual))) return false;
    }
    return true;
}

static bool hasFlags(const client *c, slice letters) {
    char actual[24];
    return allIn(letters, clientFlagLetters(c, actual));
}

static bool idIsOneOf(const filterValue *v, uint64_t id) {
    for (size_t i = 0; i < v->nids; i++) {
        if ((uint64_t)v->ids[i] == id) return true;
    }
    return false;
}

static bool criterionHolds(const client *c, int criterion, const filterValue *v) {
    switch (criterion) {
    case FILTER_ADDR: return textIs(c->peer, v->text);
    case FILTER_CAPA: return allIn(v->text, c->capa & CLIENT_CAPA_REDIRECT ? "r" : "");
    case FILTER_DB: return dbId(c->db) == v->number;
    case FILTER_FLAGS: return hasFlags(c, v->text);
    case FILTER_ID: return idIsOneOf(v, c->id);
    case FILTER_IP: return ipIs(c, v->text);
    case FILTER_LADDR: return textIs(c->local, v->text);
    case FILTER_LIB_NAME: return textIs(c->lib_name, v->text);
    case FILTER_LIB_VER: return textIs(c->lib_ver, v->text);
    case FILTER_NAME: return textIs(c->name, v->text);
    case FILTER_TYPE: return clientTypeOf(c) == v->number;
    case FILTER_USER: return sliceEq(v->text, aclUserName(c));
    }
    return true;
}

static long long secondsSince(monotime then) {
    return (long long)(clockTicksToNs(clockTicks() - then) / 1000000000ull);
}

bool clientFilterMatches(const clientFilter *f, const client *c) {
    if (c->flags & CLIENT_CLOSE_ASAP || (f->skip_me && c == f->me)) return false;
    if (f->age_s_min && secondsSince(c->created) < f->age_s_min) return false;
    if (f->idle_s_min && (long long)(clientIdleNs(c) / 1000000000ull) < f->idle_s_min) return false;
    for (int i = 0; i < FILTER_CRITERIA; i++) {
        if (f->is[i].given && !criterionHolds(c, i, &f->is[i])) return false;
        if (f->is_not[i].given && criterionHolds(c, i, &f->is_not[i])) return false;
    }
    return true;
}

/* ---- Options ---------------------------------------------------------------------------------------------------- */

static const char *const words[FILTER_CRITERIA] = {
    [FILTER_ADDR] = "addr",       [FILTER_CAPA] = "capa", [FILTER_DB] = "db",       [FILTER_FLAGS] = "flags",
    [FILTER_ID] = "id",           [FILTER_IP] = "ip",     [FILTER_LADDR] = "laddr", [FILTER_LIB_NAME] = "lib-name",
    [FILTER_LIB_VER] = "lib-ver", [FILTER_NAME] = "name", [FILTER_TYPE] = "type",   [FILTER_USER] = "user",
};

static int criterionByWord(slice word) {
    for (int i = 0; i < FILTER_CRITERIA; i++) {
        if (sliceIs(word, words[i])) return i;
    }
    return -1;
}

/* Parses IDs up to the first argument that is no number, and moves *index after the last one. */
static bool takeIds(client *c, uint32_t *index, filterValue *v) {
    v->given = true;
    for (long long id; *index < c->argc && string2ll(c->argv[*index].ptr, c->argv[*index].len, &id); (*index)++) {
        if (id < 1) return addReplyError(c, "client-id should be greater than 0");
        v->ids = zrealloc(v->ids, (v->nids + 1) * sizeof(*v->ids));
        v->ids[v->nids++] = id;
    }
    return true;
}

static bool checkLetters(client *c, slice given, const char *allowed, const char *what, const char *filter) {
    if (allIn(given, allowed)) return true;
    return addReplyErrorFormat(c, "Unknown %s found in the %s filter: %.*s", what, filter, (int)given.len, given.ptr);
}

static bool takeDb(client *c, uint32_t index, bool deny, long long *db) {
    const char *what = deny ? "NOT-DB" : "DB";
    int id;
    if (!getIntFromArg(c, index, &id,
                       deny ? "NOT-DB is not an integer or out of range" : "DB is not an integer or out of range"))
        return false;
    if (id < 0 || id >= dbCount())
        return addReplyErrorFormat(c, "%s number should be between 0 and %d", what, dbCount() - 1);
    *db = id;
    return true;
}

static bool clientFilterTakeValue(client *c, uint32_t index, int criterion, bool deny, filterValue *v) {
    slice text = c->argv[index];
    v->given = true;
    v->text = text;
    switch (criterion) {
    case FILTER_DB: return takeDb(c, index, deny, &v->number);
    case FILTER_FLAGS: return checkLetters(c, text, FLAG_LETTERS, "flags", deny ? "NOT-FLAGS" : "provided");
    case FILTER_CAPA: return checkLetters(c, text, CAPA_LETTERS, "capa", deny ? "NOT-CAPA" : "provided");
    case FILTER_USER:
        if (aclUser(text)) return true;
        return addReplyErrorFormat(c, "No such user '%.*s'", (int)text.len, text.ptr);
    case FILTER_TYPE:
        v->number = clientTypeByName(text);
        if (v->number >= 0) return true;
        return addReplyErrorFormat(c, "Unknown client type '%.*s'", (int)text.len, text.ptr);
    default: return true;
    }
}

static bool takeSeconds(client *c, uint32_t index, const char *what, long long *out) {
    if (!string2ll(c->argv[index].ptr, c->argv[index].len, out))
        return addReplyErrorFormat(c, "%s is not an integer or out of range", what);
    if (*out > 0) return true;
    return addReplyErrorFormat(c, "%s should be greater than 0", what);
}

static bool takeYesNo(client *c, uint32_t index, bool *out) {
    *out = sliceIs(c->argv[index], "yes");
    if (*out || sliceIs(c->argv[index], "no")) return true;
    return addReplySyntaxError(c);
}

/* Parses the options without a NOT- form; the value is argument `index`. */
static bool takeOther(clientFilter *f, client *c, uint32_t index) {
    slice word = c->argv[index - 1];
    if (sliceIs(word, "skipme")) return takeYesNo(c, index, &f->skip_me);
    if (sliceIs(word, "maxage")) return takeSeconds(c, index, "maxage", &f->age_s_min);
    if (sliceIs(word, "idle")) return takeSeconds(c, index, "idle", &f->idle_s_min);
    return addReplySyntaxError(c);
}

bool clientFilterParse(clientFilter *f, client *c, uint32_t index, bool skip_me) {
    *f = (clientFilter){.skip_me = skip_me, .me = c};
    while (index < c->argc) {
        slice word = c->argv[index++];
        bool deny = word.len > 4 && strncasecmp(word.ptr, "not-", 4) == 0;
        int criterion = criterionByWord(deny ? sliceOf(word.ptr + 4, word.len - 4) : word);
        filterValue *value = criterion < 0 ? NULL : deny ? &f->is_not[criterion] : &f->is[criterion];
        if (criterion == FILTER_ID) {
            if (!takeIds(c, &index, value)) return false;
            continue;
        }
        if (index == c->argc) return addReplySyntaxError(c);
        bool ok = value ? clientFilterTakeValue(c, index, criterion, deny, value) : takeOther(f, c, index);
        if (!ok) return false;
        index++;
    }
    return true;
}

void clientFilterFree(clientFilter *f) {
    zfree(f->is[FILTER_ID].ids);
    zfree(f->is_not[FILTER_ID].ids);
}
