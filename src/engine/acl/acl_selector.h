/* acl_selector.h -- one set of permissions: commands, keys, channels, databases. A user has one or more selectors, and
 * one of them must allow a command as a whole.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_ACL_SELECTOR_H
#define ENGINE_ACL_SELECTOR_H

#include "acl_patterns.h"
#include "acl_words.h"
#include "command_table.h"

/* A rule about commands, as it was given: +@read, -config|get, +select|0. */
typedef struct aclCommandRule {
    aclWord name;                      /* in lower case, except a first argument */
    const serverCommand *first_arg_of; /* borrowed: the command, if the name is a
                                        * command's and a first argument; else NULL */
    uint64_t number;                   /* position among all rules that the selector was given */
    bool allow;
} aclCommandRule;

typedef struct aclSelector {
    uint64_t *commands; /* owns: a bit for each command and subcommand, indexed by id */
    bool all_commands;  /* all bits are set */
    bool from_all;      /* true if the rules start from +@all, false if from -@all */
    aclWords rules;     /* of aclCommandRule */
    uint64_t rules_made;
    uint32_t first_args; /* number of rules with a first argument */
    aclPatterns keys, channels;
    int *dbs; /* owns: ascending */
    uint32_t dbs_count;
    bool all_dbs;
    uint64_t over[ACL_CATEGORIES]; /* for each category: rules about first arguments up to this number
                                    * have no effect, as a later rule about the category overrides them */
} aclSelector;

/* Creates a selector that allows no command, no key, all databases, and the channels of acl-pubsub-default. */
aclSelector *aclSelectorCreate(void);
/* Returns a deep copy. */
aclSelector *aclSelectorDup(const aclSelector *s);
void aclSelectorFree(aclSelector *s);
/* The error for a rule that names no command and no category. */
#define ACL_UNKNOWN_NAME "Unknown command or category name in ACL"
/* Applies one word of ACL SETUSER. Returns NULL, or the text of an error; then nothing has changed. */
const char *aclSelectorApply(aclSelector *s, slice word) must_check;

/* Returns whether a rule allows the command with all arguments. */
static inline bool aclSelectorHasCommand(const aclSelector *s, const serverCommand *cmd) {
    return s->commands[cmd->id / 64] >> (cmd->id % 64) & 1;
}
/* Returns whether a rule allows the command with this first argument. */
bool aclSelectorHasFirstArg(const aclSelector *s, const serverCommand *cmd, slice arg);
/* Returns whether everything is allowed. */
bool aclSelectorIsOpen(const aclSelector *s);

/* Append one part of a selector to `out`, as words of ACL SETUSER in the form of ACL GETUSER. */
sds aclSelectorCatCommands(sds out, const aclSelector *s);
sds aclSelectorCatKeys(sds out, const aclSelector *s);
sds aclSelectorCatChannels(sds out, const aclSelector *s);
sds aclSelectorCatDbs(sds out, const aclSelector *s);
/* Appends all parts of a selector to `out`, as words of ACL SETUSER. */
sds aclSelectorCat(sds out, const aclSelector *s);

#endif
