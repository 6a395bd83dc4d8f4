/* acl_user.c -- a user: its passwords and its permissions.
 *
 * Not here    what a selector allows (acl_selector.c), the table of users (acl.c).
 * Owns        name, hashes and selectors of a user.
 * Threads     main.
 * Invariants  1. There is a first selector.
 *             2. Of a password only the hash is stored.
 * Tests       tests/unit/engine/acl/acl_user_test.c, tests/differential/acl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "acl_user.h"

#include "hash.h"
#include "panic.h"
#include "zmalloc.h"

static const char syntax_error[] = "Syntax error";

user *userCreate(slice name) {
    user *u = zcalloc(1, sizeof(*u));
    u->name = sdsFromSlice(name);
    u->selectors = zmalloc(sizeof(*u->selectors));
    u->selectors[0] = aclSelectorCreate();
    u->selectors_count = 1;
    debugAssert(!aclSelectorIsOpen(u->selectors[0])); /* a user without permissions */
    return u;
}

/* Asserts the invariants of a user. Call where no function of this file is in the middle of a change. */
static void userCheck(const user *u) {
    debugAssert(u->selectors_count > 0 && u->unrestricted == aclSelectorIsOpen(u->selectors[0]));
    debugAssert(!u->nopass || u->passwords.count == 0);
    debugAssert(!u->passwords.first || sdsLen(u->passwords.first->text) == PASSWORD_HASH_LEN);
    unused(u);
}

static void appendPassword(user *u, slice hash) {
    debugAssert(hash.len == PASSWORD_HASH_LEN);
    aclWord *word = zmalloc(sizeof(*word));
    word->text = sdsFromSlice(hash);
    aclWordsAppend(&u->passwords, word);
}

user *userDup(const user *u) {
    user *copy = zmalloc(sizeof(*copy));
    *copy = *u;
    copy->name = sdsDup(u->name);
    copy->passwords = (aclWords){.count = 0};
    for (const aclWord *p = u->passwords.first; p; p = p->next) appendPassword(copy, sdsSlice(p->text));
    copy->selectors = zmalloc(u->selectors_count * sizeof(*u->selectors));
    for (uint32_t i = 0; i < u->selectors_count; i++) copy->selectors[i] = aclSelectorDup(u->selectors[i]);
    userCheck(copy);
    return copy;
}

static void clearSelectors(user *u) {
    while (u->selectors_count > 1) aclSelectorFree(u->selectors[--u->selectors_count]);
}

void userFree(user *u) {
    if (!u) return;
    userCheck(u);
    aclWordsClear(&u->passwords);
    clearSelectors(u);
    aclSelectorFree(u->selectors[0]);
    zfree(u->selectors);
    sdsFree(u->name);
    zfree(u);
}

void userTake(user *u, user *from) {
    debugAssert(sdsCmp(u->name, from->name) == 0);
    user old = *u;
    *u = *from;
    *from = old;
    userFree(from);
}

/* ---- Passwords -------------------------------------------------------------------------------------------------- */

static const char *addPassword(user *u, slice hash) {
    u->nopass = false;
    if (!aclWordsFind(&u->passwords, hash)) appendPassword(u, hash);
    return NULL;
}

static const char *removePassword(user *u, slice hash) {
    aclWord *found = aclWordsFind(&u->passwords, hash);
    if (!found) return "The password you are trying to remove from the user does not exist";
    aclWordsDrop(&u->passwords, found);
    return NULL;
}

static bool isHash(slice text) {
    if (text.len != PASSWORD_HASH_LEN) return false;
    for (size_t i = 0; i < text.len; i++)
        if (!((text.ptr[i] >= '0' && text.ptr[i] <= '9') || (text.ptr[i] >= 'a' && text.ptr[i] <= 'f'))) return false;
    return true;
}

/* Applies >password, <password, #hash or !hash. */
static const char *applyPassword(user *u, slice word) {
    char digits[PASSWORD_HASH_LEN + 1];
    slice hash = sliceOf(word.ptr + 1, word.len - 1);
    bool plain = word.ptr[0] == '>' || word.ptr[0] == '<';
    if (plain) {
        sha256Hex(digits, hash.ptr, hash.len);
        hash = sliceOf(digits, PASSWORD_HASH_LEN);
    } else if (!isHash(hash)) {
        return "The password hash must be exactly 64 characters and contain only lowercase hexadecimal characters";
    }
    return word.ptr[0] == '>' || word.ptr[0] == '#' ? addPassword(u, hash) : removePassword(u, hash);
}

/* Hashes have one length whatever that of the passwords, so that the time reveals neither length nor common prefix. */
bool userPasswordIs(const user *u, slice password) {
    char digits[PASSWORD_HASH_LEN + 1];
    bool found = false;
    userCheck(u);
    sha256Hex(digits, password.ptr, password.len);
    for (const aclWord *p = u->passwords.first; p; p = p->next) {
        unsigned char differ = 0;
        for (size_t at = 0; at < PASSWORD_HASH_LEN; at++) differ |= (unsigned char)(digits[at] ^ p->text[at]);
        found |= differ == 0;
    }
    return u->nopass || found;
}

