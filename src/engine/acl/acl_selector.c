/* acl_selector.c -- one set of permissions: commands, keys, channels, databases.
 *
 * Each command has a bit, which is all that is checked; the rules that made the bits are kept as well, for ACL LIST and
 * files. A rule replaces earlier ones that it overrides completely: +config all rules about CONFIG and its subcommands,
 * +@all and -@all all rules.
 *
 * Not here    passwords and other properties of a user (acl_user.c), whether a command may run (acl_check.c).
 * Owns        the bits, rules and patterns of a selector.
 * Threads     main.
 * Invariants  1. all_commands is set exactly if the bit of each command is.
 *             2. `first_args` counts the rules about a first argument. Rules are numbered in their order.
 *             3. The databases are ascending, each once. Where all databases, keys or channels are allowed none is
 *                listed.
 * Tests       tests/unit/engine/acl/acl_user_test.c, tests/differential/acl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "acl_selector.h"

#include "engine_settings.h"
#include "numbers.h"
#include "panic.h"
#include "zmalloc.h"

#include <limits.h>
#include <stdlib.h>

static size_t bitmapWords(void) { return ((size_t)commandIdCount() + 63) / 64; }

static void setBit(aclSelector *s, const serverCommand *cmd, bool on) {
    debugAssert(cmd->id >= 0 && cmd->id < commandIdCount());
    uint64_t bit = 1ull << (cmd->id % 64), *word = &s->commands[cmd->id / 64];
    *word = on ? *word | bit : *word & ~bit;
}

static bool allBitsSet(const aclSelector *s) {
    for (int id = 0; id < commandIdCount(); id++)
        if (!(s->commands[id / 64] >> (id % 64) & 1)) return false;
    return true;
}

#define RULES_CHECKED 64
#define DBS_CHECKED 64

/* Asserts the invariants; of rules and databases, for the first ones only. */
static void selectorCheck(const aclSelector *s) {
#ifdef DEBUG_ASSERTIONS
    uint32_t first_args = 0, seen = 0;
    uint64_t number = 0;
    debugAssert(commandIdCount() == 0 || s->all_commands == allBitsSet(s));
    for (const aclWord *w = s->rules.first; w && seen < RULES_CHECKED; w = w->next, seen++) {
        const aclCommandRule *rule = (const aclCommandRule *)w;
        debugAssert(rule->number > number && rule->number <= s->rules_made);
        number = rule->number;
        first_args += rule->first_arg_of != NULL;
    }
    debugAssert(seen < s->rules.count ? first_args <= s->first_args : first_args == s->first_args);
    debugAssert(s->dbs_count == 0 || (s->dbs && !s->all_dbs));
    for (uint32_t i = 1; i < s->dbs_count && i < DBS_CHECKED; i++) debugAssert(s->dbs[i - 1] < s->dbs[i]);
    debugAssert(!s->keys.all || s->keys.count == 0);
    debugAssert(!s->channels.all || s->channels.count == 0);
#else
    unused(s);
#endif
}

aclSelector *aclSelectorCreate(void) {
    aclSelector *s = zcalloc(1, sizeof(*s));
    s->commands = zcalloc(bitmapWords(), sizeof(*s->commands));
    s->all_dbs = true;
    s->channels.all = engine_settings.acl_pubsub_default == ACL_CHANNELS_ALL;
    selectorCheck(s);
    return s;
}

aclSelector *aclSelectorDup(const aclSelector *s) {
    aclSelector *copy = zmalloc(sizeof(*copy));
    *copy = *s;
    copy->commands = zmalloc(bitmapWords() * sizeof(*s->commands));
    memcpy(copy->commands, s->commands, bitmapWords() * sizeof(*s->commands));
    copy->rules = (aclWords){.count = 0};
    for (const aclWord *word = s->rules.first; word; word = word->next) {
        aclCommandRule *rule = zmalloc(sizeof(*rule));
        *rule = *(const aclCommandRule *)word;
        rule->name.text = sdsDup(word->text);
        aclWordsAppend(&copy->rules, &rule->name);
    }
    copy->keys = aclPatternsDup(&s->keys);
    copy->channels = aclPatternsDup(&s->channels);
    copy->dbs = s->dbs_count ? zmalloc(s->dbs_count * sizeof(*s->dbs)) : NULL;
    if (s->dbs_count) memcpy(copy->dbs, s->dbs, s->dbs_count * sizeof(*s->dbs));
    selectorCheck(copy);
    return copy;
}

static void clearRules(aclSelector *s) {
    aclWordsClear(&s->rules);
    s->first_args = 0;
}

void aclSelectorFree(aclSelector *s) {
    clearRules(s);
    aclPatternsClear(&s->keys, false);
    aclPatternsClear(&s->channels, false);
    zfree(s->commands);
    zfree(s->dbs);
    zfree(s);
}

