/* acl_cmds.c -- ACL: the one user there is, and the categories of commands.
 *
 * Not here    passwords (engine/auth.h), which command is in which category (folder table).
 * Owns        nothing.
 * Threads     main.
 * Tests       tests/unit/commands/connection_cmds_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "auth.h"
#include "command_table.h"
#include "commands.h"
#include "hash.h"
#include "redact.h"
#include "reply.h"
#include "rng.h"

#define GENPASS_BITS_DEFAULT 256
#define GENPASS_BITS_MAX 4096

/* What the default user may: everything. */
#define ALL_KEYS "~*"
#define ALL_CHANNELS "&*"
#define ALL_COMMANDS "+@all"

void aclWhoamiCommand(client *c) {
    addReplyBulkCString(c, "default");
}

void aclUsersCommand(client *c) {
    addReplyArrayLen(c, 1);
    addReplyBulkCString(c, "default");
}

static void passwordHash(char out[65]) {
    slice password = authPassword();
    sha256Hex(out, password.ptr, password.len);
}

void aclListCommand(client *c) {
    char access[80] = "nopass";
    if (authRequired()) {
        access[0] = '#';
        passwordHash(access + 1);
    }
    addReplyArrayLen(c, 1);
    addReplyBulkFormat(c, "user default on %s " ALL_KEYS " " ALL_CHANNELS " " ALL_COMMANDS, access);
}

static void replyPair(client *c, const char *key, const char *value) {
    addReplyBulkCString(c, key);
    addReplyBulkCString(c, value);
}

void aclGetuserCommand(client *c) {
    redactArgument(c, 2);
    if (!authUserExists(c->argv[2])) {
        addReplyNull(c);
        return;
    }
    bool has_password = authRequired();
    addReplyMapLen(c, 7);
    addReplyBulkCString(c, "flags");
    addReplySetLen(c, has_password ? 1 : 2);
    addReplyBulkCString(c, "on");
    if (!has_password) addReplyBulkCString(c, "nopass");
    addReplyBulkCString(c, "passwords");
    addReplyArrayLen(c, has_password ? 1 : 0);
    if (has_password) {
        char digits[65];
        passwordHash(digits);
        addReplyBulkCString(c, digits);
    }
    replyPair(c, "commands", ALL_COMMANDS);
    replyPair(c, "keys", ALL_KEYS);
    replyPair(c, "channels", ALL_CHANNELS);
    replyPair(c, "databases", "alldbs");
    addReplyBulkCString(c, "selectors");
    addReplyEmptyArray(c);
}

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
    void *place = addReplyDeferredLen(c);
    commandEach(replyIfInCategory, &reply);
    setDeferredArrayLen(c, place, reply.count);
}

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

void aclHelpCommand(client *c) {
    static const char *lines[] = {
        "CAT [<category>]",
        "    Name the categories of commands, or the commands of one.",
        "DELUSER <username> [<username> ...]",
        "    Delete users.",
        "DRYRUN <username> <command> [<arg> ...]",
        "    Say whether the user might run the command; it does not run.",
        "GETUSER <username>",
        "    Show the rules of a user.",
        "GENPASS [<bits>]",
        "    Make a random password of 256 bits, or of as many as asked for.",
        "LIST",
        "    Show all users with their rules, as a configuration file has them.",
        "LOAD",
        "    Read the ACL file again.",
        "LOG [<count> | RESET]",
        "    Show what was refused lately, or forget it.",
        "SAVE",
        "    Write the users to the ACL file.",
        "SETUSER <username> <rule> [<rule> ...]",
        "    Make a user, or add rules to one.",
        "USERS",
        "    Name all users.",
        "WHOAMI",
        "    Name the user of this connection.",
        NULL,
    };
    addReplyHelp(c, lines);
}