/* ---- Rules ------------------------------------------------------------------------------------------------------ */

/* Returns whether a word within parentheses can be parsed again from the user's text: there words may be quoted, and
 * the last one ends with ")", so a word that has a quote, or ends with ")", cannot. */
static bool comesBack(slice word) {
    for (size_t i = 0; i < word.len; i++)
        if (word.ptr[i] == '"' || word.ptr[i] == '\'') return false;
    return word.len == 0 || word.ptr[word.len - 1] != ')';
}

/* Adds a selector from "(words)". */
static const char *addSelector(user *u, slice word) {
    int count;
    if (word.len < 2 || word.ptr[word.len - 1] != ')') return syntax_error;
    sds inside = sdsNewLen(word.ptr + 1, word.len - 2);
    sds *words = sdsSplitArgs(inside, &count);
    sdsFree(inside);
    if (!words) return syntax_error;
    aclSelector *s = aclSelectorCreate();
    const char *err = NULL;
    for (int i = 0; i < count && !err; i++)
        err = comesBack(sdsSlice(words[i])) ? aclSelectorApply(s, sdsSlice(words[i])) : syntax_error;
    sdsFreeSplitRes(words, count);
    if (err) {
        aclSelectorFree(s);
        return err;
    }
    u->selectors = zrealloc(u->selectors, (u->selectors_count + 1) * sizeof(*u->selectors));
    u->selectors[u->selectors_count++] = s;
    return NULL;
}

static void resetUser(user *u) {
    aclWordsClear(&u->passwords);
    clearSelectors(u);
    aclSelectorFree(u->selectors[0]);
    u->selectors[0] = aclSelectorCreate();
    u->enabled = u->nopass = false;
}

static const char *applyWord(user *u, slice word) {
    if (word.len == 0) return NULL; /* as Valkey does */
    if (sliceIs(word, "on")) u->enabled = true;
    else if (sliceIs(word, "off")) u->enabled = false;
    else if (sliceIs(word, "nopass")) aclWordsClear(&u->passwords), u->nopass = true;
    else if (sliceIs(word, "resetpass")) aclWordsClear(&u->passwords), u->nopass = false;
    else if (sliceIs(word, "reset")) resetUser(u);
    else if (sliceIs(word, "clearselectors")) clearSelectors(u);
    /* Payloads of RESTORE are always checked, for every user. */
    else if (sliceIs(word, "sanitize-payload") || sliceIs(word, "skip-sanitize-payload")) return NULL;
    else if (memchr("><#!", word.ptr[0], 4)) return applyPassword(u, word);
    else if (word.ptr[0] == '(') return addSelector(u, word);
    else return aclSelectorApply(u->selectors[0], word);
    return NULL;
}

const char *userApply(user *u, slice word) {
    const char *err = applyWord(u, word);
    u->unrestricted = aclSelectorIsOpen(u->selectors[0]);
    userCheck(u);
    return err;
}

/* ---- Text of a user --------------------------------------------------------------------------------------------- */

sds userCat(sds out, const user *u) {
    userCheck(u);
    out = sdsCatSlice(out, sdsSlice(u->name));
    out = sdsCat(out, u->enabled ? " on " : " off ");
    if (u->nopass) out = sdsCat(out, "nopass ");
    for (const aclWord *p = u->passwords.first; p; p = p->next) out = sdsCatPrintf(out, "#%s ", p->text);
    out = aclSelectorCat(out, u->selectors[0]);
    for (uint32_t i = 1; i < u->selectors_count; i++)
        out = sdsCat(aclSelectorCat(sdsCat(out, " ("), u->selectors[i]), ")");
    return out;
}

/* Returns whether a word begins as a rule about commands, keys, channels or databases does: it is no password. */
static bool isHarmless(slice word) {
    return word.len == 0 || memchr("+-~%&()", word.ptr[0], 7) || (word.len > 3 && strncasecmp(word.ptr, "db=", 3) == 0);
}

sds aclCatRedacted(sds out, slice word) {
    bool harmless = isHarmless(word);
    for (size_t at = 1; at < word.len; at++) /* a selector has more words */
        if (memchr("( \t\"'", word.ptr[at - 1], 5)) harmless &= isHarmless(sliceOf(word.ptr + at, word.len - at));
    if (harmless) return sdsCatSlice(out, word);
    return sdsCat(memchr("><#!(", word.ptr[0], 5) ? sdsCatLen(out, word.ptr, 1) : out, "(redacted)");
}

sds *aclJoinWords(const slice *words, int *count, slice *open) {
    sds *out = zmalloc(((size_t)*count + 1) * sizeof(*out));
    int n = 0;
    bool inside = false;
    for (int i = 0; i < *count; i++) {
        slice word = words[i];
        if (inside) {
            out[n - 1] = sdsCatSlice(sdsCat(out[n - 1], " "), word);
        } else {
            out[n++] = sdsFromSlice(word);
            inside = word.len && word.ptr[0] == '(';
            if (inside) *open = word;
        }
        if (inside && word.len && word.ptr[word.len - 1] == ')') inside = false;
    }
    *count = n;
    if (!inside) return out;
    sdsFreeSplitRes(out, n);
    return NULL;
}