bool aclSelectorIsOpen(const aclSelector *s) { return s->all_commands && s->keys.all && s->channels.all && s->all_dbs; }

/* ---- Commands --------------------------------------------------------------------------------------------------- */

static void allowAll(aclSelector *s, bool on) {
    memset(s->commands, on ? 0xff : 0, bitmapWords() * sizeof(*s->commands));
    clearRules(s);
    s->from_all = on;
}

static void dropRule(aclSelector *s, aclWord *word) {
    bool of_first_arg = ((const aclCommandRule *)word)->first_arg_of != NULL;
    debugAssert(!of_first_arg || s->first_args > 0);
    s->first_args -= of_first_arg;
    aclWordsDrop(&s->rules, word);
}

/* Adds a rule (takes ownership of `name`), and removes earlier rules about the same command or category or a part of
 * it. */
static void addRule(aclSelector *s, sds name, bool allow, const serverCommand *first_arg_of) {
    aclWord *older = aclWordsFind(&s->rules, sdsSlice(name));
    if (older) dropRule(s, older);
    if (!first_arg_of) {
        sds parts = sdsCat(sdsDup(name), "|");
        while ((older = aclWordsFindStart(&s->rules, sdsSlice(parts))) != NULL) dropRule(s, older);
        sdsFree(parts);
    }
    aclCommandRule *rule = zmalloc(sizeof(*rule));
    *rule = (aclCommandRule){{.text = name}, first_arg_of, ++s->rules_made, allow};
    s->first_args += first_arg_of != NULL;
    aclWordsAppend(&s->rules, &rule->name);
}

typedef struct categoryChange {
    aclSelector *s;
    uint64_t category;
    bool allow;
} categoryChange;

static void changeIfInCategory(void *arg, serverCommand *cmd) {
    const categoryChange *change = arg;
    if (cmd->acl_categories & change->category) setBit(change->s, cmd, change->allow);
    for (int i = 0; i < cmd->nsubcommands; i++) changeIfInCategory(arg, &cmd->subcommands[i]);
}

/* Makes rules about first arguments of commands in the category ineffective; as text they stay. */
static void forgetFirstArgs(aclSelector *s, uint64_t category) {
    debugAssert(category != 0 && (category & (category - 1)) == 0);
    s->over[__builtin_ctzll(category)] = s->rules_made;
}

static bool firstArgHolds(const aclSelector *s, const aclCommandRule *rule) {
    for (uint64_t left = rule->first_arg_of->acl_categories; left; left &= left - 1)
        if (rule->number <= s->over[__builtin_ctzll(left)]) return false;
    return true;
}

bool aclSelectorHasFirstArg(const aclSelector *s, const serverCommand *cmd, slice arg) {
    for (const aclWord *word = s->rules.first; word; word = word->next) {
        const aclCommandRule *rule = (const aclCommandRule *)word;
        if (rule->first_arg_of == cmd && sliceIs(arg, word->text + strlen(cmd->fullname) + 1) && firstArgHolds(s, rule))
            return true;
    }
    return false;
}

static const char syntax_error[] = "Syntax error";
static const char unknown_name[] = ACL_UNKNOWN_NAME;

/* `name` follows the @. */
static const char *applyCategory(aclSelector *s, slice name, bool allow) {
    if (sliceIs(name, "all")) {
        allowAll(s, allow);
        return NULL;
    }
    categoryChange change = {s, aclCategoryByName(name), allow};
    if (!change.category) return unknown_name;
    commandEach(changeIfInCategory, &change);
    forgetFirstArgs(s, change.category);
    sds rule = sdsCatSlice(sdsNew("@"), name);
    sdsToLower(rule);
    addRule(s, rule, allow, NULL);
    return NULL;
}

static void setCommand(aclSelector *s, const serverCommand *cmd, bool allow) {
    setBit(s, cmd, allow);
    for (int i = 0; i < cmd->nsubcommands; i++) setBit(s, &cmd->subcommands[i], allow);
    addRule(s, sdsNew(cmd->fullname), allow, NULL);
}

/* Allows a command with one first argument: select|0. */
static const char *allowFirstArg(aclSelector *s, const serverCommand *cmd, slice arg) {
    if (aclHasBlank(arg)) return syntax_error;
    if (memchr(arg.ptr, '|', arg.len)) return unknown_name;
    addRule(s, sdsCatSlice(sdsCatPrintf(sdsEmpty(), "%s|", cmd->fullname), arg), true, cmd);
    return NULL;
}

/* Applies a rule about a command; `name` as in "config|get". Rules use a command's own name, not that of
 * rename-command. */
