/* acl_lines.c -- "user" lines of the configuration: storing, applying, comparing, writing.
 *
 * Not here    rules (engine/acl/acl_user.c), the file aclfile (acl_file.c).
 * Owns        nothing: the caller owns the lines.
 * Threads     main.
 * Tests       tests/engine/acl.tcl, tests/server/config_rewrite.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "acl_lines.h"

#include "acl.h"
#include "log.h"
#include "zmalloc.h"

#include <stdio.h>
#include <string.h>

typedef struct userLine {
    sds *words; /* own: name and rules */
    int count;
    struct userLine *next;
} userLine;

struct aclLines {
    userLine *first, **last;
};

aclLines *aclLinesCreate(void) {
    aclLines *lines = zcalloc(1, sizeof(*lines));
    lines->last = &lines->first;
    return lines;
}

void aclLinesFree(aclLines *lines) {
    while (lines->first) {
        userLine *l = lines->first;
        lines->first = l->next;
        sdsFreeSplitRes(l->words, l->count);
        zfree(l);
    }
    zfree(lines);
}

bool aclLinesEmpty(const aclLines *lines) { return !lines->first; }

static const userLine *findLine(const aclLines *lines, slice name) {
    for (const userLine *l = lines->first; l; l = l->next)
        if (sliceEq(sdsSlice(l->words[0]), name)) return l;
    return NULL;
}

/* Creates the user that a line describes. Returns NULL with *why if the line is wrong. With `names_later` an unknown
 * command name is no error. */
static user *makeUser(const userLine *l, bool names_later, const char **why) {
    int count = l->count - 1;
    slice *rules = zmalloc((size_t)l->count * sizeof(*rules)), open;
    for (int i = 0; i < count; i++) rules[i] = sdsSlice(l->words[i + 1]);
    sds *joined = aclJoinWords(rules, &count, &open);
    zfree(rules);
    *why = joined ? NULL : "Wrong format";
    user *u = userCreate(sdsSlice(l->words[0]));
    for (int i = 0; joined && i < count && !*why; i++) {
        *why = userApply(u, sdsSlice(joined[i]));
        if (*why && names_later && !strcmp(*why, ACL_UNKNOWN_NAME)) *why = NULL;
    }
    if (joined) sdsFreeSplitRes(joined, count);
    if (!*why) return u;
    userFree(u);
    return NULL;
}

const char *aclLinesAdd(aclLines *lines, sds *words, int count) {
    static char refusal[512];
    const char *why;
    userLine *l = zcalloc(1, sizeof(*l));
    l->words = zcalloc((size_t)count, sizeof(*l->words));
    l->count = count - 1;
    for (int i = 0; i < l->count; i++) l->words[i] = sdsDup(words[i + 1]);
    userFree(makeUser(l, true, &why));
    if (!why && findLine(lines, sdsSlice(words[1])))
        why = "Duplicate user found. A user can only be defined once in config files";
    if (why) {
        snprintf(refusal, sizeof(refusal), "Error in user declaration '%s': %s", words[1], why);
        sdsFreeSplitRes(l->words, l->count);
        zfree(l);
        return refusal;
    }
    *lines->last = l;
    lines->last = &l->next;
    return NULL;
}

static bool applyLine(const userLine *l) {
    slice *rules = zmalloc((size_t)l->count * sizeof(*rules));
    for (int i = 1; i < l->count; i++) rules[i - 1] = sdsSlice(l->words[i]);
    bool is_default = strcmp(l->words[0], "default") == 0;
    sds err = NULL;
    /* As for any other user, the rules of a line for the default user start from an empty user. */
    if (is_default) err = aclSetUser(sdsSlice(l->words[0]), &(slice){"reset", 5}, 1, true);
    if (!err) err = aclSetUser(sdsSlice(l->words[0]), rules, l->count - 1, true);
    zfree(rules);
    if (!err) return true;
    serverLog(LL_WARNING, "Invalid ACL rules of user '%s': %s", l->words[0], err);
    sdsFree(err);
    return false;
}

bool aclLinesApply(const aclLines *lines) {
    for (const userLine *l = lines->first; l; l = l->next)
        if (!applyLine(l)) return false;
    return true;
}

/* ---- Comparing -------------------------------------------------------------------------------------------------- */

typedef struct comparison {
    const aclLines *lines; /* borrowed */
    sds why;               /* owns */
} comparison;

static void compareUser(void *arg, const user *now) {
    comparison *c = arg;
    const char *why = NULL;
    const userLine *l = findLine(c->lines, sdsSlice(now->name));
    if (c->why) return;
    if (!l) {
        if (strcmp(now->name, "default") || !aclIsPlain())
            c->why = sdsCatPrintf(sdsEmpty(), "user '%s' would be missing", now->name);
        return;
    }
    user *then = makeUser(l, false, &why);
    if (!then) {
        c->why = sdsCatPrintf(sdsEmpty(), "the ACL rules of user '%s' would be invalid: %s", now->name, why);
        return;
    }
    sds text_now = userCat(sdsEmpty(), now), text_then = userCat(sdsEmpty(), then);
    if (sdsCmp(text_now, text_then))
        c->why = sdsCatPrintf(sdsEmpty(), "user '%s' would have other rules than now", now->name);
    sdsFree(text_now);
    sdsFree(text_then);
    userFree(then);
}

sds aclLinesDiffer(const aclLines *lines) {
    comparison c = {lines, NULL};
    aclEachUser(compareUser, &c);
    for (const userLine *l = lines->first; l && !c.why; l = l->next)
        if (!aclUser(sdsSlice(l->words[0])))
            c.why = sdsCatPrintf(sdsEmpty(), "user '%s', which was deleted, would be created again", l->words[0]);
    return c.why;
}

/* ---- Writing ---------------------------------------------------------------------------------------------------- */

static bool needsQuotes(slice word) {
    for (size_t i = 0; i < word.len; i++)
        if (word.ptr[i] <= ' ' || word.ptr[i] > '~' || strchr("\"'\\", word.ptr[i])) return true;
    return word.len == 0; /* the name of a user may be empty */
}

typedef struct lineText {
    sds text;                  /* owns */
    const aclLines *elsewhere; /* borrowed */
} lineText;

/* Quotes words that need it. The configuration allows quotes; aclfile does not. */
static void catQuotedLine(void *arg, const user *u) {
    int count;
    lineText *out = arg;
    if (findLine(out->elsewhere, sdsSlice(u->name))) return;
    sds *text = &out->text, line = userCat(sdsEmpty(), u);
    sds *words = sdsSplitLen(line, sdsLen(line), " ", 1, &count);
    *text = sdsCat(*text, "user");
    for (int i = 0; i < count; i++) {
        slice word = sdsSlice(words[i]);
        *text = sdsCat(*text, " ");
        *text = needsQuotes(word) ? sdsCatRepr(*text, word.ptr, word.len) : sdsCatSlice(*text, word);
    }
    *text = sdsCat(*text, "\n");
    sdsFreeSplitRes(words, count);
    sdsFree(line);
}

sds aclLinesText(const aclLines *elsewhere) {
    lineText out = {sdsEmpty(), elsewhere};
    aclEachUser(catQuotedLine, &out);
    return out.text;
}
