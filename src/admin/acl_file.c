/* acl_file.c -- users in files: lines of the configuration, or a file of their own (aclfile).
 *
 * A file is good as a whole or not at all: users are made beside those that are there, and take their place when no
 * line is wrong.
 *
 * Not here    rules (engine/acl_user.c).
 * Owns        the lines of the configuration until the start.
 * Threads     main.
 * Tests       tests/engine/acl.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "acl_file.h"

#include "acl.h"
#include "engine_settings.h"
#include "log.h"
#include "rax.h"
#include "text_file.h"
#include "zmalloc.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

typedef struct configLine {
    sds *words; /* own: name and rules */
    int count;
    struct configLine *next;
} configLine;

#define NO_FILE ((mode_t)-1)
#define MODE_OF_NEW 0600 /* hashes are better not read by everybody */

static configLine *first_line, **last_line = &first_line;

static void freeUser(void *u) {
    userFree(u);
}

/* ---- The configuration ------------------------------------------------------------------------------------------ */

/* NULL, or why a user of these rules cannot be. A name of a command is judged at the end of the start only, when every
 * command has its final name. */
static const char *checkRules(char **words, int count) {
    slice *rules = zmalloc((size_t)count * sizeof(*rules) + 1), open;
    for (int i = 0; i < count; i++) rules[i] = sdsSlice(words[i]);
    sds *joined = aclJoinWords(rules, &count, &open);
    zfree(rules);
    if (!joined) return "Wrong format";
    user *scratch = userCreate(sliceStr("scratch"));
    const char *why = NULL;
    for (int i = 0; i < count && !why; i++) {
        why = userApply(scratch, sdsSlice(joined[i]));
        if (why && !strcmp(why, ACL_UNKNOWN_NAME)) why = NULL;
    }
    userFree(scratch);
    sdsFreeSplitRes(joined, count);
    return why;
}

const char *aclFileAddLine(char **words, int count) {
    static char refusal[512];
    const char *why = checkRules(words + 2, count - 2);
    for (const configLine *l = first_line; l && !why; l = l->next)
        if (!sdsCmp(l->words[0], words[1]))
            why = "Duplicate user found. A user can only be defined once in config files";
    if (why) {
        snprintf(refusal, sizeof(refusal), "Error in user declaration '%s': %s", words[1], why);
        return refusal;
    }
    configLine *l = zcalloc(1, sizeof(*l));
    l->words = zcalloc((size_t)count, sizeof(*l->words));
    l->count = count - 1;
    for (int i = 0; i < l->count; i++) l->words[i] = sdsDup(words[i + 1]);
    *last_line = l;
    last_line = &l->next;
    return NULL;
}

static bool applyLine(const configLine *l) {
    slice *rules = zmalloc((size_t)l->count * sizeof(*rules));
    for (int i = 1; i < l->count; i++) rules[i - 1] = sdsSlice(l->words[i]);
    bool is_default = strcmp(l->words[0], "default") == 0;
    sds err = NULL;
    /* Rules of the default user start from nothing here, as those of any other. */
    if (is_default) err = aclSetUser(sdsSlice(l->words[0]), &(slice){"reset", 5}, 1, true);
    if (!err) err = aclSetUser(sdsSlice(l->words[0]), rules, l->count - 1, true);
    zfree(rules);
    if (!err) return true;
    serverLog(LL_WARNING, "The rules of user '%s' are wrong: %s", l->words[0], err);
    sdsFree(err);
    return false;
}

static bool applyLines(void) {
    bool ok = true;
    while (first_line) {
        configLine *l = first_line;
        first_line = l->next;
        ok = ok && applyLine(l);
        sdsFreeSplitRes(l->words, l->count);
        zfree(l);
    }
    last_line = &first_line;
    return ok;
}

bool aclFileStart(void) {
    sds password = engine_settings.requirepass;
    if (password) aclSetDefaultPassword(sdsSlice(password));
    if (!engine_settings.aclfile) return applyLines();
    if (first_line) {
        serverLog(LL_WARNING, "There are users in the configuration and an aclfile: say where they are to stand");
        return false;
    }
    sds err = aclFileLoad();
    if (err) serverLog(LL_WARNING, "The users could not be read: %s", err);
    sdsFree(err);
    return !err;
}

static bool needsQuotes(slice word) {
    for (size_t i = 0; i < word.len; i++)
        if (word.ptr[i] <= ' ' || word.ptr[i] > '~' || strchr("\"'\\", word.ptr[i])) return true;
    return false;
}