static const char *applyCommand(aclSelector *s, slice name, bool allow) {
    const char *bar = name.len ? memchr(name.ptr, '|', name.len) : NULL;
    slice top = sliceOf(name.ptr, bar ? (size_t)(bar - name.ptr) : name.len);
    bool unknown_sub;
    const serverCommand *cmd = commandLookupByOwnName(&top, 1, &unknown_sub);
    if (!cmd) return unknown_name;
    if (!bar) {
        setCommand(s, cmd, allow);
        return NULL;
    }
    slice rest = sliceOf(bar + 1, name.len - top.len - 1);
    if (rest.len == 0 && allow) return syntax_error;
    if (cmd->nsubcommands == 0) return allow ? allowFirstArg(s, cmd, rest) : unknown_name;
    const char *second = rest.len ? memchr(rest.ptr, '|', rest.len) : NULL;
    slice words[2] = {top, sliceOf(rest.ptr, second ? (size_t)(second - rest.ptr) : rest.len)};
    cmd = commandLookupByOwnName(words, 2, &unknown_sub);
    if (unknown_sub) return unknown_name;
    if (second) return allow ? "Allowing first-arg of a subcommand is not supported" : unknown_name;
    setCommand(s, cmd, allow);
    return NULL;
}

static const char *applyCommandWord(aclSelector *s, slice word) {
    slice name = sliceOf(word.ptr + 1, word.len - 1);
    bool allow = word.ptr[0] == '+';
    const char *err = name.len && name.ptr[0] == '@' ? applyCategory(s, sliceOf(name.ptr + 1, name.len - 1), allow)
                                                     : applyCommand(s, name, allow);
    s->all_commands = allBitsSet(s);
    selectorCheck(s);
    return err;
}

/* ---- Keys, channels, databases ---------------------------------------------------------------------------------- */

/* Returns the access of %R~pattern, %W~pattern or %RW~pattern, 0 if the word is none of these. *at is the start of the
 * pattern. */
static unsigned accessOfWord(slice word, size_t *at) {
    unsigned access = 0;
    for (*at = 1; *at < word.len && word.ptr[*at] != '~'; ++*at) {
        char letter = word.ptr[*at] & ~0x20;
        unsigned bit = letter == 'R' ? ACL_READ : letter == 'W' ? ACL_WRITE : 0;
        if (!bit || access & bit) return 0;
        access |= bit;
    }
    return (*at)++ < word.len ? access : 0;
}

/* Adds the pattern that begins at index `at` of the word; `access` is 0 if the word is malformed. */
static const char *addPattern(aclPatterns *p, slice word, size_t at, unsigned access, const char *error_after_all) {
    slice pattern = sliceOf(word.ptr + at, word.len - at);
    if (p->all) return error_after_all;
    if (!access || aclHasBlank(pattern)) return syntax_error;
    aclPatternsAdd(p, pattern, access);
    return NULL;
}

static const char *applyKeyWord(aclSelector *s, slice word) {
    size_t at = 1;
    unsigned access = word.ptr[0] == '%' ? accessOfWord(word, &at) : ACL_READ_WRITE;
    return addPattern(&s->keys, word, at, access,
                      "Adding a pattern after the * pattern (or the 'allkeys' flag) is not valid and does not have any "
                      "effect. Try 'resetkeys' to start with an empty list of patterns");
}

static const char *applyChannelWord(aclSelector *s, slice word) {
    return addPattern(&s->channels, word, 1, ACL_READ_WRITE,
                      "Adding a pattern after the * pattern (or the 'allchannels' flag) is not valid and does not have "
                      "any effect. Try 'resetchannels' to start with an empty list of channels");
}

static void setDbs(aclSelector *s, int *dbs, uint32_t count, bool all) {
    debugAssert(!all || count == 0);
    zfree(s->dbs);
    s->dbs = dbs;
    s->dbs_count = count;
    s->all_dbs = all;
}

