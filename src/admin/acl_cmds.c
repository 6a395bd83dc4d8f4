/* acl_cmds.c -- ACL: users and their rules, categories of commands, the log of refused commands.
 *
 * Not here    users (engine/acl/acl.c), the log (engine/acl/acl_log.c), files (acl_file.c), which command is in which
 *             category (commands/table).
 * Owns        nothing.
 * Threads     main.
 * Tests       tests/engine/acl.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "admin.h"

#include "acl.h"
#include "acl_file.h"
#include "acl_check.h"
#include "command_table.h"
#include "db.h"
#include "engine_settings.h"
#include "log.h"
#include "redact.h"
#include "reply.h"
#include "rng.h"
#include "zmalloc.h"

#include <errno.h>
#include <string.h>

#define GENPASS_BITS_DEFAULT 256
#define GENPASS_BITS_MAX 4096

#define LOG_COUNT_DEFAULT 10

/* ---- Users ------------------------------------------------------------------------------------------------------ */

void aclWhoamiCommand(client *c) { addReplyBulk(c, aclUserName(c)); /* a primary has none */ }

static void replyName(void *arg, const user *u) { addReplyBulk(arg, sdsSlice(u->name)); }

void aclUsersCommand(client *c) {
    addReplyArrayLen(c, aclUsers());
    aclEachUser(replyName, c);
}

static void replyAndFree(client *c, sds text) {
    addReplyBulk(c, sdsSlice(text));
    sdsFree(text);
}

static void replyLine(void *arg, const user *u) { replyAndFree(arg, userCat(sdsNew("user "), u)); }

void aclListCommand(client *c) {
    addReplyArrayLen(c, aclUsers());
    aclEachUser(replyLine, c);
}

static void replySelector(client *c, const aclSelector *s) {
    addReplyBulkCString(c, "commands");
    replyAndFree(c, aclSelectorCatCommands(sdsEmpty(), s));
    addReplyBulkCString(c, "keys");
    replyAndFree(c, aclSelectorCatKeys(sdsEmpty(), s));
    addReplyBulkCString(c, "channels");
    replyAndFree(c, aclSelectorCatChannels(sdsEmpty(), s));
    addReplyBulkCString(c, "databases");
    replyAndFree(c, aclSelectorCatDbs(sdsEmpty(), s));
}

void aclGetuserCommand(client *c) {
    redactArgument(c, 2);
    const user *u = aclUser(c->argv[2]);
    if (!u) {
        addReplyNull(c);
        return;
    }
    addReplyMapLen(c, 7);
    addReplyBulkCString(c, "flags");
    addReplySetLen(c, 1 + u->nopass);
    addReplyBulkCString(c, u->enabled ? "on" : "off");
    if (u->nopass) addReplyBulkCString(c, "nopass");
    addReplyBulkCString(c, "passwords");
    addReplyArrayLen(c, u->passwords.count);
    for (const aclWord *p = u->passwords.first; p; p = p->next) addReplyBulk(c, sdsSlice(p->text));
    replySelector(c, u->selectors[0]);
    addReplyBulkCString(c, "selectors");
    addReplyArrayLen(c, u->selectors_count - 1);
    for (uint32_t i = 1; i < u->selectors_count; i++) {
        addReplyMapLen(c, 4);
        replySelector(c, u->selectors[i]);
    }
}

/* Replies after a change of users. Takes ownership of `err`. */
static void replyResult(client *c, sds err) {
    if (err) addReplyErrorSlice(c, sdsSlice(err));
    else addReplyOk(c);
    sdsFree(err);
    aclAfterReply(c);
}

void aclSetuserCommand(client *c) {
    for (uint32_t i = 2; i < c->argc; i++) redactArgument(c, i);
    sds err = aclSetUser(c->argv[2], c->argv + 3, (int)c->argc - 3, false);
    replyResult(c, err);
}

void aclDeluserCommand(client *c) {
    for (uint32_t i = 2; i < c->argc; i++) {
        redactArgument(c, i);
        if (!sliceEq(c->argv[i], sliceStr("default"))) continue;
        addReplyError(c, "The 'default' user cannot be removed");
        return;
    }
    addReplyLongLong(c, (long long)aclDeleteUsers(c->argv + 2, c->argc - 2));
    aclAfterReply(c);
}

