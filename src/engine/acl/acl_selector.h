/* acl_selector.h -- one set of permissions: commands, keys, channels, databases. A user has one or more, and a command
 * must be allowed by one of them as a whole.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_ACL_SELECTOR_H
#define ENGINE_ACL_SELECTOR_H

#include "acl_patterns.h"
#include "acl_words.h"
#include "command_table.h"

/* A word about commands, as it was given: +@read, -config|get, +select|0. */
typedef struct aclCommandRule {
    aclWord name;                      /* lower case but for a first argument */
    const serverCommand *first_arg_of; /* borrowed: the name is this command's and a first argument; else NULL */
    uint64_t number;                   /* of all that the selector was given */
    bool allow;
} aclCommandRule;

typedef struct aclSelector {
    uint64_t *commands; /* owns: a bit for each command and subcommand, by id */
    bool all_commands;  /* all bits are set */
    bool from_all;      /* the rules begin with all commands; else with none */
    aclWords rules;     /* aclCommandRules */
    uint64_t rules_made;
    uint32_t first_args; /* rules that have one */
    aclPatterns keys, channels;
    int *dbs; /* owns: ascending */
    uint32_t dbs_count;
    bool all_dbs;
    uint64_t over[ACL_CATEGORIES]; /* of each category: with rules up to this number first arguments are over, as a word
                                      about the category came behind them */
} aclSelector;

/* No command, no key, all databases; channels as acl-pubsub-default says. */
aclSelector *aclSelectorCreate(void);
aclSelector *aclSelectorDup(const aclSelector *s);
void aclSelectorFree(aclSelector *s);
/* What is wrong with a word that names no command and no category. */
#define ACL_UNKNOWN_NAME "Unknown command or category name in ACL"
/* Apply one word of ACL SETUSER. NULL, or what is wrong with it; then nothing has changed. */
const char *aclSelectorApply(aclSelector *s, slice word) must_check;

static inline bool aclSelectorHasCommand(const aclSelector *s, const serverCommand *cmd) {
    return s->commands[cmd->id / 64] >> (cmd->id % 64) & 1;
}
/* Whether it has the command with this first argument. */
bool aclSelectorHasFirstArg(const aclSelector *s, const serverCommand *cmd, slice arg);
/* Everything is allowed. */
bool aclSelectorIsOpen(const aclSelector *s);

/* Parts of it as words of ACL SETUSER, appended to an sds: each as ACL GETUSER shows it, and all in their order. */
sds aclSelectorCatCommands(sds out, const aclSelector *s);
sds aclSelectorCatKeys(sds out, const aclSelector *s);
sds aclSelectorCatChannels(sds out, const aclSelector *s);
sds aclSelectorCatDbs(sds out, const aclSelector *s);
sds aclSelectorCat(sds out, const aclSelector *s);

#endif