static int ascending(const void *a, const void *b) {
    int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

/* Sorts the numbers and removes duplicates; returns how many are left. */
static uint32_t sortDbs(int *dbs, uint32_t count) {
    uint32_t kept = 0;
    qsort(dbs, count, sizeof(*dbs), ascending);
    for (uint32_t i = 0; i < count; i++)
        if (i == 0 || dbs[i] != dbs[kept - 1]) dbs[kept++] = dbs[i];
    return kept;
}

/* Parses numbers with commas between them. */
static const char *applyDbWord(aclSelector *s, slice list) {
    int *dbs = zmalloc((list.len / 2 + 1) * sizeof(*dbs));
    uint32_t count = 0;
    const char *err = NULL;
    for (size_t at = 0; !err && at <= list.len;) {
        const char *comma = at < list.len ? memchr(list.ptr + at, ',', list.len - at) : NULL;
        size_t n = (comma ? (size_t)(comma - list.ptr) : list.len) - at;
        long long id;
        if (!string2ll(list.ptr + at, n, &id)) err = syntax_error;
        else if (id < 0 || id > INT_MAX) err = "The provided database ID is out of range";
        else dbs[count++] = (int)id;
        at += n + 1;
    }
    debugAssert(count <= list.len / 2 + 1);
    if (err) zfree(dbs);
    else setDbs(s, dbs, sortDbs(dbs, count), false);
    selectorCheck(s);
    return err;
}

const char *aclSelectorApply(aclSelector *s, slice word) {
    if (sliceIs(word, "allkeys") || sliceIs(word, "~*")) aclPatternsClear(&s->keys, true);
    else if (sliceIs(word, "resetkeys")) aclPatternsClear(&s->keys, false);
    else if (sliceIs(word, "allchannels") || sliceIs(word, "&*")) aclPatternsClear(&s->channels, true);
    else if (sliceIs(word, "resetchannels")) aclPatternsClear(&s->channels, false);
    else if (sliceIs(word, "alldbs")) setDbs(s, NULL, 0, true);
    else if (sliceIs(word, "resetdbs")) setDbs(s, NULL, 0, false);
    else if (sliceIs(word, "allcommands")) return applyCommandWord(s, sliceStr("+@all"));
    else if (sliceIs(word, "nocommands")) return applyCommandWord(s, sliceStr("-@all"));
    else if (word.len && (word.ptr[0] == '+' || word.ptr[0] == '-')) return applyCommandWord(s, word);
    else if (word.len && (word.ptr[0] == '~' || word.ptr[0] == '%')) return applyKeyWord(s, word);
    else if (word.len && word.ptr[0] == '&') return applyChannelWord(s, word);
    else if (word.len > 3 && strncasecmp(word.ptr, "db=", 3) == 0)
        return applyDbWord(s, sliceOf(word.ptr + 3, word.len - 3));
    else return syntax_error;
    selectorCheck(s);
    return NULL;
}

/* ---- Text of rules ---------------------------------------------------------------------------------------------- */

sds aclSelectorCatCommands(sds out, const aclSelector *s) {
    out = sdsCat(out, s->from_all ? "+@all" : "-@all");
    for (const aclWord *word = s->rules.first; word; word = word->next) {
        out = sdsCat(out, ((const aclCommandRule *)word)->allow ? " +" : " -");
        out = sdsCatSlice(out, sdsSlice(word->text));
    }
    return out;
}

sds aclSelectorCatKeys(sds out, const aclSelector *s) {
    static const char *const words[] = {[ACL_READ] = "%R~", [ACL_WRITE] = "%W~", [ACL_READ_WRITE] = "~"};
    if (s->keys.all) return sdsCat(out, "~*");
    for (uint32_t i = 0; i < s->keys.count; i++) {
        if (i > 0) out = sdsCat(out, " ");
        const aclPattern *p = &s->keys.items[i];
        slice text = sdsSlice(p->text);
        /* "~*" would be the word that replaces all other patterns and does not allow any after it. */
        out = sdsCat(out, p->access == ACL_READ_WRITE && sliceIs(text, "*") ? "%RW~" : words[p->access]);
        out = sdsCatSlice(out, text);
    }
    return out;
}

sds aclSelectorCatChannels(sds out, const aclSelector *s) {
    if (s->channels.all) return sdsCat(out, "&*");
    for (uint32_t i = 0; i < s->channels.count; i++) {
        out = sdsCat(out, i > 0 ? " &" : "&");
        out = sdsCatSlice(out, sdsSlice(s->channels.items[i].text));
    }
    return out;
}

sds aclSelectorCatDbs(sds out, const aclSelector *s) {
    if (s->all_dbs) return sdsCat(out, "alldbs");
    for (uint32_t i = 0; i < s->dbs_count; i++) out = sdsCatPrintf(out, i > 0 ? ",%d" : "db=%d", s->dbs[i]);
    return out;
}

/* Omits parts that have the defaults of a new user, except channels, whose default is a setting. */
sds aclSelectorCat(sds out, const aclSelector *s) {
    selectorCheck(s);
    if (s->keys.all || s->keys.count) out = sdsCat(aclSelectorCatKeys(out, s), " ");
    if (!s->channels.all) out = sdsCat(out, "resetchannels ");
    if (s->channels.all || s->channels.count) out = sdsCat(aclSelectorCatChannels(out, s), " ");
    if (!s->all_dbs) out = s->dbs_count ? sdsCat(aclSelectorCatDbs(out, s), " ") : sdsCat(out, "resetdbs ");
    return aclSelectorCatCommands(out, s);
}