void aclDryrunCommand(client *c) {
    const user *u = aclUser(c->argv[2]);
    if (!u) {
        addReplyErrorFormat(c, "User '%.*s' not found", (int)c->argv[2].len, c->argv[2].ptr);
        return;
    }
    bool unknown_sub;
    aclQuestion q = {.argv = c->argv + 3, .argc = c->argc - 3, .dbid = dbId(c->db)};
    q.cmd = commandLookup(q.argv, q.argc, &unknown_sub);
    if (!q.cmd || unknown_sub) {
        addReplyErrorFormat(c, "Command '%.*s' not found", (int)q.argv[0].len, q.argv[0].ptr);
        return;
    }
    if (!commandArityOk(q.cmd, q.argc)) {
        addReplyErrorFormat(c, "wrong number of arguments for '%s' command", q.cmd->fullname);
        return;
    }
    uint32_t index;
    aclVerdict verdict = aclCheck(u, &q, &index);
    if (verdict == ACL_ALLOWED) addReplyOk(c);
    else replyAndFree(c, aclCatRefusal(sdsEmpty(), u, verdict, &q, index));
}

/* ---- The log ---------------------------------------------------------------------------------------------------- */

void aclLogCommand(client *c) {
    long long count = LOG_COUNT_DEFAULT;
    if (c->argc > 3) {
        addReplySubcommandSyntaxError(c);
        return;
    }
    if (c->argc == 3 && sliceIs(c->argv[2], "reset")) {
        aclLogReset();
        addReplyOk(c);
        return;
    }
    if (c->argc == 3 && !getLongLongFromArg(c, 2, &count, NULL)) return;
    aclLogReply(c, count < 0 ? 0 : count);
}

/* ---- The file --------------------------------------------------------------------------------------------------- */

static bool requireFile(client *c) {
    if (engine_settings.aclfile) return true;
    addReplyError(c, "This instance is not configured to use an ACL file. You may want to specify users via the ACL "
                     "SETUSER command and then issue a CONFIG REWRITE (assuming you have a configuration file set) in "
                     "order to store users in the configuration.");
    return false;
}

void aclLoadCommand(client *c) {
    if (!requireFile(c)) return;
    sds err = aclFileLoad();
    replyResult(c, err);
}

void aclSaveCommand(client *c) {
    if (!requireFile(c)) return;
    if (aclFileSave()) {
        addReplyOk(c);
        return;
    }
    serverLog(LL_WARNING, "Failed to write the ACL file %s: %s", engine_settings.aclfile, strerror(errno));
    addReplyError(c, "There was an error trying to save the ACLs. Please check the server logs for more information");
}

/* ---- Categories ------------------------------------------------------------------------------------------------- */

typedef struct categoryReply {
    client *c;
    uint64_t category;
    long long count;
} categoryReply;

static void replyIfInCategory(void *arg, serverCommand *cmd) {
    categoryReply *reply = arg;
    if (cmd->acl_categories & reply->category && cmd->proc) {
        addReplyBulkCString(reply->c, cmd->fullname);
        reply->count++;
    }
    for (int i = 0; i < cmd->nsubcommands; i++) replyIfInCategory(arg, &cmd->subcommands[i]);
}

static void replyCategories(client *c) {
    int count = 0;
    while (aclCategoryName(count)) count++;
    addReplyArrayLen(c, count);
    for (int i = 0; i < count; i++) addReplyBulkCString(c, aclCategoryName(i));
}

void aclCatCommand(client *c) {
    if (c->argc > 3) {
        addReplySubcommandSyntaxError(c);
        return;
    }
    if (c->argc == 2) {
        replyCategories(c);
        return;
    }
    slice name = c->argv[2];
    categoryReply reply = {.c = c, .category = aclCategoryByName(name)};
    if (!reply.category) {
        addReplyErrorFormat(c, "Unknown category '%.*s'", (int)name.len, name.ptr);
        return;
    }
    void *length = addReplyDeferredLen(c);
    commandEach(replyIfInCategory, &reply);
    setDeferredArrayLen(c, length, reply.count);
}

/* ---- Passwords -------------------------------------------------------------------------------------------------- */

void aclGenpassCommand(client *c) {
    long long bits = GENPASS_BITS_DEFAULT;
    char digits[GENPASS_BITS_MAX / 4];

    if (c->argc > 3) {
        addReplySubcommandSyntaxError(c);
        return;
    }
    if (c->argc == 3 && !getLongLongFromArg(c, 2, &bits, NULL)) return;
    if (bits < 1 || bits > GENPASS_BITS_MAX) {
        addReplyErrorFormat(
            c,
            "ACL GENPASS argument must be the number of bits for the output password, a positive number up "
            "to %d",
            GENPASS_BITS_MAX);
        return;
    }
    size_t len = (size_t)(bits + 3) / 4;
    rngSecureHex(digits, len);
    addReplyBulk(c, sliceOf(digits, len));
}
