/* acl_file.c -- users in files: "user" lines of the configuration file, or a separate file (aclfile).
 *
 * A file is applied as a whole or not at all: its users are created apart from the present ones, and replace them if no
 * line is wrong.
 *
 * Not here    rules (engine/acl/acl_user.c), the lines of the configuration (acl_lines.c).
 * Owns        the lines of the configuration until the start.
 * Threads     main.
 * Tests       tests/engine/acl.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "acl_file.h"

#include "acl.h"
#include "acl_lines.h"
#include "engine_settings.h"
#include "log.h"
#include "rax.h"
#include "text_file.h"
#include "zmalloc.h"

#include <errno.h>
#include <string.h>

#define NO_FILE ((mode_t)-1)
#define MODE_OF_NEW 0600 /* only for the owner: it has password hashes */

static aclLines *config_lines; /* owns: from the first line until the start */

static void freeUser(void *u) { userFree(u); }

/* ---- The configuration ------------------------------------------------------------------------------------------ */

const char *aclFileAddLine(sds *words, int count) {
    if (!config_lines) config_lines = aclLinesCreate();
    return aclLinesAdd(config_lines, words, count);
}

static bool applyLines(void) {
    bool ok = !config_lines || aclLinesApply(config_lines);
    if (config_lines) aclLinesFree(config_lines);
    config_lines = NULL;
    return ok;
}

bool aclFileStart(void) {
    sds password = engine_settings.requirepass;
    if (password) aclSetDefaultPassword(sdsSlice(password));
    if (!engine_settings.aclfile) return applyLines();
    if (config_lines && !aclLinesEmpty(config_lines)) {
        serverLog(LL_WARNING,
                  "Users are defined in the configuration file, and aclfile is set as well: remove one of the two");
        return false;
    }
    sds err = aclFileLoad();
    if (err) serverLog(LL_WARNING, "Failed to load the users: %s", err);
    sdsFree(err);
    return !err;
}

/* ---- The file --------------------------------------------------------------------------------------------------- */

/* Adds the user of a line to `users`, or an error text to *errors. */
static void parseUser(rax *users, const char *path, int number, sds *words, int count, sds *errors) {
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
            *errors = sdsCatPrintf(aclCatRedacted(*errors, sdsSlice(joined[i])), "': %s. ", why);
        }
        break;
    }
    if (joined) sdsFreeSplitRes(joined, n);
    if (raxInsert(users, sdsSlice(u->name), u, NULL) != RAX_NO_MEMORY) return;
    *errors = sdsCatPrintf(*errors, "%s:%d: Not enough memory for a user name of this length. ", path, number);
    userFree(u);
}

static void parseLine(rax *users, const char *path, int number, sds line, sds *errors) {
    int count;
    sdsTrim(line, " \t\r\n");
    if (sdsLen(line) == 0) return;
    sds *words = sdsSplitLen(line, sdsLen(line), " ", 1, &count);
    int used = 0;
    for (int i = 0; i < count; i++) {
        if (sdsLen(words[i]) || i == 1) words[used++] = words[i]; /* the name may be empty */
        else sdsFree(words[i]);
    }
    if (used < 2 || strcmp(words[0], "user") != 0)
        *errors =
            sdsCatPrintf(*errors, "%s:%d should start with user keyword followed by the username. ", path, number);
    else parseUser(users, path, number, words, used, errors);
    sdsFreeSplitRes(words, used);
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
    for (int i = 0; i < count; i++) parseLine(users, path, i + 1, lines[i], &errors);
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
    mode_t mode = MODE_OF_NEW; /* used if the file does not exist yet */
    sds old = textFileRead(engine_settings.aclfile, &mode), text = sdsEmpty();
    if (old) aclEachUser(catLine, &text);
    bool ok = old && textFileReplace(engine_settings.aclfile, sdsSlice(text), mode);
    sdsFree(text);
    sdsFree(old);
    return ok;
}