/* Words of the configuration may stand in quotes, those of the users' file not. */
static void catQuotedLine(void *arg, const user *u) {
    int count;
    sds *text = arg, line = userCat(sdsEmpty(), u);
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

sds aclFileLines(void) {
    sds text = sdsEmpty();
    if (!engine_settings.aclfile) aclEachUser(catQuotedLine, &text);
    return text;
}

/* ---- The file --------------------------------------------------------------------------------------------------- */

/* A line's user is added to `users`; what is wrong is appended to *errors. */
static void takeUser(rax *users, const char *path, int number, sds *words, int count, sds *errors) {
    if (raxFind(users, sdsSlice(words[1]), NULL)) {
        *errors = sdsCatPrintf(*errors, "WARNING: Duplicate user '%s' found on line %d. ", words[1], number);
        return;
    }
    user *u = userCreate(sdsSlice(words[1]));
    slice *rules = zmalloc((size_t)count * sizeof(*rules)), open;
    for (int i = 2; i < count; i++) rules[i - 2] = sdsSlice(words[i]);
    int n = count - 2;
    sds *joined = aclJoinWords(rules, &n, &open);
    zfree(rules);
    if (!joined) *errors = sdsCatPrintf(*errors, "%s:%d: Unmatched parenthesis in selector definition. ", path, number);
    for (int i = 0; joined && i < n; i++) {
        const char *why = userApply(u, sdsSlice(joined[i]));
        if (!why) continue;
        if (!strcmp(why, "Syntax error")) *errors = sdsCatPrintf(*errors, "%s:%d: %s. ", path, number, why);
        else {
            *errors = sdsCatPrintf(*errors, "%s:%d: Error in applying operation '", path, number);
            *errors = sdsCatPrintf(aclCatShown(*errors, sdsSlice(joined[i])), "': %s. ", why);
        }
        break;
    }
    if (joined) sdsFreeSplitRes(joined, n);
    if (raxInsert(users, sdsSlice(u->name), u, NULL) != RAX_NO_MEMORY) return;
    *errors = sdsCatPrintf(*errors, "%s:%d: There is no memory for a name of this length. ", path, number);
    userFree(u);
}

static void takeLine(rax *users, const char *path, int number, sds line, sds *errors) {
    int count;
    sdsTrim(line, " \t\r\n");
    if (sdsLen(line) == 0) return;
    sds *words = sdsSplitLen(line, sdsLen(line), " ", 1, &count);
    int kept = 0;
    for (int i = 0; i < count; i++) {
        if (sdsLen(words[i])) words[kept++] = words[i];
        else sdsFree(words[i]);
    }
    if (kept < 2 || strcmp(words[0], "user") != 0)
        *errors =
            sdsCatPrintf(*errors, "%s:%d should start with user keyword followed by the username. ", path, number);
    else takeUser(users, path, number, words, kept, errors);
    sdsFreeSplitRes(words, kept);
}

sds aclFileLoad(void) {
    const char *path = engine_settings.aclfile;
    mode_t mode = NO_FILE;
    sds text = textFileRead(path, &mode), errors = sdsEmpty();
    if (text && mode == NO_FILE) errno = ENOENT;
    if (!text || mode == NO_FILE) {
        sdsFree(text);
        return sdsCatPrintf(errors, "Error loading ACLs, opening file '%s': %s", path, strerror(errno));
    }
    rax *users = raxCreate();
    int count;
    sds *lines = sdsSplitLen(text, sdsLen(text), "\n", 1, &count);
    for (int i = 0; i < count; i++) takeLine(users, path, i + 1, lines[i], &errors);
    sdsFreeSplitRes(lines, count);
    sdsFree(text);
    if (sdsLen(errors)) {
        raxRelease(users, freeUser);
        return sdsCat(errors,
                      "WARNING: ACL errors detected, no change to the previously active ACL rules was performed");
    }
    sdsFree(errors);
    aclReplaceUsers(users);
    return NULL;
}

static void catLine(void *arg, const user *u) {
    sds *text = arg;
    *text = sdsCat(userCat(sdsCat(*text, "user "), u), "\n");
}

bool aclFileSave(void) {
    mode_t mode = MODE_OF_NEW; /* one that is there keeps its own */
    sds old = textFileRead(engine_settings.aclfile, &mode), text = sdsEmpty();
    if (old) aclEachUser(catLine, &text);
    bool ok = old && textFileReplace(engine_settings.aclfile, sdsSlice(text), mode);
    sdsFree(text);
    sdsFree(old);
    return ok;
}
